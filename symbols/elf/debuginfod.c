// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define SECOND		 1000000000ULL
#define FETCH_TIMEOUT	 (30 * SECOND)
#define FETCH_TOTAL_TIME (120 * SECOND)

/* As in <elfutils/debuginfod.h>, which is not needed to build dwell. */
typedef int (*progress_fn)(void *client, long at, long of);
typedef int (*find_fn)(void *client, const unsigned char *build_id, int size, char **path);

/* Of the current fetch of this thread; ns, CLOCK_MONOTONIC. */
static __thread uint64_t deadline;

/* Called about once a second during a fetch; a value other than 0 cancels it. */
static int on_progress(void *client, long at, long of)
{
	return now_ns(CLOCK_MONOTONIC) > deadline;
}

static void *find_function(struct debuginfod *debuginfod, const char *name)
{
	return debuginfod->library ? dlsym(debuginfod->library, name) : NULL;
}

static void start_client(struct debuginfod *debuginfod)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void (*set_progress)(void *, progress_fn) = NULL;
	void *(*begin)(void) = NULL;

	debuginfod->started = true;
	debuginfod->left = FETCH_TOTAL_TIME;
	if (!urls || !*urls)
		return;
	debuginfod->library = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	*(void **)&begin = find_function(debuginfod, "debuginfod_begin");
	*(void **)&set_progress = find_function(debuginfod, "debuginfod_set_progressfn");
	if (!begin || !set_progress)
		return;
	debuginfod->client = begin();
	if (debuginfod->client)
		set_progress(debuginfod->client, on_progress);
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
		start_client(debuginfod);
	*(void **)&find =
		find_function(debuginfod, file == DEBUGINFOD_PROGRAM ? "debuginfod_find_executable"
								     : "debuginfod_find_debuginfo");
	if (!debuginfod->client || !find || !debuginfod->left) {
		debuginfod->enabled = false;
		return -ENOENT;
	}
	deadline = start + (debuginfod->left < FETCH_TIMEOUT ? debuginfod->left : FETCH_TIMEOUT);
	fd = find(debuginfod->client, (const unsigned char *)build_id, 0, NULL);
	spent = now_ns(CLOCK_MONOTONIC) - start;
	debuginfod->left -= spent < debuginfod->left ? spent : debuginfod->left;
	return fd < 0 ? -ENOENT : fd;
}

void debuginfod__stop(struct debuginfod *debuginfod)
{
	void (*end)(void *) = NULL;

	*(void **)&end = find_function(debuginfod, "debuginfod_end");
	if (debuginfod->client && end)
		end(debuginfod->client);
	/* The library is not unloaded: curl and its TLS library leave thread destructors. */
	*debuginfod = (struct debuginfod){};
}
