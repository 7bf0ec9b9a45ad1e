/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU time of some processes together. */
#pragma once

#include <stdint.h>

#include "base/array.h"

struct process_time {
	uint32_t pid;
	uint64_t cpu_ns; /* when it was last read */
};

struct process_times {
	ARRAY(struct process_time) processes;
};

/* Counts process @pid from now on, in place of an earlier one with that pid. */
void process_times__add(struct process_times *times, uint32_t pid);

/* Their CPU time since the last call, ns. What a process used before it ended may be missing. */
uint64_t process_times__take(struct process_times *times);

void process_times__free(struct process_times *times);
