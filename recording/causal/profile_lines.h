/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a causal profile (docs/causal-format.md), for its reader and writer: one
 * JSON object each, with a type, and the id of the run it belongs to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "recording/causal/causal_profile.h"

#define CAUSAL_FORMAT_VERSION 1

/* A longer line is passed over. Writers leave out what would make one longer. */
#define CAUSAL_LINE_MAX (1u << 20)

/* Counts and times of a half; and of a run, where threads add up. */
#define CAUSAL_HALF_MAX (1ull << 53)
#define CAUSAL_RUN_MAX	(1ull << 60)

#define CAUSAL_MEND_RUN "Make one with: dwell causal run -- COMMAND"

/* Memory that is released as one. */
struct causal_memory;

/* @size bytes, zeroed and aligned for anything; NULL when there are none. */
void *causal_memory__take(struct causal_memory **memory, size_t size);
void causal_memory__free(struct causal_memory *memory);

/* An experiment as its line has it: numbers of the run, not yet looked up. */
struct causal_raw_half {
	uint64_t duration_ns;
	uint64_t delay_ns;
	uint64_t hit_ns;
	ARRAY(struct causal_visits) visits;
};

struct causal_raw {
	const char *run; /* bytes of the line, or of what was made of it */
	size_t run_size;
	const char *also;
	size_t also_size;
	uint32_t target;
	double speedup;
	uint64_t at_ns;
	bool whole_run;
	struct causal_raw_half base;
	struct causal_raw_half with;
};

struct causal_parser {
	struct causal_profile *profile;
	struct causal_memory *memory; /* becomes the profile's */
	struct intern strings;
	ARRAY(const char *) texts; /* of strings, by id */
	struct intern points;	   /* their members, by index in the profile */
	struct intern targets;
	struct intern runs;	     /* ids */
	ARRAY(uint32_t) run_indexes; /* by id in runs; UINT32_MAX: not begun */
	struct map64 point_numbers;  /* index of a run << 32 | number -> index */
	struct map64 target_numbers;
	struct causal_raw raw;
	uint64_t newer; /* runs of a newer version */
};

/*
 * Takes the line @text of @size bytes, without its end, into the profile. 0; 1 when it
 * cannot be read; -ENOMEM.
 */
int causal_parser__line(struct causal_parser *parser, const char *text, size_t size);
/*
 * Reads an experiment as the writer writes it, without making a document of it first: most
 * lines are experiments. False when the line is anything else, or is not sure to be right.
 */
bool causal_scan__experiment(const char *text, size_t size, struct causal_raw *raw);

void causal_parser__free(struct causal_parser *parser);

/*
 * Whether a file that begins with the @size bytes at @head is a causal profile, or can
 * become one: 0, or -EINVAL with what it is, and what to do with it.
 */
int causal_profile__recognize(const char *path, const char *head, size_t size);

/* -EINVAL, with that as the error. */
int causal_profile__refuse_newer(const char *path);
