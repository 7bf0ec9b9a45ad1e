// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/cached_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "privsep/opener_wire.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* Whether the link @name reads as @text. */
static bool links_to(const char *name, const char *text)
{
	char target[64];
	ssize_t n = readlink(name, target, sizeof(target));

	return n > 0 && (size_t)n == strlen(text) && !memcmp(target, text, (size_t)n);
}

/* Whether @root, /proc/PID/root, is dwell's own root directory, with the same mounts. */
static bool is_own_root(const char *root)
{
	char own[64] = "", mounts[64];
	int length = (int)strlen(root) - 4; /* of "root" */

	if (length <= 0 || length > 32 || strcmp(root + length, "root") != 0 ||
	    strncmp(root, "/proc/", 6) != 0)
		return false;
	snprintf(mounts, sizeof(mounts), "%.*sns/mnt", length, root);
	return readlink("/proc/self/ns/mnt", own, sizeof(own) - 1) > 0 && links_to(mounts, own) &&
	       links_to(root, "/") && links_to("/proc/self/root", "/");
}

/* An O_PATH descriptor of what the request names, or -1. */
static int find(const struct open_request *request)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};

	if (!request->path)
		return fcntl(request->fd, F_DUPFD_CLOEXEC, 3);
	if (*request->path != '/' || (request->root && !is_own_root(request->root)))
		return -1;
	how.flags |= request->no_follow ? O_NOFOLLOW : 0;
	return (int)syscall(SYS_openat2, AT_FDCWD, request->path, &how, sizeof(how));
}

/* Whether @fd is a regular file on a block device; asks no file system. */
static bool is_local(int fd, struct found_file *file)
{
	struct statx stats;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &stats) ||
	    !stats.stx_dev_major || !S_ISREG(stats.stx_mode))
		return false;
	*file = (struct found_file){
		.fd = -1,
		.device = (uint64_t)stats.stx_dev_major << 20 | stats.stx_dev_minor,
		.inode = stats.stx_ino,
		.size = stats.stx_size,
		.owner = stats.stx_uid,
		.mode = stats.stx_mode,
	};
	return true;
}

/* Opens @fd, a regular file, for reading, and sends it. */
static int forward(const struct open_request *request, int fd)
{
	_cleanup_close_ int readable = -1;
	int fds[2];
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	readable = open(name, OPENER_FLAGS);
	if (readable < 0)
		return -EAGAIN;
	fds[0] = readable;
	fds[1] = request->result;
	return wire__send(request->to, request->message, request->size, fds,
			  request->result >= 0 ? 2 : 1);
}

int cached_open(const struct open_request *request, struct found_file *found)
{
	_cleanup_close_ int fd = find(request);
	struct found_file file;
	int err = 0;

	if (fd < 0 || !is_local(fd, &file))
		return -EAGAIN;
	if (request->to >= 0)
		err = forward(request, fd);
	if (err || !found)
		return err;
	if (request->path)
		file.fd = TAKE_FD(fd);
	*found = file;
	return 0;
}
