// SPDX-License-Identifier: BSD-2-Clause
#include "collect/stacks/mapping_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t pool_bytes(void)
{
	return UNWIND_MAX_MAPPINGS * sizeof(struct unwind_mapping);
}

int mapping_pool__init(struct mapping_pool *pool, int fd)
{
	void *memory = mmap(NULL, pool_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*pool = (struct mapping_pool){.mappings = memory};
	return 0;
}

static unsigned int class_of(size_t n)
{
	unsigned int class = 0;

	while ((1UL << class) < n)
		class ++;
	return class;
}

bool mapping_pool__take(struct mapping_pool *pool, size_t n, struct pool_run *run)
{
	unsigned int class = class_of(n);
	uint32_t size;

	if (class >= MAPPING_POOL_CLASSES)
		return false;
	size = 1U << class;
	run->class = class;
	if (pool->free_runs[class].n) {
		run->first = pool->free_runs[class].data[--pool->free_runs[class].n];
		return true;
	}
	if (size > UNWIND_MAX_MAPPINGS - pool->used)
		return false;
	run->first = pool->used;
	pool->used += size;
	return true;
}

void mapping_pool__give_back(struct mapping_pool *pool, struct pool_run run)
{
	(void)array__push(&pool->retired, run);
}

void mapping_pool__recycle(struct mapping_pool *pool)
{
	size_t old = pool->retired_before;

	for (size_t i = 0; i < old; i++)
		if (array__push(&pool->free_runs[pool->retired.data[i].class],
				pool->retired.data[i].first))
			break; /* out of memory: these runs are not used again */
	if (old)
		memmove(pool->retired.data, pool->retired.data + old,
			(pool->retired.n - old) * sizeof(*pool->retired.data));
	pool->retired.n -= old;
	pool->retired_before = pool->retired.n;
}

void mapping_pool__free(struct mapping_pool *pool)
{
	if (pool->mappings)
		munmap(pool->mappings, pool_bytes());
	for (size_t i = 0; i < MAPPING_POOL_CLASSES; i++)
		array__free(&pool->free_runs[i]);
	array__free(&pool->retired);
}
