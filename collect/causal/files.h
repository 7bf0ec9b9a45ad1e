/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that the profiled program has mapped, as far as a causal run cares: which are
 * in scope, what their code is called, and where the code of a target lies in them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "abi/delay_area.h"
#include "collect/causal/causal_run.h"
#include "collect/causal/virtual_time.h"
#include "collect/core/capture.h"
#include "symbols/code/code.h"

struct causal_files;

int causal_files__new(const struct causal_config *config, struct virtual_time *vtime,
		      struct causal_files **out);

/* Takes notice of files mapped since; to be called often. True: there were some. */
bool causal_files__update(struct causal_files *files, const struct address_spaces *spaces);

/*
 * The place of samples, which are worth @ns, as code in a file (UNWIND_CODE). False: of no
 * file that is in scope.
 */
bool causal_files__place(struct causal_files *files, uint64_t code, uint64_t ns,
			 struct code_place *place);

/* Says that functions beside the one at @code are not in scope. 0 or -ENOMEM. */
int causal_files__leave_out(struct causal_files *files, uint64_t code);

/* Code of a target in all files, sorted. */
struct causal_ranges {
	ARRAY(struct causal_range) ranges;
};

/* What the text of a target, or of a progress point, says. */
struct causal_aim {
	char *probe;	/* of usdt:PROVIDER:NAME, only for points; NULL: code */
	char *provider; /* of the probe; NULL: any */
	char *file;	/* of FILE:LINE; NULL: a function */
	uint32_t line;
	char *function;
	char *caller; /* "called from ...", or NULL */
};

int causal_aim__parse(const char *text, struct causal_aim *aim);
void causal_aim__free(struct causal_aim *aim);

/*
 * The code of @aim in the files there are: those in scope, then all. *@place gets its full
 * name. 0; -ENOENT when no file has it (yet); -ENOTUNIQ with error__set(); -ENOMEM.
 */
int causal_files__find(struct causal_files *files, const struct causal_aim *aim,
		       struct causal_ranges *ranges, struct causal_ranges *callers,
		       struct code_place *place);

/* The line, or function, that @place is in: all its code in the files in scope. */
int causal_files__find_place(struct causal_files *files, const struct code_place *place,
			     bool function, struct causal_ranges *ranges);

/* Where a breakpoint for @aim goes. */
struct causal_entry {
	const char *path; /* of the file, as its process saw it */
	uint32_t origin;  /* its number, see address_spaces.h */
	int fd;
	uint64_t offset;    /* in it */
	uint64_t address;   /* linked */
	uint64_t semaphore; /* of a probe, its place in the file; 0: none */
};

struct causal_entries {
	ARRAY(struct causal_entry) entries;
};

int causal_files__entries(struct causal_files *files, const struct causal_aim *aim,
			  struct causal_entries *entries);

/* What @text may have meant, or why there are no names: a sentence, malloc()ed; NULL. */
char *causal_files__hint(struct causal_files *files, const char *text);

/* Why files in scope that matter have no lines, and the mend; NULL when all is well. */
const char *causal_files__trouble(struct causal_files *files);

void causal_files__free(struct causal_files *files);
DEFINE_CLEANUP(struct causal_files *, causal_files__free)
