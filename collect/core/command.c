// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

struct workload {
	char *const *argv;
	pid_t pid;
	int pidfd;
	int go;	    /* written: the child may run; closed: it ends */
	int failed; /* the child writes exec's errno; end of file: it runs */
	bool released;
	bool ended;
	int status;
};

static __attribute__((noreturn)) void child(char *const *argv, const sigset_t *ignored, int go,
					    int failed)
{
	char byte;
	int err;

	if (read(go, &byte, 1) != 1) /* the parent gave up */
		_exit(127);
	/* What is ignored stays so over an exec; what is handled becomes the default. */
	signal(SIGXFSZ, SIG_DFL);
	for (int number = 1; number < SIGRTMIN; number++)
		if (sigismember(ignored, number) == 1)
			signal(number, SIG_IGN);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(127);
	_exit(err == ENOENT ? 127 : 126);
}

int workload__prepare(char *const *argv, const sigset_t *ignored, struct workload **out)
{
	_cleanup_(workload__freep) struct workload *workload = calloc(1, sizeof(*workload));
	int go[2], failed[2];

	if (!workload)
		return -ENOMEM;
	workload->argv = argv;
	workload->pidfd = workload->go = workload->failed = -1;
	if (pipe2(go, O_CLOEXEC))
		return error__errno(-errno, "cannot create a pipe");
	workload->go = go[1];
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		return error__errno(-errno, "cannot create a pipe");
	}
	workload->failed = failed[0];
	workload->pid = fork();
	if (!workload->pid) {
		close(go[1]);
		child(argv, ignored, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (workload->pid < 0)
		return error__errno(-errno, "cannot start '%s'", argv[0]);
	workload->pidfd = (int)syscall(SYS_pidfd_open, workload->pid, 0);
	if (workload->pidfd < 0)
		return error__errno(-errno, "cannot watch '%s'", argv[0]);
	*out = TAKE_PTR(workload);
	return 0;
}

char *workload__find(const char *program)
{
	const char *path = getenv("PATH");
	char *found;

	if (strchr(program, '/'))
		return strdup(program);
	while (path && *path) {
		int length = (int)strcspn(path, ":");

		if (asprintf(&found, "%.*s/%s", length, path, program) < 0)
			return NULL;
		if (!access(found, X_OK))
			return found;
		free(found);
		path += length + (path[length] == ':');
	}
	return NULL;
}

pid_t workload__pid(const struct workload *workload)
{
	return workload->pid;
}

int workload__fd(const struct workload *workload)
{
	return workload->pidfd;
}

bool workload__has_ended(const struct workload *workload)
{
	struct pollfd fd = {.fd = workload->pidfd, .events = POLLIN};

	return workload->ended || poll(&fd, 1, 0) > 0;
}

int workload__release(struct workload *workload)
{
	ssize_t n;
	int err = 0;

	if (write(workload->go, "", 1) != 1)
		return error__errno(-errno, "cannot start '%s'", workload->argv[0]);
	workload->released = true;
	do
		n = read(workload->failed, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(err))
		return 0;
	if (err == ENOENT) {
		error__set(-err, "%s: command not found", workload->argv[0]);
		error__hint("give a path, or a program in PATH");
		return -err;
	}
	return error__errno(-err, "cannot execute '%s'", workload->argv[0]);
}

void workload__signal(const struct workload *workload, int signal)
{
	if (!workload->ended)
		syscall(SYS_pidfd_send_signal, workload->pidfd, signal, NULL, 0);
}

int workload__wait(struct workload *workload)
{
	if (!workload->released && workload->go >= 0) {
		close(workload->go);
		workload->go = -1;
	}
	while (!workload->ended) {
		if (waitpid(workload->pid, &workload->status, 0) == workload->pid)
			workload->ended = true;
		else if (errno != EINTR)
			return -1;
	}
	return workload->released ? workload->status : -1;
}

void workload__free(struct workload *workload)
{
	if (workload->go >= 0)
		close(workload->go);
	if (workload->failed >= 0)
		close(workload->failed);
	if (workload->pidfd >= 0)
		close(workload->pidfd);
	free(workload);
}
