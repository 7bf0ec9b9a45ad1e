/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Disk work: real reads and writes. The targets reads and writes leave out operations.
 *
 * The target io, a class, replaces operations by computing for as long as one keeps the thread
 * on a CPU, as measured: only the waiting is left out.
 */
#pragma once

#include "tests/programs/causal/run.h"
#include "tests/programs/common/disk_file.h"

struct disk_cost {
	uint64_t wall; /* ns of one operation */
	uint64_t busy; /* of these, on a CPU */
};

struct disk {
	struct disk_cost read, write; /* 0: not measured yet */
	int cpu;		      /* that takes the disk's interrupts */
	struct disk_file read_file, write_file;
	char *read_memory, *write_memory;
};

extern struct disk disk;
extern struct target io_target, reads_target, writes_target;

/* Creates the files, if they are not there yet. */
void disk__open(void);

/* Measures the costs, and which CPU takes the interrupts: the one with the fastest reads. */
void disk__measure(void);

/* ns of the reads and writes of one round; measures the costs when they are not known. */
uint64_t disk__round_ns(void);

/* The 32 reads of round @turn. */
void reads(uint64_t turn);

/* The 4 writes of round @turn. */
void writes(uint64_t turn);
