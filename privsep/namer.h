/* SPDX-License-Identifier: BSD-2-Clause */
/* The process of names.h, and what it is asked. What it answers is not trusted. */
#pragma once

#include "privsep/names_wire.h"

struct namer;

/* Strings of @options are copied. No process is started yet. 0 or -ENOMEM. */
int namer__new(struct privsep *privsep, const struct symbolizer_options *options,
	       struct namer **out);

/* What is known of a source besides. */
struct namer_source {
	struct symbol_source source;
	uint32_t program_owner; /* uid of the program's file */
	bool has_program;	/* program_owner is known */
};

/*
 * Asks for the names of @n @addresses, at most NAMES_BATCH_ADDRESSES, and sets *@result to the
 * answer, not decoded, in memory that is the namer's until the next call. 0, -EFAULT (the process
 * was killed), -ETIMEDOUT, -EPROTO, -EDQUOT or -ENOMEM (the answer is too large), -EBUSY (too many
 * processes have failed), -ECANCELED, or another -errno. After an error, the process is replaced.
 */
int namer__ask(struct namer *namer, struct namer_source *source,
	       const struct unnamed_address *addresses, size_t n, struct cursor *result);

/* Of names__run_in_background(), and names__cancel(). */
void namer__be_idle(struct namer *namer);
void namer__cancel(struct namer *namer);

/* Its process; 0: none. */
pid_t namer__pid(const struct namer *namer);

void namer__free(struct namer *namer);
