/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/*
 * Opens the file of @fd, which may be O_PATH, for reading: with a position of its own. The
 * descriptor, close-on-exec, or -errno.
 */
static inline int reopen(int fd)
{
	char link[32];
	int own;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	own = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return own < 0 ? -errno : own;
}
