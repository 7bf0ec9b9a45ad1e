/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory in which the kernel side finds the mappings of processes (struct unwind_mapping): runs
 * of it, each of one process, are allocated here. A run that was given back is used again only
 * after the second publish from then: a walk that has begun may still read it, and so may a process
 * that was forked since.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind.h"
#include "base/array.h"

/* Sizes of runs: powers of two, from 2^0 to 2^17 mappings. */
#define MAPPING_POOL_CLASSES 18

/* 2^class mappings from first on. */
struct pool_run {
	uint32_t first;
	uint32_t class;
};

struct mapping_pool {
	struct unwind_mapping *mappings; /* UNWIND_MAX_MAPPINGS */
	uint32_t used;
	ARRAY(uint32_t) free_runs[MAPPING_POOL_CLASSES];
	ARRAY(struct pool_run) retired; /* free at the second publish from then */
	size_t retired_before;		/* of these: retired before the last publish */
};

/* Maps the kernel side's map @fd. 0 or a negative errno. */
int mapping_pool__init(struct mapping_pool *pool, int fd);

/* A run for @n mappings. False: the pool is full. */
bool mapping_pool__take(struct mapping_pool *pool, size_t n, struct pool_run *run);

void mapping_pool__give_back(struct mapping_pool *pool, struct pool_run run);

/* At each publish: what was given back before the last one can be taken. */
void mapping_pool__recycle(struct mapping_pool *pool);

void mapping_pool__free(struct mapping_pool *pool);
