// SPDX-License-Identifier: BSD-2-Clause
/* The process that opens files. It reads nothing of them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "privsep/opener_wire.h"
#include "privsep/sandbox.h"
#include "privsep/zygote.h"

struct order {
	uint64_t flags;
	char path[PATH_MAX];
	char root[PATH_MAX];
	const void *message;
	size_t size;
	const int *fds;
	size_t n_fds;
};

static int open_inside(const char *root, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT};
	_cleanup_close_ int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char joined[2 * PATH_MAX];
	int fd;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* openat2() may be forbidden by a container's seccomp. */
	snprintf(joined, sizeof(joined), "%s/%s", root, path);
	fd = open(joined, flags);
	return fd < 0 ? -errno : fd;
}

static int find(const struct order *order)
{
	int flags = O_PATH | O_CLOEXEC | (order->flags & OPEN_NO_FOLLOW ? O_NOFOLLOW : 0), fd;

	if (order->flags & OPEN_ROOT)
		return open_inside(order->root, order->path, flags);
	fd = open(order->path, flags);
	return fd < 0 ? -errno : fd;
}

static int check(int fd, const struct order *order, struct stat *stats)
{
	if (fstat(fd, stats))
		return -errno;
	if (order->flags & OPEN_NO_FOLLOW && S_ISLNK(stats->st_mode))
		return -ELOOP;
	return S_ISREG(stats->st_mode) ? 0 : -ENOENT;
}

/* Opens the file of @fd, which is a regular one, for reading, and sends it. */
static int forward(int fd, const struct order *order)
{
	size_t next = order->flags & OPEN_PATH ? 0 : 1;
	int fds[2];
	char name[64];
	int err;

	if (order->n_fds <= next + (order->flags & OPEN_RESULT ? 1 : 0))
		return -EPROTO;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	fds[0] = open(name, OPENER_FLAGS);
	if (fds[0] < 0)
		return -errno;
	fds[1] = order->flags & OPEN_RESULT ? order->fds[next + 1] : -1;
	err = wire__send(order->fds[next], order->message, order->size, fds,
			 order->flags & OPEN_RESULT ? 2 : 1);
	close(fds[0]);
	return err;
}

static int serve(const struct order *order, struct stat *stats, int *found)
{
	int fd = order->flags & OPEN_PATH ? find(order) : order->n_fds ? order->fds[0] : -EPROTO;
	int err;

	if (fd < 0)
		return fd;
	if (order->flags & OPEN_PATH)
		*found = fd;
	err = check(fd, order, stats);
	if (!err && order->flags & OPEN_FORWARD)
		err = forward(fd, order);
	return err;
}

static void answer(const struct order *order)
{
	_cleanup_close_ int found = -1;
	struct buffer reply = {};
	struct stat stats = {};
	int err = serve(order, &stats, &found);

	buffer__varint(&reply, (uint64_t)-err);
	buffer__varint(&reply, (uint64_t)major(stats.st_dev) << 20 | minor(stats.st_dev));
	buffer__varint(&reply, stats.st_ino);
	buffer__varint(&reply, (uint64_t)stats.st_size);
	buffer__varint(&reply, stats.st_uid);
	buffer__varint(&reply, stats.st_mode);
	if (reply.failed)
		_exit(1);
	wire__send(PROCESS_SOCKET, reply.data, reply.n, &found, !err && found >= 0);
	buffer__free(&reply);
}

void opener__run(pid_t parent)
{
	static struct wire_message message;
	static struct order order;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	process__die_with(parent);
	for (;;) {
		int err = wire__receive(PROCESS_SOCKET, UINT64_MAX, WIRE_MAX_FDS, &message);
		struct cursor cursor = {.at = message.data, .end = message.data + message.size};

		if (err)
			_exit(err != -EPIPE);
		order.flags = cursor__varint(&cursor);
		wire__string(&cursor, order.path, sizeof(order.path));
		wire__string(&cursor, order.root, sizeof(order.root));
		if (cursor.bad)
			_exit(1);
		order.message = cursor.at;
		order.size = cursor__left(&cursor);
		order.fds = message.fds;
		order.n_fds = message.n_fds;
		answer(&order);
		wire__close_fds(&message);
	}
}
