// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/debug_wish.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/seccomp.h"
#include "privsep/parser_wire.h"
#include "privsep/sandbox.h"

/* Puts a varint, and returns its size. No struct buffer: the signal may come in malloc(). */
static size_t put_number(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

/* Receives the answer to wish @number; one to an earlier wish, which was too late, is ignored. */
static int receive(uint64_t number)
{
	static struct wire_message reply;
	struct cursor cursor;
	uint64_t of;
	int err;

	for (;;) {
		if (wire__receive(PROCESS_SOCKET, UINT64_MAX, 1, &reply))
			_exit(0);
		cursor = (struct cursor){.at = reply.data, .end = reply.data + reply.size};
		of = cursor__varint(&cursor);
		err = -(int)wire__number(&cursor, 4095);
		if (!cursor.bad && of == number)
			break;
		wire__close_fds(&reply);
	}
	if (!err && reply.n_fds)
		return reply.fds[0];
	wire__close_fds(&reply);
	return err ? err : -EPROTO;
}

static int ask(const char *path)
{
	static uint8_t wish[32 + PATH_MAX] = {0, PARSER_WANTS_FILE};
	static uint64_t last;
	size_t length = strnlen(path, PATH_MAX), size = 2;

	if (length == PATH_MAX)
		return -ENAMETOOLONG;
	size += put_number(wish + size, ++last);
	size += put_number(wish + size, length);
	memcpy(wish + size, path, length);
	if (wire__send(PROCESS_SOCKET, wish, size + length, NULL, 0))
		_exit(0);
	return receive(last);
}

static bool is_own(const char *path)
{
	static const char *const own[] = {"/proc/", "/sys/", "/dev/", "/etc/"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strncmp(path, own[i], strlen(own[i])))
			return true;
	return path[0] != '/';
}

static void on_refused(int signal, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;
	const char *path = (const char *)(uintptr_t)REFUSED_SECOND(context);
	int before = errno;

	if (info->si_syscall == SYS_openat)
		REFUSED_RESULT(context) = is_own(path) ? -EACCES : ask(path);
	else
		REFUSED_RESULT(context) = -EPERM;
	errno = before;
}

void debug_wish__install(void)
{
	struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSYS, &action, NULL);
}
