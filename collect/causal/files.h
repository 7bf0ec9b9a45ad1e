/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that the profiled program has mapped: which are in scope, the functions and lines of
 * their code, and where the code of targets and progress points is in them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "abi/delay_area.h"
#include "collect/causal/causal_run.h"
#include "collect/causal/virtual_time.h"
#include "collect/capture/capture.h"
#include "privsep/code_reader.h"

struct causal_files;

int causal_files__new(const struct causal_config *config, struct virtual_time *vtime,
		      struct causal_files **out);

/* To be called once before what follows: @privsep's parsers read the files. 0 or -errno. */
int causal_files__start(struct causal_files *files, struct privsep *privsep);

/*
 * Adds files mapped since the last call, and updates scope; to be called often. True: there are new
 * files, or new ones in scope.
 */
bool causal_files__update(struct causal_files *files, const struct address_spaces *spaces);

/*
 * Finds function and line of @code (UNWIND_CODE), and adds @ns to the samples of its file. False:
 * the file, or its code, is unknown.
 */
bool causal_files__place(struct causal_files *files, uint64_t code, uint64_t ns,
			 struct code_place *place);

/*
 * Finds the places of @n codes at once, for the calls of causal_files__place() that follow. 0 or
 * -ENOMEM.
 */
int causal_files__prepare(struct causal_files *files, const uint64_t *codes, size_t n);

/*
 * Excludes from samples the code near @code that is not in scope, see code__out_of_scope(). 0 or a
 * negative errno.
 */
int causal_files__exclude(struct causal_files *files, uint64_t code);

/*
 * An error, with error__set(), if the code of @location cannot be in what the command will run;
 * @what and
 * @text name it in the message. Before the command starts. 0, -EINVAL or -ENOMEM.
 */
struct causal_location;
int causal_files__expect(struct causal_files *files, const struct causal_location *location,
			 const char *what, const char *text);

/* Ranges of code in any number of files, sorted. */
struct causal_ranges {
	ARRAY(struct causal_range) ranges;
};

/* A parsed argument that names a target or a progress point. */
struct causal_location {
	char *probe;	/* NAME of usdt:PROVIDER:NAME, only for points; NULL: code */
	char *provider; /* PROVIDER; NULL: any */
	char *file;	/* FILE of FILE:LINE; NULL: a function */
	uint32_t line;
	char *function;
	char *caller; /* "called from ...", or NULL */
};

int causal_location__parse(const char *text, struct causal_location *location);
void causal_location__free(struct causal_location *location);

/*
 * Finds the code of @location, in files in scope, or, if it is in none, in others. *@place gets its
 * function and line. 0; -ENOENT: no file has it (yet); -ENOTUNIQ with error__set(); -ENOMEM.
 */
int causal_files__find(struct causal_files *files, const struct causal_location *location,
		       struct causal_ranges *ranges, struct causal_ranges *callers,
		       struct code_place *place);

/* All code, in files in scope, of the line of @place, or (@function) of its function. */
int causal_files__find_place(struct causal_files *files, const struct code_place *place,
			     bool function, struct causal_ranges *ranges);

/* An address where visits of a progress point can be counted. */
struct causal_entry {
	uint32_t origin;      /* of the file: its number, see address_spaces.h */
	int fd;		      /* of the file; not owned */
	struct code_entry at; /* in the file */
};

struct causal_entries {
	ARRAY(struct causal_entry) entries;
};

/*
 * Finds the entries of @location, in files in scope, or, if there are none, in others. 0; -ENOENT:
 * no file has it (yet); -ENOTUNIQ with error__set(), or another negative errno.
 */
int causal_files__entries(struct causal_files *files, const struct causal_location *location,
			  struct causal_entries *entries);

/* Writes the build ids of files in scope that are not written yet. 0 or -errno. */
int causal_files__write_builds(struct causal_files *files, struct causal_writer *writer);

/* Names similar to @text, or that there are none: a hint, malloc()ed; or NULL. */
char *causal_files__hint(struct causal_files *files, const char *text);

/* Why a file in scope with a good part of the samples has no lines, with a hint; or NULL. */
const char *causal_files__diagnostic(struct causal_files *files);

void causal_files__free(struct causal_files *files);
DEFINE_CLEANUP(struct causal_files *, causal_files__free)
