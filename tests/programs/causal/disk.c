/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/causal/disk.h"

#include "tests/programs/common/switch_log.h"

#define READS  32 /* of a round */
#define WRITES 4

struct disk disk;

struct target io_target = {.name = "io", .class = "io"};
struct target reads_target = {.name = "reads"};
struct target writes_target = {.name = "writes"};

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

/* Spreads the operations that reach the disk evenly over a round. */
static bool goes_to_disk(int i)
{
	int left = target__percent_left(&io_target);

	return (i + 1) * left / 100 > i * left / 100;
}

SEPARATE void reads(uint64_t turn)
{
	int n = target__part(&reads_target, READS);

	for (int i = 0; i < n; i++)
		if (goes_to_disk(i))
			read_block(turn * READS + i);
		else
			disk_as_fast_as_memory(disk.read.busy);
	NO_TAIL_CALL();
}

SEPARATE void writes(uint64_t turn)
{
	int n = target__part(&writes_target, WRITES);

	for (int i = 0; i < n; i++)
		if (goes_to_disk(i))
			write_block(turn * WRITES + i);
		else
			disk_as_fast_as_memory(disk.write.busy);
	NO_TAIL_CALL();
}

void disk__open(void)
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
static struct disk_cost measure_operation(void (*round)(uint64_t turn), int n)
{
	uint64_t wall[DISK_TRIES], busy[DISK_TRIES];
	struct switch_log log;

	switch_log__open_switches(&log);
	for (int i = 0; i < DISK_TRIES; i++) {
		struct thread_times before = thread_times__now(&log), after;

		round(i);
		after = thread_times__now(&log);
		wall[i] = (after.wall - before.wall) / n;
		busy[i] = (after.cpu - before.cpu) / n;
	}
	switch_log__close(&log);
	qsort(wall, DISK_TRIES, sizeof(wall[0]), compare_numbers);
	qsort(busy, DISK_TRIES, sizeof(busy[0]), compare_numbers);
	return (struct disk_cost){wall[DISK_TRIES / 2], busy[DISK_TRIES / 2]};
}

void disk__measure(void)
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

uint64_t disk__round_ns(void)
{
	if (!disk.read.wall)
		disk__measure();
	return READS * disk.read.wall + WRITES * disk.write.wall;
}
