/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a causal profile (docs/causal-format.md), for its reader and writer. Each is a
 * JSON object with a type and the id of the run that it belongs to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "recording/causal/causal_profile.h"

#define CAUSAL_FORMAT_VERSION 1

/* Bytes. Readers skip longer lines, writers refuse to write them. */
#define CAUSAL_LINE_MAX (1u << 20)

/* Maximum of counts and times of a half, and of sums over threads or a run. */
#define CAUSAL_HALF_MAX (1ull << 53)
#define CAUSAL_RUN_MAX	(1ull << 60)

#define CAUSAL_HINT_RUN "Make one with: dwell causal run -- COMMAND"

/* An arena: memory that is freed as a whole. */
struct causal_memory;

/* Allocates @size bytes, zeroed and aligned to 16; NULL when out of memory. */
void *causal_memory__take(struct causal_memory **memory, size_t size);
void causal_memory__free(struct causal_memory *memory);

/* A parsed experiment line. Points and target are still numbers of the run, not indices. */
struct causal_parsed_half {
	uint64_t duration_ns;
	uint64_t delay_ns;
	uint64_t hit_ns;
	uint64_t in_flight_ns;
	ARRAY(struct causal_visits) visits;
};

struct causal_parsed {
	const char *run; /* id; points into the line or its JSON document */
	size_t run_size;
	const char *also;
	size_t also_size;
	uint32_t target;
	double speedup;
	uint64_t at_ns;
	bool whole_run;
	struct causal_parsed_half base;
	struct causal_parsed_half with;
};

struct causal_parser {
	struct causal_profile *profile;
	struct causal_memory *memory; /* becomes the profile's */
	struct intern strings;
	ARRAY(const char *) texts; /* copies of strings in @memory, by id */
	struct intern points;	   /* members of points; id: index in the profile */
	struct intern targets;
	struct intern runs;	     /* ids */
	ARRAY(uint32_t) run_indexes; /* by id in runs; UINT32_MAX: no "run" line yet */
	struct map64 point_numbers;  /* index of a run << 32 | number -> index */
	struct map64 target_numbers;
	struct causal_parsed raw;
	uint64_t newer; /* number of runs of a newer version */
};

/*
 * Adds the line @text of @size bytes, without newline, to the profile. 0; 1 when it is malformed;
 * -ENOMEM.
 */
int causal_parser__line(struct causal_parser *parser, const char *text, size_t size);
/*
 * A fast path, as most lines are experiments: parses an experiment exactly as the writer writes
 * it, without a JSON document. False for everything else, which the JSON parser must decide.
 */
bool causal_scan__experiment(const char *text, size_t size, struct causal_parsed *raw);

void causal_parser__free(struct causal_parser *parser);

/*
 * Checks whether a file that begins with the @size bytes at @head is a causal profile, or empty.
 * 0, or -EINVAL with a message that says what it is, and a hint.
 */
int causal_profile__recognize(const char *path, const char *head, size_t size);

/* Records the error that @path has runs of a newer version. Returns -EINVAL. */
int causal_profile__refuse_newer(const char *path);
