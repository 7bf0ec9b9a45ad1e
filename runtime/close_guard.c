// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keeps the descriptor of the memory shared with dwell open. Programs often close all unknown
 * descriptors before they start another program. Without this one, the threads of that program
 * could not be paused and its progress points would not be counted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/runtime.h"

static int (*real_close)(int fd);

/* Early, because a child between fork() and exec() must not call dlsym(). */
static __attribute__((constructor)) void close_guard__begin(void)
{
	real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
}

EXPORTED int close(int fd)
{
	if (fd >= 0 && fd == pause__descriptor()) {
		errno = EBADF;
		return -1;
	}
	return real_close ? real_close(fd) : (int)syscall(SYS_close, fd);
}

EXPORTED int close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int kept = (unsigned int)pause__descriptor();
	int err = 0;

	if (pause__descriptor() < 0 || kept < first || kept > last)
		return (int)syscall(SYS_close_range, first, last, flags);
	if (kept > first)
		err = (int)syscall(SYS_close_range, first, kept - 1, flags);
	if (!err && kept < last)
		err = (int)syscall(SYS_close_range, kept + 1, last, flags);
	return err;
}

EXPORTED void closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned int)first, ~0U, 0);
}
