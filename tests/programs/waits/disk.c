/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for the disk. */
#include "tests/programs/waits/kinds.h"

#include <sys/mman.h>

const char *waits_dir = "/var/tmp";

static void prepare_file(struct wait_slot *slot)
{
	disk_file__create(&slot->file, waits_dir, slot->kind->name, 4 << 20, 0);
	slot->memory = disk_buffer(64 << 10);
	snprintf(slot->object, sizeof(slot->object), "%s", slot->file.path);
}

static void prepare_synced_file(struct wait_slot *slot)
{
	disk_file__create(&slot->file, waits_dir, slot->kind->name, 1 << 20, O_DSYNC);
	slot->memory = disk_buffer(4096);
	snprintf(slot->object, sizeof(slot->object), "%s", slot->file.path);
}

void prepare_cached_file(struct wait_slot *slot)
{
	prepare_file(slot);
	slot->fd = open(slot->file.path, O_RDWR | O_CLOEXEC);
	if (slot->fd < 0)
		die("%s", slot->file.path);
}

void finish_file(struct wait_slot *slot)
{
	disk_file__remove(&slot->file);
}

static void wait_pread(struct wait_slot *slot)
{
	off_t offset = slot->turn++ * 4096 % slot->file.size;

	if (pread(slot->file.fd, slot->memory, 4096, offset) != 4096)
		die("%s", slot->file.path);
}

static void wait_pwrite(struct wait_slot *slot)
{
	off_t offset = slot->turn++ * 4096 % slot->file.size;

	if (pwrite(slot->file.fd, slot->memory, 4096, offset) != 4096)
		die("%s", slot->file.path);
}

static void wait_fsync(struct wait_slot *slot)
{
	off_t offset = slot->turn++ * 4096 % slot->file.size;

	if (pwrite(slot->fd, slot->memory, 4096, offset) != 4096 || fsync(slot->fd))
		die("%s", slot->file.path);
}

/* Reads every page of a new mapping of a file that is not in the page cache. */
static void wait_page_fault(struct wait_slot *slot)
{
	const size_t size = 256 << 10;
	volatile char *memory;

	posix_fadvise(slot->fd, 0, 0, POSIX_FADV_DONTNEED);
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, slot->fd, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	madvise((void *)memory, size, MADV_RANDOM);
	for (size_t i = 0; i < size; i += 4096)
		(void)memory[i];
	munmap((void *)memory, size);
}

/* Two threads append to one file by direct writes, which hold the inode's lock. */
static void append_block(struct wait_slot *slot)
{
	uint64_t turn = __atomic_fetch_add(&slot->turn, 1, __ATOMIC_RELAXED) % 256;

	if (turn == 255 && ftruncate(slot->file.fd, 0))
		die("%s", slot->file.path);
	if (pwrite(slot->file.fd, slot->memory, 64 << 10, turn * (64 << 10)) < 0)
		die("%s", slot->file.path);
}

static void *run_appender(void *arg)
{
	struct wait_slot *slot = arg;

	set_name("helper");
	while (!__atomic_load_n(&slot->finished, __ATOMIC_ACQUIRE))
		append_block(slot);
	return NULL;
}

static void prepare_append(struct wait_slot *slot)
{
	prepare_file(slot);
	start_thread(run_appender, slot);
}

const struct wait_kind disk_waits[] = {
	{"pread", "io", prepare_file, wait_pread, NULL, finish_file},
	{"pwrite", "io|other", prepare_synced_file, wait_pwrite, NULL, finish_file},
	{"fsync", "io|other", prepare_cached_file, wait_fsync, NULL, finish_file},
	{"page_fault", "io", prepare_cached_file, wait_page_fault, NULL, finish_file},
	{"append", "lock|io", prepare_append, append_block, NULL, finish_file},
	{},
};
