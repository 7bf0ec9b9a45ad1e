// SPDX-License-Identifier: BSD-2-Clause
#include "render/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const escapes[] = {
	[COLOUR_NONE] = "",	  [COLOUR_HOT] = "\033[31m", [COLOUR_WARM] = "\033[32m",
	[COLOUR_DIM] = "\033[2m", [COLOUR_BOLD] = "\033[1m",
};

const char *colour__begin(bool on, enum colour colour)
{
	return on ? escapes[colour] : "";
}

const char *colour__end(bool on, enum colour colour)
{
	return on && colour != COLOUR_NONE ? "\033[0m" : "";
}

static const char *pager__command(void)
{
	const char *command = getenv("DWELL_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return strcmp(command, "cat") != 0 ? command : "";
}

/* The child's side: reads from @input, and shows it. */
static void pager__exec(const char *command, int input)
{
	dup2(input, STDIN_FILENO);
	close(input);
	/* Quit if it fits, raw colours, no wrapping, leave it on the screen. */
	setenv("LESS", "FRSX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void pager__start(struct terminal *terminal, const char *command)
{
	FILE *out;
	int ends[2];

	if (pipe(ends))
		return;
	fflush(stdout);
	terminal->pager = fork();
	if (!terminal->pager) {
		close(ends[1]);
		pager__exec(command, ends[0]);
	}
	close(ends[0]);
	out = terminal->pager > 0 ? fdopen(ends[1], "w") : NULL;
	if (!out) {
		close(ends[1]);
		terminal->pager = 0;
		return;
	}
	/* A person who leaves the pager early has seen enough. */
	signal(SIGPIPE, SIG_IGN);
	terminal->out = out;
}

void terminal__open(struct terminal *terminal, bool pager)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	bool tty = isatty(STDOUT_FILENO);
	const char *command = pager__command();

	*terminal = (struct terminal){.out = stdout};
	terminal->colour = tty && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
	if (tty && pager && *command && term && strcmp(term, "dumb") != 0)
		pager__start(terminal, command);
}

int terminal__close(struct terminal *terminal)
{
	bool failed = fflush(terminal->out) || ferror(terminal->out);
	int err = failed ? -errno : 0;

	if (!terminal->pager)
		return err == -EPIPE ? 0 : err;
	fclose(terminal->out);
	while (waitpid(terminal->pager, NULL, 0) < 0 && errno == EINTR)
		;
	terminal->out = stdout;
	return 0;
}
