/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The disk work of causal.c: real reads and writes, of which some are left out when
 * the functions that do them are to be faster.
 *
 * With class io to be faster, the same share of them is replaced by computing for as long
 * as such an operation keeps the thread busy (on a CPU or in the run queue, as measured
 * when calibrating): then what is left out is the waiting alone.
 */
#pragma once

#include "causal_run.h"
#include "moments.h"

#define READS  32 /* of a round */
#define WRITES 4

struct disk_cost {
	uint64_t wall; /* ns of one operation */
	uint64_t busy; /* of it, not blocked */
};

static struct {
	struct disk_cost read, write;
	int cpu; /* that takes its interrupts */
	struct disk_file read_file, write_file;
	char *read_memory, *write_memory;
} disk;

static struct target io_target = {.name = "io", .class = "io"};
static struct target reads_target = {.name = "reads"};
static struct target writes_target = {.name = "writes"};

KEEP void read_block(uint64_t number)
{
	const size_t size = disk.read_file.block;

	if (pread(disk.read_file.fd, disk.read_memory, size, number * 8192 % disk.read_file.size) !=
	    (ssize_t)size)
		die("%s", disk.read_file.path);
	run->disk_reads++;
	NO_TAIL_CALL();
}

KEEP void write_block(uint64_t number)
{
	if (pwrite(disk.write_file.fd, disk.write_memory, 4096,
		   number * 4096 % disk.write_file.size) != 4096)
		die("%s", disk.write_file.path);
	NO_TAIL_CALL();
}

KEEP void disk_as_fast_as_memory(uint64_t busy_ns)
{
	BURN(busy_ns / options.ns_per_loop);
	NO_TAIL_CALL();
}

/* Spreads those that go to the disk evenly. */
HELPER bool goes_to_disk(int i)
{
	int left = percent_left(&io_target);

	return (i + 1) * left / 100 > i * left / 100;
}

KEEP void reads(uint64_t turn)
{
	int n = scaled(&reads_target, READS);

	for (int i = 0; i < n; i++)
		if (goes_to_disk(i))
			read_block(turn * READS + i);
		else
			disk_as_fast_as_memory(disk.read.busy);
	NO_TAIL_CALL();
}

KEEP void writes(uint64_t turn)
{
	int n = scaled(&writes_target, WRITES);

	for (int i = 0; i < n; i++)
		if (goes_to_disk(i))
			write_block(turn * WRITES + i);
		else
			disk_as_fast_as_memory(disk.write.busy);
	NO_TAIL_CALL();
}

HELPER void disk__open(void)
{
	if (disk.read_memory)
		return;
	disk_file__create(&disk.read_file, options.dir, "read", 4 << 20, 0);
	disk_file__create(&disk.write_file, options.dir, "write", 1 << 20, O_DSYNC);
	unlink(disk.read_file.path);
	unlink(disk.write_file.path);
	disk.read_memory = disk_buffer(4096);
	disk.write_memory = disk_buffer(4096);
}

#define DISK_TRIES 101

/* Medians over batches of @n operations. */
HELPER struct disk_cost measure_operation(void (*round)(uint64_t turn), int n)
{
	uint64_t wall[DISK_TRIES], busy[DISK_TRIES];
	struct watch watch;

	watch__open_switches(&watch);
	for (int i = 0; i < DISK_TRIES; i++) {
		struct moment before = moment__now(&watch), after;

		round(i);
		after = moment__now(&watch);
		wall[i] = (after.wall - before.wall) / n;
		busy[i] = (after.cpu - before.cpu) / n;
	}
	watch__close(&watch);
	qsort(wall, DISK_TRIES, sizeof(wall[0]), compare_numbers);
	qsort(busy, DISK_TRIES, sizeof(busy[0]), compare_numbers);
	return (struct disk_cost){wall[DISK_TRIES / 2], busy[DISK_TRIES / 2]};
}

/* Where reads are the fastest, there the interrupts come. */
HELPER void disk__measure(void)
{
	cpu_set_t allowed;

	disk__open();
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		struct disk_cost cost;

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		stay_on(cpu);
		cost = measure_operation(reads, READS);
		if (disk.read.wall && cost.wall > disk.read.wall)
			continue;
		disk.read = cost;
		disk.write = measure_operation(writes, WRITES);
		disk.cpu = cpu;
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

HELPER uint64_t disk_round_ns(void)
{
	if (!disk.read.wall)
		disk__measure();
	return READS * disk.read.wall + WRITES * disk.write.wall;
}

HELPER int another_cpu(int cpu)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int other = 0; other < CPU_SETSIZE; other++)
		if (other != cpu && CPU_ISSET(other, &allowed))
			return other;
	return cpu;
}
