/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that dwell creates under sudo or pkexec belong to the user who invoked it, not to root. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether @uid is the user who invoked dwell by sudo or pkexec. */
bool invoking_user__is(uid_t uid);

/* The user who called dwell by sudo or pkexec, and his group ((gid_t)-1: unknown). False: none. */
bool invoking_user__get(uid_t *uid, gid_t *gid);

/*
 * Gives the file open at @fd, which the caller has just created, to the user and group in the
 * variables that sudo and pkexec set. Does nothing when dwell does not run as root or was not
 * invoked by them. Returns 0 or -errno of fchown().
 */
int invoking_user__chown(int fd);
