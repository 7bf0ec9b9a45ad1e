// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, as the map of a JIT compiler: what is read keeps the promises of jitmap.h, and every
 * address has the name that a search of all lines finds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/jitmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static __attribute__((noinline)) void check(bool condition)
{
	if (!condition)
		abort();
}

/* Of the entries that contain @address, the one written last. */
static const char *search(const struct jitmap *jitmap, uint64_t address)
{
	for (size_t i = jitmap->n; i-- > 0;)
		if (address >= jitmap->data[i].start && address < jitmap->data[i].end)
			return jitmap->data[i].name;
	return NULL;
}

static void check_address(const struct jitmap *jitmap, uint64_t address)
{
	check(jitmap__find(jitmap, address) == search(jitmap, address));
}

static void check_entries(const struct jitmap *jitmap, size_t size)
{
	for (size_t i = 0; i < jitmap->n; i++) {
		const struct jitmap_entry *entry = &jitmap->data[i];

		check(entry->start < entry->end);
		check(entry->name > jitmap->text && entry->name < jitmap->text + size);
		check(*entry->name && *entry->name != ' ' && !strchr(entry->name, '\n'));
		check(!i || entry->name > jitmap->data[i - 1].name);
		check_address(jitmap, entry->start - 1);
		check_address(jitmap, entry->start);
		check_address(jitmap, entry->end - 1);
		check_address(jitmap, entry->end);
	}
}

static void check_ranges(const struct jitmap *jitmap)
{
	const struct ranges *ranges = &jitmap->ranges;

	check((ranges->n > 0) == (jitmap->n > 0));
	for (size_t i = 0; i < ranges->n; i++) {
		const struct range *range = &ranges->data[i];
		const struct jitmap_entry *entry = &jitmap->data[range->value];

		check(range->start < range->end && range->value < jitmap->n);
		check(range->start >= entry->start && range->end <= entry->end);
		check(!i || range->start >= ranges->data[i - 1].end);
		check_address(jitmap, range->start);
		check_address(jitmap, range->end - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct jitmap jitmap = {};

	if (fd < 0)
		fd = memfd_create("map", MFD_CLOEXEC);
	check(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	check(!lseek(fd, 0, SEEK_SET) && !jitmap__read_fd(&jitmap, fd));
	check_entries(&jitmap, size);
	check_ranges(&jitmap);
	jitmap__free(&jitmap);
	check(!jitmap__find(&jitmap, 0));
	return 0;
}
