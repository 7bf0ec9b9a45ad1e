/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls without libc: a push may be the first thing that a thread or a signal handler
 * does, and must not touch errno, locks or vector registers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/system_call.h"

static inline uint32_t system__tid(void)
{
	return (uint32_t)system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline uint32_t system__pid(void)
{
	return (uint32_t)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Memory of @size bytes of @fd, or private if that is -1; at @at if that is not NULL. NULL if none.
 */
static inline void *system__map(void *at, size_t size, long fd)
{
	long flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (at ? MAP_FIXED : 0);
	long result =
		system_call(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return result < 0 && result > -4096 ? NULL : (void *)result;
}

static inline void system__unmap(void *at, size_t size)
{
	system_call(SYS_munmap, (long)at, (long)size, 0, 0, 0, 0);
}
