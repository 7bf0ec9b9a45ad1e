/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names into the recording, so that it can be read when the program and its
 * files are gone, and on another machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct embed_options {
	bool lines;	 /* source lines and inlined functions too */
	bool debuginfod; /* ask servers for missing debug files */

	/*
	 * A descriptor of the very file that was mapped as DSO @number (as
	 * recording_writer__dso() gave it), or -1. Stays the callee's. May be NULL.
	 */
	int (*dso_fd)(void *context, uint32_t number);
	/* The uid of the process whose generated code DSO @number is; -1: unknown. May be NULL. */
	int64_t (*dso_owner)(void *context, uint32_t number);
	void *context;
};

/*
 * Resolves every address seen in the finished recording at @path and appends
 * what was found. *@resolved, when not NULL, is the count of addresses that got
 * a name. Errors as model__load() and recording_writer__append(); the recording
 * is whole after any of them.
 */
int embed_symbols(const char *path, const struct embed_options *options, uint64_t *resolved);
