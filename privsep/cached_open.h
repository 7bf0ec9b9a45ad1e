/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files in this process where that cannot block: an opener process (opener.h) takes two waits
 * for a CPU for each file, which on a busy machine delays unwind tables until stacks are lost.
 */
#pragma once

#include "privsep/opener.h"

/*
 * As opener__open(), or -EAGAIN: it might block, or fails; an opener is to be asked. Works if
 *  - the path is in the kernel's cache (RESOLVE_CACHED, Linux 5.12): no file system is asked;
 *  - request->root is NULL, or that of a process with dwell's own root directory and mounts;
 *  - the regular file is on a block device: only root mounts a file system in user space there.
 */
int cached_open(const struct open_request *request, struct found_file *found);
