// SPDX-License-Identifier: BSD-2-Clause
#include "arch/syscalls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "arch/syscalls_generic.h"

/*
 * TEXT(__NR_read) is "0" where the headers define it, else "__NR_read", which
 * fill_names() skips.
 */
#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)
#define NAME(x)	 {#x, TEXT(__NR_##x)},

static const struct syscall_text native[] = {
#include "arch/syscall_names.h"
};

/* The first argument is the descriptor whose readiness or data the call waits for. */
static const char *const descriptor_calls[] = {
	"read",	     "write",		"pread64",	   "pwrite64",	   "readv",
	"writev",    "preadv",		"pwritev",	   "preadv2",	   "pwritev2",
	"fsync",     "fdatasync",	"sync_file_range", "syncfs",	   "fallocate",
	"ftruncate", "flock",		"fcntl",	   "ioctl",	   "close",
	"fstat",     "getdents",	"getdents64",	   "lseek",	   "readahead",
	"fadvise64", "accept",		"accept4",	   "connect",	   "recvfrom",
	"recvmsg",   "recvmmsg",	"sendto",	   "sendmsg",	   "sendmmsg",
	"shutdown",  "epoll_wait",	"epoll_pwait",	   "epoll_pwait2", "signalfd",
	"signalfd4", "timerfd_settime", "io_uring_enter",  "splice",	   "tee",
	"vmsplice",  "copy_file_range", "fchmod",	   "fchown",	   "fstatfs",
	"fsetxattr", "fgetxattr",	"finit_module",	   "vhangup",
};

/* Receiving calls are here because they send acknowledgements. */
static const char *const sending_calls[] = {
	"write",    "writev",  "pwritev",  "pwritev2", "sendto",  "sendmsg", "sendmmsg",
	"sendfile", "splice",  "shutdown", "close",    "connect", "read",    "readv",
	"recvfrom", "recvmsg", "recvmmsg", "accept",   "accept4", "exit",    "exit_group",
};

/* The socket that data goes to, or comes from, is the first argument. */
static const char *const sends_to_calls[] = {"write",	"writev",   "pwritev2", "sendto",
					     "sendmsg", "sendmmsg", "sendfile"};
static const char *const receives_from_calls[] = {"read",     "readv",	 "preadv2",
						  "recvfrom", "recvmsg", "recvmmsg"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *native_names[SYSCALLS_MAX];
static const char *generic_names[SYSCALLS_MAX];
static bool takes_fd[SYSCALLS_MAX];
static bool sends[SYSCALLS_MAX];
static bool sends_to[SYSCALLS_MAX];
static bool receives_from[SYSCALLS_MAX];
static char native_machine[65];

static void fill_names(const char **names, const struct syscall_text *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *end;
		long nr = strtol(rows[i].number, &end, 10);

		if (end != rows[i].number && !*end && nr >= 0 && nr < SYSCALLS_MAX)
			names[nr] = rows[i].name;
	}
}

static void mark_calls(bool *marks, const char *const *calls, size_t n)
{
	for (int nr = 0; nr < SYSCALLS_MAX; nr++)
		for (size_t i = 0; native_names[nr] && i < n; i++)
			marks[nr] |= !strcmp(native_names[nr], calls[i]);
}

static void fill_tables(void)
{
	const struct syscall_text *generic;
	struct utsname uts;
	size_t n;

	if (!uname(&uts))
		snprintf(native_machine, sizeof(native_machine), "%s", uts.machine);
	fill_names(native_names, native, ARRAY_SIZE(native));
	generic = syscalls_generic__table(&n);
	fill_names(generic_names, generic, n);
	mark_calls(takes_fd, descriptor_calls, ARRAY_SIZE(descriptor_calls));
	mark_calls(sends, sending_calls, ARRAY_SIZE(sending_calls));
	mark_calls(sends_to, sends_to_calls, ARRAY_SIZE(sends_to_calls));
	mark_calls(receives_from, receives_from_calls, ARRAY_SIZE(receives_from_calls));
}

static const char **names_for_machine(const char *machine)
{
	static const char *const generic[] = {"aarch64", "riscv64", "loongarch64"};

	pthread_once(&once, fill_tables);
	if (!machine || !*machine || !strcmp(machine, native_machine))
		return native_names;
	for (size_t i = 0; i < ARRAY_SIZE(generic); i++)
		if (!strcmp(machine, generic[i]))
			return generic_names;
	return NULL;
}

const char *syscalls__name(const char *machine, int nr)
{
	const char **names = names_for_machine(machine);

	return names && nr >= 0 && nr < SYSCALLS_MAX ? names[nr] : NULL;
}

bool syscalls__sends(int nr)
{
	pthread_once(&once, fill_tables);
	return nr >= 0 && nr < SYSCALLS_MAX && sends[nr];
}

bool syscalls__takes_fd(int nr)
{
	pthread_once(&once, fill_tables);
	return nr >= 0 && nr < SYSCALLS_MAX && takes_fd[nr];
}

bool syscalls__sends_to(int nr)
{
	pthread_once(&once, fill_tables);
	return nr >= 0 && nr < SYSCALLS_MAX && sends_to[nr];
}

bool syscalls__receives_from(int nr)
{
	pthread_once(&once, fill_tables);
	return nr >= 0 && nr < SYSCALLS_MAX && receives_from[nr];
}

int syscalls__number(const char *name)
{
	pthread_once(&once, fill_tables);
	for (int nr = 0; nr < SYSCALLS_MAX; nr++)
		if (native_names[nr] && !strcmp(native_names[nr], name))
			return nr;
	return -1;
}
