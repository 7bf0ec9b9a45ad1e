/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files fetched by build id from the servers in $DEBUGINFOD_URLS, by way of
 * libdebuginfod, which is loaded when first needed and may be absent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct debuginfod {
	bool enabled; /* set by the owner; cleared when it turns out not to work */
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
 * A descriptor of the file that belongs to @build_id (hex), or -ENOENT. One
 * fetch takes at most half a minute, all of them two; then no more is asked.
 */
int debuginfod__fetch(struct debuginfod *debuginfod, enum debuginfod_file file,
		      const char *build_id);

void debuginfod__stop(struct debuginfod *debuginfod);
