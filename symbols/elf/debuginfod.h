/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fetches files by build id from the servers in $DEBUGINFOD_URLS with libdebuginfod, which is
 * loaded on demand and may be missing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct debuginfod {
	bool enabled; /* set by the owner; cleared if the library or a server is missing */
	bool started;
	uint64_t left; /* ns that may still be spent on fetches */
	void *library;
	void *client;
};

enum debuginfod_file {
	DEBUGINFOD_DEBUG_FILE = 0,
	DEBUGINFOD_PROGRAM = 1,
};

/*
 * Returns a descriptor of the file for @build_id (hex), or -ENOENT. A fetch takes at most 30 s;
 * after 120 s in total, no more files are fetched.
 */
int debuginfod__fetch(struct debuginfod *debuginfod, enum debuginfod_file file,
		      const char *build_id);

void debuginfod__stop(struct debuginfod *debuginfod);
