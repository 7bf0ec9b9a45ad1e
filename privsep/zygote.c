// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/zygote.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "privsep/privsep.h"
#include "privsep/sandbox.h"
#include "privsep/wire.h"

#define FINISH_MS 100

static __attribute__((noreturn)) void run_child(uint64_t role, int socket, pid_t parent)
{
	static const struct {
		const char *name;
		void (*run)(pid_t parent);
	} roles[] = {
		[PRIVSEP_OPENER] = {"dwell-opener", opener__run},
		[PRIVSEP_PARSER] = {"dwell-parser", parser__run},
		[PRIVSEP_NAMER] = {"dwell-namer", namer__run},
		[PRIVSEP_FETCHER] = {"dwell-fetcher", fetcher__run},
	};

	if (role < ARRAY_SIZE(roles)) {
		process__isolate(socket, roles[role].name);
		roles[role].run(parent);
	}
	_exit(1);
}

/* Answers with the child's pid and a pidfd of it, or with 0. */
static void fork_child(const struct wire_message *message)
{
	struct cursor cursor = {.at = message->data, .end = message->data + message->size};
	uint64_t role = cursor__varint(&cursor);
	struct buffer reply = {};
	pid_t parent = getpid(), pid;
	int pidfd = -1;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	pid = message->n_fds == 1 && !cursor.bad ? fork() : -1;
	if (!pid)
		run_child(role, message->fds[0], parent);
	if (pid > 0) /* which stays that child's: it is not waited for before the next one */
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	buffer__varint(&reply, pid > 0 ? (uint64_t)pid : 0);
	if (!reply.failed)
		wire__send(PROCESS_SOCKET, reply.data, reply.n, &pidfd, pidfd >= 0);
	if (pidfd >= 0)
		close(pidfd);
	buffer__free(&reply);
}

/* Waits for its children, whose sockets are closed, too; one of them may be blocked. */
static __attribute__((noreturn)) void finish(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < FINISH_MS && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		nanosleep(&pause, NULL);
	_exit(0);
}

void zygote__run(int socket, pid_t parent)
{
	static struct wire_message message;

	process__isolate(socket, "dwell-zygote");
	process__die_with(parent);
	for (;;) {
		int err = wire__receive(PROCESS_SOCKET, UINT64_MAX, 1, &message);

		if (err == -EPIPE)
			finish();
		if (err)
			continue;
		fork_child(&message);
		wire__close_fds(&message);
	}
}
