/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks by content, for tests and benchmarks: a recording is given them by hash. */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

/* The number of @stack; equal stacks get the same one. */
static inline uint32_t put_stack(struct recording_writer *writer, const struct record_stack *stack)
{
	uint64_t hash = hash__add(stack->kernel, stack->end);

	for (uint32_t i = 0; i < stack->depth; i++)
		hash = hash__add(hash, stack->frames[i]);
	hash |= 1ULL << 63; /* not one that a test chose itself */
	record_stream__stack_frames(recording_writer__stream(writer), hash, stack);
	return record_stream__stack_by_hash(recording_writer__stream(writer), hash);
}
