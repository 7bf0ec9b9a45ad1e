// SPDX-License-Identifier: BSD-2-Clause
/* Finding the code of a source line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/code/code_unit.h"
#include "symbols/dwarf/source_path.h"

bool code_file_query__match(const struct code_file_query *lines, const char *file)
{
	return file && source_path__ends(file, lines->path);
}

/* Whether the line header has a matching file. Compares the last component first, to be fast. */
static bool header_has_file(const struct line_header *header, const char *directory,
			    struct code_file_query *lines, struct strings *strings)
{
	const char *last = strrchr(lines->path, '/');
	char path[2 * MAX_CODE_PATH];

	last = last ? last + 1 : lines->path;
	for (size_t i = 0; i < header->files.n; i++) {
		const struct line_file *file = &header->files.data[i];

		if (!file->name || !source_path__ends(file->name, last) ||
		    !line_file__path(file, directory, path, sizeof(path)) ||
		    !code_file_query__match(lines, path))
			continue;
		if (!lines->first_match)
			lines->first_match = strings__intern(strings, path);
		return true;
	}
	return false;
}

bool code_headers__next(struct code_headers *headers)
{
	const struct line_sections *sections;

	if (!headers->code->info)
		return false;
	sections = &headers->code->info->context.lines;
	if (!headers->next)
		headers->bytes_left = 4 * sections->line.size;
	while (headers->next < headers->code->info->units.n) {
		uint64_t offset;

		headers->unit = headers->next++;
		if (!dwarf_unit__line_offset(&headers->code->info->units.data[headers->unit],
					     &offset, &headers->directory) ||
		    line_header__read(sections, offset, &headers->header))
			continue;
		if (headers->header.size > headers->bytes_left)
			return false;
		headers->bytes_left -= headers->header.size;
		return true;
	}
	return false;
}

int code__find_file(struct code *code, const char *file, struct code_file_query *lines)
{
	struct code_headers headers = {.code = code};
	int err = 0;

	if (!code->info || !code->info->units.n)
		return -ENODATA;
	if (snprintf(lines->path, sizeof(lines->path), "%s", file) >= (int)sizeof(lines->path))
		return -ENOENT;
	source_path__normalize(lines->path);
	while (!err && code_headers__next(&headers)) {
		if (!header_has_file(&headers.header, headers.directory, lines,
				     &code->context.strings))
			continue;
		code__load(code, &code->units[headers.unit]);
		err = array__push(&lines->units, (uint32_t)headers.unit);
	}
	line_header__free(&headers.header);
	return err ? err : lines->units.n ? 0 : -ENOENT;
}

void code_file_query__free(struct code_file_query *lines)
{
	array__free(&lines->units);
}

int code_files__add(struct code_files *files, const char *file)
{
	/* The number does not matter above 1, and comparing with all would be slow. */
	if (files->list.n == 64)
		return 0;
	for (size_t i = files->list.n; i-- > 0;)
		if (files->list.data[i] == file)
			return 0;
	return array__push(&files->list, file);
}

int code_files__choose(const struct code_files *files, const struct code_file_query *lines,
		       const char **file)
{
	for (size_t i = 0; i < files->list.n; i++) {
		*file = files->list.data[i];
		if (!strcmp(*file, lines->path))
			return 0;
	}
	return !files->list.n ? -ENOENT : files->list.n > 1 ? -ENOTUNIQ : 0;
}

/* A segment at the line, in one of the matching files. */
struct hit {
	struct code_range range;
	const char *file;
	uint32_t unit;
	uint32_t node;
};

struct hits {
	ARRAY(struct hit) list;
	struct code_files files; /* all matching files with code in scope */
};

static int hits_find(struct hits *hits, struct code *code, const struct code_file_query *lines,
		     uint32_t line)
{
	for (size_t i = 0; i < lines->units.n; i++) {
		const struct code_unit *unit = &code->units[lines->units.data[i]];
		const char *last = NULL;
		bool matches = false;

		for (size_t j = 0; j < unit->segments.n; j++) {
			const struct code_segment *segment = &unit->segments.data[j];
			struct code_frame frame = code__attribute(code, unit, segment);
			struct hit hit = {.range = {segment->start, segment->end},
					  .file = frame.file,
					  .unit = lines->units.data[i],
					  .node = frame.node};

			if (frame.file != last)
				matches = code_file_query__match(lines, frame.file);
			last = frame.file;
			if (!matches || !frame.in_scope)
				continue;
			if (code_files__add(&hits->files, frame.file) ||
			    (frame.line == line && array__push(&hits->list, hit)))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Adds the hits in @file to @ranges and sets @place to the first. */
static int hits_report(const struct hits *hits, struct code *code, const char *file, uint32_t line,
		       struct code_ranges *ranges, struct code_place *place)
{
	int err = 0;

	for (size_t i = 0; i < hits->list.n && !err; i++) {
		const struct hit *hit = &hits->list.data[i];

		if (hit->file != file)
			continue;
		if (place && !ranges->ranges.n)
			*place = (struct code_place){
				.file = file,
				.line = line,
				.function = code__node_name(code, &code->units[hit->unit],
							    hit->node, hit->range.start),
				.in_scope = true,
			};
		err = code_ranges__add(ranges, hit->range.start, hit->range.end);
	}
	code_ranges__seal(ranges);
	return err ? err : ranges->ranges.n ? 0 : -ENOENT;
}

int code__line(struct code *code, const char *file, uint32_t line, struct code_ranges *ranges,
	       struct code_place *place)
{
	struct code_file_query lines = {};
	struct hits hits = {};
	const char *full = NULL;
	int err;

	ranges->ranges.n = 0;
	if (place)
		*place = (struct code_place){.function = ""};
	err = line ? code__find_file(code, file, &lines) : -ENOENT;
	if (!err)
		err = hits_find(&hits, code, &lines, line);
	if (!err)
		err = code_files__choose(&hits.files, &lines, &full);
	if (!err)
		err = hits_report(&hits, code, full, line, ranges, place);
	if (err == -ENOENT && place) {
		place->file = full ? full : lines.first_match;
		place->in_scope = place->file && code__file_in_scope(code, place->file);
	}
	array__free(&hits.list);
	array__free(&hits.files.list);
	code_file_query__free(&lines);
	return err;
}
