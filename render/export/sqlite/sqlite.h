/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "render/export/export.h"

/*
 * Writes @export to an SQLite database in the empty file at @fd; @path is its name in messages.
 * dwell-export(1) describes its tables. Holds in memory, beyond the model, the tree of call chains
 * and SQLite's page cache. Returns 0 or -errno; -ENOSPC, -EIO and their like are of @path, with a
 * message.
 */
int sqlite__write(const struct export *export, int fd, const char *path);
