// SPDX-License-Identifier: BSD-2-Clause
/*
 * The process that asks servers for debug files. Of dwell's processes it alone uses the network; it
 * has no privileges, and reads no file of a target's. What it gets goes to a namer.
 */
#include <errno.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invoking_user.h"
#include "privsep/fetcher_wire.h"
#include "privsep/sandbox.h"
#include "privsep/zygote.h"
#include "symbols/elf/debuginfod.h"

static char own_cache[] = "/tmp/dwell-debuginfod-XXXXXX";
static bool has_own_cache;

/*
 * Where root's files were to be kept, another user may not write. That user's own cache is used; if
 * it is nobody, what is fetched is kept for this run.
 */
static void choose_cache(uid_t before)
{
	const struct passwd *user;

	if (getuid() == before)
		return;
	unsetenv("XDG_CACHE_HOME");
	user = getuid() == SANDBOX_NOBODY ? NULL : getpwuid(getuid());
	if (user && user->pw_dir && !access(user->pw_dir, W_OK)) {
		unsetenv("DEBUGINFOD_CACHE_PATH");
		setenv("HOME", user->pw_dir, 1);
		return;
	}
	has_own_cache = mkdtemp(own_cache) != NULL;
	setenv("HOME", has_own_cache ? own_cache : "/nonexistent", 1);
	setenv("DEBUGINFOD_CACHE_PATH", has_own_cache ? own_cache : "/nonexistent", 1);
}

static int remove_one(const char *path, const struct stat *stats, int type, struct FTW *at)
{
	(void)stats;
	(void)type;
	(void)at;
	return remove(path);
}

static __attribute__((noreturn)) void finish(void)
{
	if (has_own_cache)
		nftw(own_cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

static int fetch(struct debuginfod *debuginfod, const struct wire_message *message)
{
	struct cursor cursor = {.at = message->data, .end = message->data + message->size};
	uint64_t program = wire__number(&cursor, 1);
	struct buffer forwarded = {};
	char build_id[256];
	int fd, err;

	wire__string(&cursor, build_id, sizeof(build_id));
	if (cursor.bad || message->n_fds != 1)
		return -EPROTO;
	fd = debuginfod__fetch(debuginfod, program ? DEBUGINFOD_PROGRAM : DEBUGINFOD_DEBUG_FILE,
			       build_id);
	if (fd < 0)
		return fd;
	buffer__varint(&forwarded, FETCHED_MESSAGE);
	buffer__varint(&forwarded, 0);
	err = forwarded.failed ? -ENOMEM
			       : wire__send(message->fds[0], forwarded.data, forwarded.n, &fd, 1);
	buffer__free(&forwarded);
	close(fd);
	return err;
}

void fetcher__run(pid_t parent)
{
	static struct debuginfod debuginfod = {.enabled = true};
	static struct wire_message message;
	uid_t before = getuid();

	if (!(sandbox__enter_online(parent) & SANDBOX_CAPS))
		_exit(1);
	choose_cache(before);
	for (;;) {
		struct buffer reply = {};

		if (wire__receive(PROCESS_SOCKET, UINT64_MAX, 1, &message))
			finish();
		buffer__varint(&reply, (uint64_t)-fetch(&debuginfod, &message));
		wire__close_fds(&message);
		if (reply.failed || wire__send(PROCESS_SOCKET, reply.data, reply.n, NULL, 0))
			finish();
		buffer__free(&reply);
	}
}
