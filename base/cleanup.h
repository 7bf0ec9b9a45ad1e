/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ownership is visible in the declaration: a variable marked _cleanup_free_ (or with
 * the attribute of its type) is released when it goes out of scope, unless TAKE_PTR()
 * or TAKE_FD() has passed its ownership on.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Defines void NAMEp(TYPE **) for use with _cleanup_(). */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##p(type *p)                                                          \
	{                                                                                          \
		if (*p)                                                                            \
			fn(*p);                                                                    \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

#define _cleanup_free_	   _cleanup_(freep)
#define _cleanup_close_	   _cleanup_(closep)
#define _cleanup_fclose_   _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) _taken = (p);                                                        \
		(p) = NULL;                                                                        \
		_taken;                                                                            \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int _taken = (fd);                                                                 \
		(fd) = -1;                                                                         \
		_taken;                                                                            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
