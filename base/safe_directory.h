/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the directory of a path in which other users may move things while it is looked up.
 *
 * A user who can replace a part of the path by a symbolic link could otherwise choose the directory
 * in which dwell, run by root, creates or replaces a file.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens the directory that contains @path: *@directory is a descriptor for openat() and similar
 * calls only (O_PATH), the caller's to close. @name gets the last component, which is not looked
 * up.
 *
 * Symbolic links on the way are followed if only root or dwell's own user can have placed them
 * there. A link of another user is followed only into a directory of the same user. Returns 0 or
 * -errno without a message: -EISDIR if @path ends with a slash, -ELOOP if it leads through a link
 * that is not followed.
 */
int safe_directory__of(const char *path, int *directory, char name[NAME_MAX + 1]);

/* Whether only root and dwell's own user can create, rename and remove entries of this directory.
 */
bool safe_directory__is_own(const struct stat *directory);

/* Whether only root and dwell's own user can have placed @entry in @directory. */
bool safe_directory__trusts(const struct stat *directory, const struct stat *entry);
