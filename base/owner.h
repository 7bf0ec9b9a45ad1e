/* SPDX-License-Identifier: BSD-2-Clause */
/* The user that called dwell by sudo or pkexec: what dwell creates is to belong to that user. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user and group that called, by the environment that sudo and pkexec leave. False: dwell
 * does not run as root, or was not called so.
 */
bool owner__caller(uid_t *uid, gid_t *gid);

/*
 * Gives the file open at @fd, which was just created by the caller of this function, to the user
 * that called. 0, also when there is none, or -errno.
 */
int owner__give(int fd);
