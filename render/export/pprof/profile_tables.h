/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time of a recording summed by stack and labels, with numbered tables of the strings,
 * functions, locations and mappings in it, for formats without times of single samples (pprof,
 * OTLP). Memory is bounded by the number of distinct samples.
 *
 * Tables are numbered from 1; element 0 stands for none.
 */
#pragma once

#include "analysis/callchain.h"
#include "render/export/export.h"
#include "render/export/export_waits.h"

struct profile_function {
	uint32_t name; /* strings */
	uint32_t file;
};

/* A function, at a line, of a location. */
struct profile_line {
	uint32_t function;
	uint32_t line; /* 0: unknown */
};

/* An instruction address. */
struct profile_location {
	uint32_t mapping; /* 0: unknown */
	uint32_t first;	  /* in lines, innermost inlined function first */
	uint32_t n_lines; /* 0: the function has no name */
	bool kernel;
	uint64_t address; /* offset in the file; absolute for kernel and JIT; 0: unknown */
};

/* An object file: addresses are taken as if it began at address 0. */
struct profile_mapping {
	uint32_t dso; /* in model->dsos */
	uint32_t file;
	uint32_t build_id;
	uint64_t start; /* of its addresses */
	uint64_t limit;
};

/* Text: strings. Compared as bytes: it has no padding. */
struct profile_labels {
	uint32_t thread; /* in model->threads */
	uint32_t comm;	 /* what the thread was called then */
	uint32_t object; /* what is waited for; 0: none, or unknown */
	uint32_t waker;	 /* who ended the wait: "mysqld/4711", "timer"; 0: it is no wait */
	uint16_t class;	 /* enum wait_class */
	uint16_t kind;	 /* enum wait_kind */
	uint32_t idle;	 /* enum idle_reason */
};

struct profile_sample {
	uint32_t stack; /* as of profile_stack() */
	struct profile_labels labels;
};

struct profile_tables {
	const struct export *export;
	const struct model *model;
	struct intern strings; /* valid UTF-8; 0 is "" */
	struct intern stacks;  /* arrays of locations, innermost first; 0 is empty */
	struct intern samples; /* struct profile_sample, from 0 */
	ARRAY(uint64_t) ns;    /* by sample */
	ARRAY(struct profile_function) functions;
	ARRAY(struct profile_line) lines;
	ARRAY(struct profile_location) locations;
	ARRAY(struct profile_mapping) mappings; /* [1] is that of the program, if it is known */

	struct export_waits waits;
	struct callchain chain;
	struct map64 stack_index;    /* kernel, user and off_cpu -> stack */
	struct map64 location_index; /* location and first frame -> location */
	struct map64 function_index; /* name and file -> function */
	struct map64 mapping_index;  /* dso -> mapping */
	struct map64 string_index;   /* string of the model -> string */
	struct map64 object_index;   /* object of the model -> string */
	struct map64 cause_index;    /* who ended a wait, and what it was called then -> string */
	ARRAY(uint32_t) path;	     /* locations of a stack */
	struct buffer text;	     /* of strings */
	struct buffer waker;
};

/*
 * Sums all of @export, without idle waits if it is to be. The caller has zeroed @tables, and frees
 * them in any case. Returns 0 or -ENOMEM.
 */
int profile_tables__fill(struct profile_tables *tables, const struct export *export);
void profile_tables__free(struct profile_tables *tables);

/* The number of @text, with bytes that are not UTF-8 escaped; or -ENOMEM. */
int64_t profile_string(struct profile_tables *tables, const char *text);

/* The same for a word of ASCII, such as a key: faster. */
int64_t profile_word(struct profile_tables *tables, const char *word);

/* The *@n locations of @stack, innermost first. Valid until the next call. */
const uint32_t *profile_stack(struct profile_tables *tables, uint32_t stack, size_t *n);

/* Sample number @index. */
struct profile_sample profile_sample(const struct profile_tables *tables, size_t index);

/* The string of the program that the process of @thread executed last; else of what its first
 * thread is called. Or -ENOMEM. */
int64_t profile_process__name(struct profile_tables *tables, uint32_t thread);

/* When the recording began, in ns since 1970; 0: unknown. */
uint64_t profile_start(const struct model *model);
