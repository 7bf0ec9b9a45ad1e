// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/workload.h"

#include <stdio.h>

#include "base/cleanup.h"

volatile sig_atomic_t workload_stop_requests;
atomic_uint workload_to_forward;

static void on_signal(int number, siginfo_t *info, void *context)
{
	if (number != SIGUSR1 && number != SIGUSR2)
		workload_stop_requests++;
	/* A signal from the terminal (Ctrl-C) reaches the command anyway. */
	if (info->si_code != SI_KERNEL)
		atomic_fetch_or(&workload_to_forward, 1U << number);
}

/*
 * SIGHUP stays ignored if it was (nohup). SIGINT does not: shells make background jobs of
 * scripts ignore it, but it has to end the recording.
 */
void workload__handle_signals(sigset_t *ignored)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXFSZ};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;

	sigemptyset(ignored);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++) {
		sigaction(handled[i], &action, &old);
		if (old.sa_handler == SIG_IGN)
			sigaddset(ignored, handled[i]);
	}
	if (sigismember(ignored, SIGHUP))
		signal(SIGHUP, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write past the limit then fails with EFBIG */
}

char *workload__text(char *const *words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (char *const *word = words; *word; word++)
		fprintf(to, "%s%s", word == words ? "" : " ", *word);
	fclose(to);
	return text;
}
