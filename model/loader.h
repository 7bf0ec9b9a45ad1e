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
	bool provisional; /* by RECORD_FUNCTION: its frame is alone, until RECORD_SYMBOL comes */
};

struct model_loader {
	struct model *model;
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
	struct map64 dsos_by_hash;    /* of what identifies them -> index in the model */
	struct map64 objects_by_hash; /* likewise */
	struct map64 latest_process;  /* pid -> its latest process */
	uint64_t records;
	uint64_t first_time; /* the lowest and highest time of all records */
	uint64_t last_time;
};

/*
 * Adds @record to the model. Types that are not known are skipped. -EINVAL: it refers to what the
 * recording does not have, and was left out; -ENOMEM.
 */
int model_loader__add(struct model_loader *loader, const struct record *record);

/* Such records, for model_loader__add(). */
int model_loader__span(struct model_loader *loader, const struct record *record);
int model_loader__call(struct model_loader *loader, const struct record *record);
int model_loader__short_calls(struct model_loader *loader, const struct record *record);
int model_loader__probe(struct model_loader *loader, const struct record *record);
int model_loader__scan(struct model_loader *loader, const struct record *record);

/* The same of what TCP held back (model/segments.c). */
int model_loader__segment(struct model_loader *loader, const struct record *record);

/* Links the segments of @thread to intervals. Both are sorted by time. */
void model_loader__join_segments(struct model_thread *thread);

/* The model's string of number @number in the recording; 0: none. */
uint32_t model_loader__string(const struct model_loader *loader, uint32_t number);

/*
 * The indices of thread and raw stack @number, added if they are new (a stack's frames may come
 * later); 0: none, or no memory.
 */
uint32_t model_loader__thread(struct model_loader *loader, uint32_t number);
uint32_t model_loader__raw_stack(struct model_loader *loader, uint32_t number);

/*
 * The index of the DSO or object that is the same as the given one, which is added if there is
 * none; 0: no memory. The number of a DSO does not matter.
 */
uint32_t model_loader__merge_dso(struct model_loader *loader, const struct model_dso *dso);
uint32_t model_loader__merge_object(struct model_loader *loader, const struct model_object *object);

/* The recording has something in [@from, @until]. */
void model_loader__extend(struct model_loader *loader, uint64_t from, uint64_t until);

/* The embedded symbols of @address, or NULL. */
struct embedded *model_loader__embedded(struct model_loader *loader, uint32_t dso,
					uint64_t address);

/* Sorts the timelines of all threads, and links wakes to intervals. 0 or -ENOMEM. */
int model_loader__timelines(struct model_loader *loader);

/* Sets the variances of @thread; after model_loader__timelines(), once. */
void model_loader__sum_variances(struct model_thread *thread);

/* Sets calibration factors and variances; after model_loader__timelines(). 0 or -ENOMEM. */
int model_loader__calibrate(struct model_loader *loader);

/* Assigns threads to processes, and builds their mappings over time. 0 or -ENOMEM. */
int model_loader__processes(struct model_loader *loader);

/*
 * Adds the spans that annotations mark, and sorts all; after model_loader__processes(). 0 or
 * -ENOMEM.
 */
int model_loader__spans(struct model_loader *loader);

/* Replaces raw stacks by located ones in all samples, intervals, wakes and idles. 0 or -ENOMEM. */
int model_loader__locate(struct model_loader *loader);
