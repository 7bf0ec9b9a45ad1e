/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the files of a symbol source are: the one place that composes their paths. It reads nothing
 * of them. What a file says of another one, such as the name of its debug file, may come from
 * anyone: it only leads to files beside the program and to those of the debug directory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

enum symbol_file_kind {
	SYMBOL_FILE_MAPPED = 0,		/* source->fd */
	SYMBOL_FILE_PROGRAM = 1,	/* source->path */
	SYMBOL_FILE_DEBUG_ID = 2,	/* the debug file of build id @name */
	SYMBOL_FILE_PROGRAM_ID = 3,	/* the program of build id @name, in the debug directory */
	SYMBOL_FILE_LINK_BESIDE = 4,	/* @name, beside the program */
	SYMBOL_FILE_LINK_BELOW = 5,	/* @name, in .debug beside the program */
	SYMBOL_FILE_LINK_DEBUG = 6,	/* @name, in the program's directory below the debug one */
	SYMBOL_FILE_ALTERNATE = 7,	/* path @name */
	SYMBOL_FILE_JIT_MAP = 8,	/* /tmp/perf-PID.map, of the process's user or root */
	SYMBOL_FILE_FETCH_DEBUG = 9,	/* as DEBUG_ID, from a server */
	SYMBOL_FILE_FETCH_PROGRAM = 10, /* as PROGRAM_ID, from a server */
	SYMBOL_FILE_KINDS = 11,
};

struct symbol_file_request {
	enum symbol_file_kind kind;
	bool outside;	  /* in dwell's own root directory, not in the source's */
	const char *name; /* NULL: the kind needs none */
};

/* Whether @name is a build id as hex, or the name of a file in a directory. */
bool symbol_file__is_build_id(const char *name);
bool symbol_file__is_base_name(const char *name);

/*
 * The path of the file, for kinds from PROGRAM to ALTERNATE. 0, -EINVAL: @request does not name a
 * file that it may name; -ENOENT: the source has no such file; or -ENAMETOOLONG.
 */
int symbol_file__path(const struct symbol_source *source, const char *debug_root,
		      const struct symbol_file_request *request, char *path, size_t size);

/* The places of the JIT map of a source, best first. */
#define JIT_MAP_PLACES 4
struct jit_map_place {
	char root[64]; /* "": dwell's own */
	char path[64];
};
size_t symbol_file__jit_places(const char *root, uint32_t pid,
			       struct jit_map_place places[JIT_MAP_PLACES]);

/* @owner, or if that is -1 the uid of the process that has @pid now, or dwell's own. */
uint32_t symbol_file__jit_owner(uint32_t pid, int64_t owner);

/* Opens a file of any kind but the last two, in this process. As symbol_file_open_fn. */
int symbol_file__open(const struct symbol_source *source, const char *debug_root,
		      const struct symbol_file_request *request);
