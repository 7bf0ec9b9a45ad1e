/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Embedding symbols in the recording, so that it can be read without the program's files and on
 * other machines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct embed_options {
	bool lines;	 /* source lines and inlined functions too */
	bool debuginfod; /* ask servers for missing debug files */

	/*
	 * Returns a descriptor of the file that was mapped as DSO @number (of
	 * recording_writer__dso()), or of one with the same build id (""; unknown), which
	 * stays the callee's; or -1. May be NULL.
	 */
	int (*dso_fd)(void *context, uint32_t number, const char *build_id);
	/* Returns the uid of the process of JIT code @number; -1: unknown. May be NULL. */
	int64_t (*dso_owner)(void *context, uint32_t number);
	/* As in struct symbolizer_options. May be NULL. */
	int (*kernel_name)(void *context, uint64_t address, char *name, size_t size);
	void *context;

	/* What reads the files (privsep/names.h); NULL: this process. */
	struct privsep *privsep;
};

/*
 * Symbolizes all addresses of the finished recording at @fd, which is open for reading and writing,
 * and appends the symbols to it; @path is its name in messages. Sets *@resolved (may be NULL) to
 * the number of addresses with a name. Errors as of model__load() and recording_writer__append();
 * the recording stays valid.
 */
int embed_symbols(int fd, const char *path, const struct embed_options *options,
		  uint64_t *resolved);
