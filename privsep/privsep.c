// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/privsep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "privsep/opener.h"
#include "privsep/wire.h"
#include "privsep/zygote.h"

/* The zygote has so long to fork: it reads nothing of others, and only ever waits for a CPU. */
#define FORK_NS 30000000000ULL

struct privsep {
	pthread_mutex_t lock; /* of what follows */
	struct privsep_child zygote;
	struct opener *opener;
	ARRAY(pid_t) pids; /* of all children so far */
	ARRAY(struct privsep_failure) failures;
	uint64_t more_failures;
	struct wire_message message;
};

static int fork_zygote(struct privsep *privsep)
{
	int sockets[2], err = wire__pair(sockets);
	pid_t parent = getpid();

	if (err)
		return err;
	privsep->zygote.pid = fork();
	if (!privsep->zygote.pid)
		zygote__run(sockets[1], parent);
	err = privsep->zygote.pid < 0 ? -errno : 0;
	close(sockets[1]);
	privsep->zygote.socket = sockets[0];
	return err;
}

int privsep__start(struct privsep **out)
{
	_cleanup_(privsep__freep) struct privsep *privsep = calloc(1, sizeof(*privsep));
	int err;

	if (!privsep)
		return -ENOMEM;
	pthread_mutex_init(&privsep->lock, NULL);
	privsep->zygote = (struct privsep_child)PRIVSEP_NO_CHILD;
	err = fork_zygote(privsep);
	if (!err)
		err = opener__new(privsep, &privsep->opener);
	if (err)
		return error__errno(err, "cannot start the processes that read files");
	*out = TAKE_PTR(privsep);
	return 0;
}

pid_t privsep__zygote(const struct privsep *privsep)
{
	return privsep->zygote.pid;
}

bool privsep__owns(struct privsep *privsep, pid_t pid)
{
	bool found = pid == privsep->zygote.pid;

	pthread_mutex_lock(&privsep->lock);
	for (size_t i = 0; i < privsep->pids.n && !found; i++)
		found = privsep->pids.data[i] == pid;
	pthread_mutex_unlock(&privsep->lock);
	return found;
}

/* Asks the zygote for a child that has @socket. 0 or -errno. */
static int ask_zygote(struct privsep *privsep, enum privsep_role role, int socket,
		      struct privsep_child *child)
{
	struct wire_message *message = &privsep->message;
	const uint8_t ask = (uint8_t)role;
	struct cursor cursor;
	int err = wire__send(privsep->zygote.socket, &ask, sizeof(ask), &socket, 1);

	if (!err)
		err = wire__receive(privsep->zygote.socket, now_ns(CLOCK_MONOTONIC) + FORK_NS, 1,
				    message);
	if (err)
		return err;
	cursor = (struct cursor){.at = message->data, .end = message->data + message->size};
	child->pid = (pid_t)cursor__varint(&cursor);
	if (cursor.bad || child->pid <= 0 || message->n_fds != 1) {
		wire__close_fds(message);
		child->pid = 0;
		return -EAGAIN;
	}
	child->pidfd = message->fds[0];
	return 0;
}

int privsep__spawn(struct privsep *privsep, enum privsep_role role, struct privsep_child *child)
{
	struct privsep_child fresh = PRIVSEP_NO_CHILD;
	int sockets[2], err = wire__pair(sockets);

	if (err)
		return err;
	fresh.socket = sockets[0];
	pthread_mutex_lock(&privsep->lock);
	err = ask_zygote(privsep, role, sockets[1], &fresh);
	if (!err)
		(void)array__push(&privsep->pids, fresh.pid);
	pthread_mutex_unlock(&privsep->lock);
	close(sockets[1]);
	if (err) {
		close(sockets[0]);
		return err;
	}
	*child = fresh;
	return 0;
}

void privsep__kill(struct privsep_child *child)
{
	if (child->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
	privsep__dismiss(child);
}

void privsep__dismiss(struct privsep_child *child)
{
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->socket >= 0)
		close(child->socket);
	*child = (struct privsep_child)PRIVSEP_NO_CHILD;
}

uint64_t privsep__cpu_ns(const struct privsep_child *child)
{
	clockid_t clock;
	struct timespec time;

	if (child->pid <= 0 || clock_getcpuclockid(child->pid, &clock) ||
	    clock_gettime(clock, &time))
		return 0;
	return timespec_ns(&time);
}

bool privsep__is_starved(const struct privsep_child *child, uint64_t before, uint64_t ns)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], text[128];
	const char *name;

	snprintf(path, sizeof(path), "/proc/%d/stat", child->pid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return false;
	name = strrchr(text, ')');
	return name && !strncmp(name, ") R", 3) && privsep__cpu_ns(child) - before < ns;
}

/* The lock is held. */
static void add_failure(struct privsep *privsep, const char *path, int err)
{
	struct privsep_failure failure = {.err = err, .count = 1};

	for (size_t i = 0; i < privsep->failures.n; i++) {
		struct privsep_failure *known = &privsep->failures.data[i];

		if (known->err != err || strcmp(known->path, path) != 0)
			continue;
		known->count++;
		return;
	}
	if (privsep->failures.n < PRIVSEP_MAX_FAILURES) {
		failure.path = strdup(path);
		if (failure.path && !array__push(&privsep->failures, failure))
			return;
		free(failure.path);
	}
	privsep->more_failures++;
}

void privsep__fail(struct privsep *privsep, const char *path, int err)
{
	pthread_mutex_lock(&privsep->lock);
	add_failure(privsep, path, err);
	pthread_mutex_unlock(&privsep->lock);
}

const struct privsep_failure *privsep__failures(const struct privsep *privsep, size_t *n,
						uint64_t *more)
{
	*n = privsep->failures.n;
	*more = privsep->more_failures;
	return privsep->failures.data;
}

const char *privsep__failure_text(const struct privsep_failure *failure)
{
	switch (failure->err) {
	case -ETIMEDOUT:
		return "reading it took too long";
	case -EFAULT:
		return "the process that read it was killed";
	case -ENOMEM:
		return "it needs more than its share of memory";
	case -EDQUOT:
		return "the files of its process need more than their share of memory";
	default:
		return strerror(-failure->err);
	}
}

struct opener *privsep__opener(struct privsep *privsep)
{
	return privsep->opener;
}

/* The zygote and its children end with it: each has a socket or is killed with its parent. */
void privsep__free(struct privsep *privsep)
{
	if (privsep->opener)
		opener__free(privsep->opener);
	if (privsep->zygote.socket >= 0)
		close(privsep->zygote.socket);
	if (privsep->zygote.pid > 0)
		while (waitpid(privsep->zygote.pid, NULL, 0) < 0 && errno == EINTR)
			;
	for (size_t i = 0; i < privsep->failures.n; i++)
		free(privsep->failures.data[i].path);
	array__free(&privsep->failures);
	array__free(&privsep->pids);
	pthread_mutex_destroy(&privsep->lock);
	free(privsep);
}
