/* SPDX-License-Identifier: BSD-2-Clause */
/* What model/ keeps only while it loads; for model/ alone. */
#pragma once

#include "model/model.h"

/* A stack as recorded: addresses. */
struct raw_stack {
	size_t first; /* in raw_frames */
	uint16_t depth;
	uint8_t kernel;
	uint8_t end;
};

/* The recording's numbers to indices of ours; 0 where none was given yet. */
struct numbers {
	uint32_t *data;
	size_t n;
	size_t capacity;
};

/* Names of an address out of the recording. */
struct embedded {
	uint32_t dso;
	uint32_t frame;
	uint64_t address;
	uint16_t n_frames;
	bool complete;
};

struct loader {
	struct model *model;
	const struct model_options *options;
	struct numbers strings;
	struct numbers threads;
	struct numbers dsos;
	struct numbers objects;
	struct numbers devices;
	struct numbers stacks;
	ARRAY(struct raw_stack) raw_stacks; /* [0]: no stack */
	ARRAY(uint64_t) raw_frames;
	ARRAY(struct record_map) maps; /* pid, and an index in dso */
	ARRAY(struct embedded) embedded;
	struct map64 embedded_by_address;
	struct map64 latest_life; /* pid -> process */
	struct map64 seen;	  /* for model_options.distinct_stacks */
	uint64_t records;
	uint64_t first_time; /* the lowest and the highest seen */
	uint64_t last_time;
};

/* The entry of @address in the recording's symbols, or NULL. */
struct embedded *loader__embedded(struct loader *loader, uint32_t dso, uint64_t address);

/* Sorts every thread's timeline, and joins wakes into intervals. */
int loader__timelines(struct loader *loader);

/* Threads into processes, mappings into their timelines. */
int loader__processes(struct loader *loader);

/* Replaces raw stacks by located ones, in every sample, interval and wake. */
int loader__locate(struct loader *loader);
