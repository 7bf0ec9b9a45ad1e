/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of addresses, as symbols/symbols.h, by a process without privileges that reads the files
 * (the namer), in batches. It asks for files by their kind (symbols/symbol_files.h); which path
 * that is, is decided here. Names of the kernel are found in this process: the kernel is trusted.
 *
 * A file whose reader dies, or takes too long, is not read again, and its diagnostic says so. What
 * was found before stays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "privsep/privsep.h"
#include "symbols/symbols.h"

struct names;

#define NAMES_MAX_FRAMES   64 /* of an address */
#define NAMES_MAX_FAILURES 16 /* then nothing is read any more */

/*
 * @privsep must outlive the result; NULL: files are read in this process, which trusts them. No
 * process is started before names__resolve() needs it. 0 or -ENOMEM.
 */
int names__new(struct privsep *privsep, const struct symbolizer_options *options,
	       struct names **out);

/* As symbolizer__add_source(), but equal sources have numbers of their own. */
int names__add_source(struct names *names, const struct symbol_source *source);

struct unnamed_address {
	uint64_t address; /* as of symbolizer__resolve(), or of symbolizer__variable() */
	bool data;
};

/*
 * The frames of address @index, at least one. Those of data are one frame with the name of the
 * variable, or "". Strings are valid until names__free(). A result other than 0 ends the request.
 */
typedef int (*names_fn)(void *arg, size_t index, const struct symbol_frame *frames, size_t n);

/*
 * Passes the names of the @n @addresses of @source, best in ascending order, to @on_names, except
 * those of a file that cannot be read (see above). 0, what @on_names returned, -ENOMEM or
 * -ECANCELED.
 */
int names__resolve(struct names *names, int source, const struct unnamed_address *addresses,
		   size_t n, names_fn on_names, void *arg);

/*
 * Before the first request: the namer is to run only where nothing else wants the CPU or the disk,
 * and what it fails to read is not noted in privsep, as it will be tried again.
 */
void names__run_in_background(struct names *names);

/*
 * From another thread: a request to the namer, and all later ones, return -ECANCELED within
 * NAMES_CANCEL_NS, and opening the file that it may be at.
 */
#define NAMES_CANCEL_NS 20000000ULL
void names__cancel(struct names *names);

/* As symbolizer__diagnostic(). */
const char *names__diagnostic(const struct names *names, int source);

/* Whether @source was not read because its reader failed. */
bool names__failed(const struct names *names, int source);

/* The namer, for tests; 0: none. */
pid_t names__pid(const struct names *names);

void names__free(struct names *names);
DEFINE_CLEANUP(struct names *, names__free)
