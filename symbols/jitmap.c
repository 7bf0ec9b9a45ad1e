// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/jitmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "symbols/elf/elf_file.h"
#include "symbols/symbol_files.h"

#define MAX_MAP_SIZE (512 << 20)

/* "START SIZE NAME"; the name may contain spaces. */
static bool parse_entry(char *line, struct jitmap_entry *entry)
{
	uint64_t size;
	char *end;

	entry->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	entry->name = end + 1 + strspn(end + 1, " ");
	entry->end = entry->start + size;
	return entry->name[0] && entry->end > entry->start;
}

static int jitmap_parse(struct jitmap *jitmap)
{
	struct jitmap_entry entry;
	char *line = jitmap->text;

	for (char *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (parse_entry(line, &entry) && array__push(jitmap, entry))
			return -ENOMEM;
	}
	return jitmap->n < UINT32_MAX / 2 ? 0 : -EFBIG;
}

static uint32_t written_last(const void *context, uint32_t value)
{
	return value;
}

/* Cuts the entries into disjoint ranges: at each address the entry written last wins. */
static int jitmap_flatten(struct jitmap *jitmap)
{
	struct ranges entries = {};
	int err = 0;

	for (size_t i = 0; i < jitmap->n && !err; i++)
		err = ranges__add(&entries, jitmap->data[i].start, jitmap->data[i].end,
				  (uint32_t)i);
	ranges__seal(&entries);
	if (!err)
		err = ranges__flatten(&entries, written_last, NULL, &jitmap->ranges);
	ranges__seal(&jitmap->ranges);
	ranges__free(&entries);
	return err;
}

int jitmap__read_fd(struct jitmap *jitmap, int fd)
{
	size_t size;
	int err = file__read(fd, MAX_MAP_SIZE, &jitmap->text, &size);

	if (!err)
		err = jitmap_parse(jitmap);
	if (!err)
		err = jitmap_flatten(jitmap);
	if (err)
		jitmap__free(jitmap);
	return err;
}

int jitmap__read(struct jitmap *jitmap, const char *root, uint32_t pid, int64_t owner)
{
	const struct symbol_source source = {
		.kind = SYMBOL_SOURCE_JIT, .root = root, .pid = pid, .owner = owner};
	const struct symbol_file_request request = {.kind = SYMBOL_FILE_JIT_MAP};
	_cleanup_close_ int fd = symbol_file__open(&source, "", &request);

	return fd < 0 ? fd : jitmap__read_fd(jitmap, fd);
}

const char *jitmap__find(const struct jitmap *jitmap, uint64_t address)
{
	const struct range *range = ranges__find(&jitmap->ranges, address);

	return range ? jitmap->data[range->value].name : NULL;
}

void jitmap__free(struct jitmap *jitmap)
{
	free(jitmap->text);
	array__free(jitmap);
	ranges__free(&jitmap->ranges);
	*jitmap = (struct jitmap){};
}
