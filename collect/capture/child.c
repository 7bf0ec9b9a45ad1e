// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"

#define FORWARD_MS 100 /* between looks for signals, while the end is waited for */

struct child {
	char *const *argv;
	pid_t pid;
	int pidfd;
	int go;	    /* pipe to the child: a byte lets it run; end of file: it exits */
	int failed; /* pipe from the child: errno of exec; end of file: exec succeeded */
	bool released;
	bool ended;
	int status;
};

/* Sets the supplementary groups of user @name, however many there are. */
static int find_groups(const char *name, struct child_user *user)
{
	for (int room = 16;; room = user->n_groups) {
		gid_t *grown = realloc(user->groups, (size_t)room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		user->groups = grown;
		user->n_groups = room;
		if (getgrouplist(name, user->gid, user->groups, &user->n_groups) >= 0)
			return 0;
	}
}

int child__find_user(const char *name, struct child_user *user)
{
	const struct passwd *found = getpwnam(name);

	if (!found) {
		error__set(-EINVAL, "there is no user '%s'", name);
		error__hint("`getent passwd` lists them");
		return -EINVAL;
	}
	if (geteuid()) {
		error__set(-EPERM, "only root can run a program as another user (--user %s)", name);
		error__hint("run dwell with sudo");
		return -EPERM;
	}
	*user = (struct child_user){.uid = found->pw_uid, .gid = found->pw_gid};
	return find_groups(name, user);
}

/* Changes real, effective and saved ids, so that the command cannot change back. */
static int become(const struct child_user *user)
{
	if (setgroups((size_t)user->n_groups, user->groups) ||
	    setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	return 0;
}

static __attribute__((noreturn)) void run_child(char *const *argv, const sigset_t *ignored,
						const struct child_user *user, int go, int failed)
{
	char byte;
	int err;

	if (read(go, &byte, 1) != 1) /* the parent gave up */
		_exit(127);
	/* Ignored signals stay ignored over an exec; handled ones get the default action. */
	signal(SIGXFSZ, SIG_DFL);
	for (int number = 1; number < SIGRTMIN; number++)
		if (sigismember(ignored, number) == 1)
			signal(number, SIG_IGN);
	limits__restore();
	err = user ? -become(user) : 0;
	if (!err) {
		execvp(argv[0], argv);
		err = errno;
	}
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(127);
	_exit(err == ENOENT ? 127 : 126);
}

int child__prepare(char *const *argv, const sigset_t *ignored, const struct child_user *user,
		   struct child **out)
{
	_cleanup_(child__freep) struct child *child = calloc(1, sizeof(*child));
	int go[2], failed[2];

	if (!child)
		return -ENOMEM;
	child->argv = argv;
	child->pidfd = child->go = child->failed = -1;
	if (pipe2(go, O_CLOEXEC))
		return error__errno(-errno, "cannot create a pipe");
	child->go = go[1];
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		return error__errno(-errno, "cannot create a pipe");
	}
	child->failed = failed[0];
	child->pid = fork();
	if (!child->pid) {
		close(go[1]);
		run_child(argv, ignored, user, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (child->pid < 0)
		return error__errno(-errno, "cannot start '%s'", argv[0]);
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0)
		return error__errno(-errno, "cannot watch '%s'", argv[0]);
	*out = TAKE_PTR(child);
	return 0;
}

char *child__find(const char *program)
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

pid_t child__pid(const struct child *child)
{
	return child->pid;
}

int child__fd(const struct child *child)
{
	return child->pidfd;
}

bool child__has_ended(const struct child *child)
{
	struct pollfd fd = {.fd = child->pidfd, .events = POLLIN};

	return child->ended || poll(&fd, 1, 0) > 0;
}

int child__release(struct child *child)
{
	ssize_t n;
	int err = 0;

	if (write(child->go, "", 1) != 1)
		return error__errno(-errno, "cannot start '%s'", child->argv[0]);
	child->released = true;
	do
		n = read(child->failed, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(err))
		return 0;
	if (err == ENOENT) {
		error__set(-err, "%s: command not found", child->argv[0]);
		error__hint("give a path, or a program in PATH");
		return -err;
	}
	return error__errno(-err, "cannot execute '%s'", child->argv[0]);
}

void child__signal(const struct child *child, int signal)
{
	if (!child->ended)
		syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, 0);
}

void child__forward(const struct child *child, atomic_uint *signals)
{
	unsigned int bits = signals ? atomic_exchange(signals, 0) : 0;

	for (; bits; bits &= bits - 1)
		child__signal(child, __builtin_ctz(bits));
}

int child__wait(struct child *child, atomic_uint *signals)
{
	struct pollfd fd = {.fd = child->pidfd, .events = POLLIN};

	if (!child->released && child->go >= 0) {
		close(child->go);
		child->go = -1;
	}
	while (!child->ended) {
		child__forward(child, signals);
		if (poll(&fd, 1, FORWARD_MS) <= 0) /* a signal may come just before it */
			continue;
		if (waitpid(child->pid, &child->status, 0) == child->pid)
			child->ended = true;
		else if (errno != EINTR)
			return -1;
	}
	return child->released ? child->status : -1;
}

int child__exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child__free(struct child *child)
{
	if (child->go >= 0)
		close(child->go);
	if (child->failed >= 0)
		close(child->failed);
	if (child->pidfd >= 0)
		close(child->pidfd);
	free(child);
}
