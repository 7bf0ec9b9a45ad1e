/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of loading a recording; internal to model/. */
#pragma once

#include "model/model.h"

/* A stack as recorded: addresses that are not located yet. */
struct raw_stack {
	size_t first; /* in raw_frames */
	uint16_t depth;
	uint8_t kernel;
	uint8_t end;
};

/* Maps numbers of the recording to indices in the model; 0: not defined yet. */
struct number_map {
	uint32_t *data;
	size_t n;
	size_t capacity;
};

static inline uint32_t number_map__get(const struct number_map *numbers, uint32_t number)
{
	return number < numbers->n ? numbers->data[number] : 0;
}

/* The symbols of an address that are embedded in the recording. */
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
	struct number_map strings;
	struct number_map threads;
	struct number_map dsos;
	struct number_map objects;
	struct number_map devices;
	struct number_map stacks;
	ARRAY(struct raw_stack) raw_stacks; /* [0]: no stack */
	ARRAY(uint64_t) raw_frames;
	ARRAY(struct record_map) maps; /* with dso as an index in the model */
	ARRAY(struct embedded) embedded;
	struct map64 embedded_by_address;
	struct map64 latest_process; /* pid -> its latest process */
	struct map64 seen;	     /* for model_options.distinct_stacks */
	uint64_t records;
	uint64_t first_time; /* the lowest and highest time of all records */
	uint64_t last_time;
};

/*
 * Adds @record to the model. Types that are not known are skipped. -EINVAL: it refers to what the
 * recording does not have, and was left out; -ENOMEM.
 */
int loader__add(struct loader *loader, const struct record *record);

/* Such records, for loader__add(). */
int loader__span(struct loader *loader, const struct record *record);
int loader__call(struct loader *loader, const struct record *record);
int loader__short_calls(struct loader *loader, const struct record *record);
int loader__probe(struct loader *loader, const struct record *record);
int loader__scan(struct loader *loader, const struct record *record);

/* The model's string of number @number in the recording; 0: none. */
uint32_t loader__string(const struct loader *loader, uint32_t number);

/*
 * The indices of thread and raw stack @number, added if they are new (a stack's frames may come
 * later); 0: none, or no memory.
 */
uint32_t loader__thread(struct loader *loader, uint32_t number);
uint32_t loader__raw_stack(struct loader *loader, uint32_t number);

/* The recording has something in [@from, @until]. */
void loader__extend(struct loader *loader, uint64_t from, uint64_t until);

/* The embedded symbols of @address, or NULL. */
struct embedded *loader__embedded(struct loader *loader, uint32_t dso, uint64_t address);

/* Sorts the timelines of all threads, and links wakes to intervals. 0 or -ENOMEM. */
int loader__timelines(struct loader *loader);

/* Sets the calibration factors of all threads; after loader__timelines(). 0 or -ENOMEM. */
int loader__calibrate(struct loader *loader);

/* Assigns threads to processes, and builds their mappings over time. 0 or -ENOMEM. */
int loader__processes(struct loader *loader);

/* Replaces raw stacks by located ones in all samples, intervals, wakes and idles. 0 or -ENOMEM. */
int loader__locate(struct loader *loader);
