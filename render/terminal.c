// SPDX-License-Identifier: BSD-2-Clause
#include "render/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const escapes[] = {
	[COLOR_NONE] = "",	 [COLOR_HOT] = "\033[31m", [COLOR_WARM] = "\033[32m",
	[COLOR_DIM] = "\033[2m", [COLOR_BOLD] = "\033[1m",
};

const char *color__begin(bool on, enum color color)
{
	return on ? escapes[color] : "";
}

const char *color__end(bool on, enum color color)
{
	return on && color != COLOR_NONE ? "\033[0m" : "";
}

static const char *pager_command(void)
{
	const char *command = getenv("DWELL_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return strcmp(command, "cat") != 0 ? command : "";
}

/* In the child: runs the pager with @input as its standard input. */
static void exec_pager(const char *command, int input)
{
	dup2(input, STDIN_FILENO);
	close(input);
	/* Quit if it fits the screen, pass colors, chop long lines, do not clear the screen. */
	setenv("LESS", "FRSX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void start_pager(struct terminal *terminal, const char *command)
{
	FILE *out;
	int ends[2];

	if (pipe(ends))
		return;
	fflush(stdout);
	terminal->pager = fork();
	if (!terminal->pager) {
		close(ends[1]);
		exec_pager(command, ends[0]);
	}
	close(ends[0]);
	out = terminal->pager > 0 ? fdopen(ends[1], "w") : NULL;
	if (!out) {
		close(ends[1]);
		terminal->pager = 0;
		return;
	}
	/* Quitting the pager early is not an error. */
	signal(SIGPIPE, SIG_IGN);
	terminal->out = out;
}

void terminal__open(struct terminal *terminal, bool pager)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	bool tty = isatty(STDOUT_FILENO);
	const char *command = pager_command();

	*terminal = (struct terminal){.out = stdout};
	terminal->color = tty && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
	if (tty && pager && *command && term && strcmp(term, "dumb") != 0)
		start_pager(terminal, command);
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
