// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define SECOND	       1000000000ULL
#define LONGEST_FETCH  (30 * SECOND)
#define LONGEST_IN_ALL (120 * SECOND)

/* <elfutils/debuginfod.h>, which need not be installed to build. */
typedef int (*progress_fn)(void *client, long at, long of);
typedef int (*find_fn)(void *client, const unsigned char *build_id, int size, char **path);

/* Of the fetch this thread waits for, ns of CLOCK_MONOTONIC. */
static __thread uint64_t deadline;

/* Called about once a second during a fetch; not 0 ends it. */
static int debuginfod__progress(void *client, long at, long of)
{
	return now_ns(CLOCK_MONOTONIC) > deadline;
}

static void *debuginfod__symbol(struct debuginfod *debuginfod, const char *name)
{
	return debuginfod->library ? dlsym(debuginfod->library, name) : NULL;
}

static void debuginfod__start(struct debuginfod *debuginfod)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void (*set_progress)(void *, progress_fn) = NULL;
	void *(*begin)(void) = NULL;

	debuginfod->started = true;
	debuginfod->left = LONGEST_IN_ALL;
	if (!urls || !*urls)
		return;
	debuginfod->library = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	*(void **)&begin = debuginfod__symbol(debuginfod, "debuginfod_begin");
	*(void **)&set_progress = debuginfod__symbol(debuginfod, "debuginfod_set_progressfn");
	if (!begin || !set_progress)
		return;
	debuginfod->client = begin();
	if (debuginfod->client)
		set_progress(debuginfod->client, debuginfod__progress);
}

int debuginfod__fetch(struct debuginfod *debuginfod, enum debuginfod_file file,
		      const char *build_id)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	uint64_t spent;
	find_fn find;
	int fd;

	if (!debuginfod->enabled)
		return -ENOENT;
	if (!debuginfod->started)
		debuginfod__start(debuginfod);
	*(void **)&find = debuginfod__symbol(debuginfod, file == DEBUGINFOD_PROGRAM
								 ? "debuginfod_find_executable"
								 : "debuginfod_find_debuginfo");
	if (!debuginfod->client || !find || !debuginfod->left) {
		debuginfod->enabled = false;
		return -ENOENT;
	}
	deadline = start + (debuginfod->left < LONGEST_FETCH ? debuginfod->left : LONGEST_FETCH);
	fd = find(debuginfod->client, (const unsigned char *)build_id, 0, NULL);
	spent = now_ns(CLOCK_MONOTONIC) - start;
	debuginfod->left -= spent < debuginfod->left ? spent : debuginfod->left;
	return fd < 0 ? -ENOENT : fd;
}

void debuginfod__stop(struct debuginfod *debuginfod)
{
	void (*end)(void *) = NULL;

	*(void **)&end = debuginfod__symbol(debuginfod, "debuginfod_end");
	if (debuginfod->client && end)
		end(debuginfod->client);
	/* Not unloaded: curl and its TLS library leave threads' destructors behind. */
	*debuginfod = (struct debuginfod){};
}
