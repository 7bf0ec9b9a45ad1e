// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, as an answer of a parser, a process that may have been taken over, and as a batch that
 * a namer gets: what is accepted keeps the promises of privsep/unwind_request.h, code_answer.h,
 * debug_path.h, parser.h and names_wire.h. (Requests to parsers: fuzz_requests.c.)
 */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "privsep/code_answer.h"
#include "privsep/debug_path.h"
#include "privsep/names_wire.h"
#include "privsep/parser.h"
#include "privsep/unwind_request.h"
#include "symbols/symbol_files.h"

#define MAX_ROWS  4096
#define FILE_SIZE 5000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_table(struct cursor cursor)
{
	struct unwind_answer answer;

	if (unwind_answer__decode(&cursor, MAX_ROWS, &answer))
		return;
	check(answer.n_rows && answer.n_rows <= MAX_ROWS);
	check(answer.n_segments && answer.n_segments <= UNWIND_MAX_SEGMENTS);
	for (size_t i = 0; i < answer.n_segments; i++) {
		const struct unwind_segment *segment = &answer.segments[i];
		uint64_t address = segment->offset + (uint64_t)segment->bias;

		check(segment->size && address <= UINT32_MAX);
		check(segment->size <= UINT32_MAX - address);
	}
}

static void check_rows(const uint8_t *data, size_t size)
{
	size_t n = size / sizeof(struct unwind_row);
	struct unwind_row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return;
	memcpy(rows, data, n * sizeof(*rows));
	if (unwind_answer__is_valid(rows, n))
		for (size_t i = 0; i < n; i++)
			check(unwind_rows__find(rows, n, rows[i].pc) == &rows[i]);
	free(rows);
}

static void check_build_id(struct cursor cursor)
{
	char hex[41];

	if (!parser_answer__build_id(&cursor, hex, sizeof(hex)))
		check(*hex && strlen(hex) == strspn(hex, "0123456789abcdef"));
}

static void check_names(struct cursor cursor)
{
	struct strings strings = {};
	struct names_reader reader = {.cursor = cursor, .strings = &strings};
	struct symbol_frame frames[NAMES_MAX_FRAMES];
	size_t n;

	while ((n = names_reader__frames(&reader, frames))) {
		check(n <= NAMES_MAX_FRAMES && !reader.cursor.bad);
		for (size_t i = 0; i < n; i++) {
			check(strlen(frames[i].name) <= NAMES_MAX_STRING);
			check(!frames[i].file || strlen(frames[i].file) <= NAMES_MAX_STRING);
		}
	}
	names_reader__free(&reader);
	strings__free(&strings);
}

static void check_source(const struct symbol_source *a, const struct symbol_source *b)
{
	check(a->kind == b->kind && !strcmp(a->path, b->path));
	check(!a->root == !b->root && (!a->root || !strcmp(a->root, b->root)));
	check(!strcmp(a->build_id, b->build_id) && (a->fd < 0) == (b->fd < 0));
	check(a->pid == b->pid && a->resolved == b->resolved && a->owner == -1);
}

/* A batch that is accepted is the same when it is sent again. */
static void check_batch(struct cursor cursor)
{
	static struct unnamed_address addresses[2][NAMES_BATCH_ADDRESSES];
	static struct names_source sources[2];
	struct buffer again = {};
	size_t n;

	names_wire__source(&cursor, &sources[0]);
	n = names_wire__addresses(&cursor, addresses[0]);
	check(n <= NAMES_BATCH_ADDRESSES);
	if (cursor.bad)
		return;
	names_wire__put_source(&again, &sources[0].source);
	names_wire__put_addresses(&again, addresses[0], n);
	cursor = (struct cursor){.at = again.data, .end = again.data + again.n};
	names_wire__source(&cursor, &sources[1]);
	check(names_wire__addresses(&cursor, addresses[1]) == n);
	check(!cursor.bad && !cursor__left(&cursor));
	check_source(&sources[0].source, &sources[1].source);
	for (size_t i = 0; i < n; i++)
		check(addresses[0][i].address == addresses[1][i].address &&
		      addresses[0][i].data == addresses[1][i].data);
	buffer__free(&again);
}

/* A namer that asks for a file gets one of the debug directory, or beside the program. */
static void check_path(struct cursor cursor)
{
	const struct symbol_source source = {.path = "/opt/app/program"};
	char name[PATH_MAX], path[PATH_MAX];
	struct symbol_file_request request = {.kind = wire__number(&cursor, SYMBOL_FILE_KINDS - 1),
					      .name = name};

	wire__string(&cursor, name, sizeof(name));
	if (cursor.bad || request.kind == SYMBOL_FILE_PROGRAM ||
	    symbol_file__path(&source, "/usr/lib/debug", &request, path, sizeof(path)))
		return;
	check(!strncmp(path, "/usr/lib/debug/", 15) || !strncmp(path, "/opt/app/", 9));
	check(!strstr(path, "/../") &&
	      (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..")));
}

static void check_ranges(struct cursor cursor)
{
	struct strings strings = {};
	struct code_ranges ranges = {};
	struct code_place place;

	if (!code_answer__ranges(&cursor, &strings, &ranges, &place)) {
		check(place.function);
		for (size_t i = 0; i < ranges.ranges.n; i++) {
			check(ranges.ranges.data[i].end > ranges.ranges.data[i].start);
			check(!i || ranges.ranges.data[i].start > ranges.ranges.data[i - 1].end);
		}
	}
	code_ranges__free(&ranges);
	strings__free(&strings);
}

static void check_entries(struct cursor cursor)
{
	struct code_entries entries = {};

	if (!code_answer__entries(&cursor, FILE_SIZE, &entries))
		for (size_t i = 0; i < entries.entries.n; i++) {
			const struct code_entry *entry = &entries.entries.data[i];

			check(entry->offset + entry->skip < FILE_SIZE);
			check(entry->semaphore < FILE_SIZE);
		}
	array__free(&entries.entries);
}

static void check_functions(struct cursor cursor)
{
	struct found_functions found = {};
	struct strings strings = {};

	if (!code_answer__functions(&cursor, &strings, FILE_SIZE, &found))
		for (size_t i = 0; i < found.functions.n; i++) {
			const struct found_function *function = &found.functions.data[i];

			check(function->name && function->entry < FILE_SIZE);
			check(!function->return_probe || !function->exits.n);
			for (size_t j = 0; j < function->exits.n; j++)
				check(function->exits.data[j].offset < FILE_SIZE &&
				      function->exits.data[j].condition < 32);
		}
	found_functions__free(&found);
	strings__free(&strings);
}

static void check_code_names(struct cursor cursor)
{
	struct strings strings = {};
	struct code_place places[3];
	struct code_names names;
	struct cursor same = cursor;

	if (!code_answer__names(&cursor, &strings, 3, &names)) {
		check(names.n <= 3);
		for (size_t i = 0; i < names.n; i++)
			check(names.names[i] && strlen(names.names[i]) < CODE_MAX_TEXT);
	}
	if (!code_answer__places(&same, &strings, places, 3))
		for (size_t i = 0; i < 3; i++)
			check(places[i].function != NULL);
	strings__free(&strings);
}

static void check_debug_path(const uint8_t *data, size_t size)
{
	char path[PATH_MAX] = "", clean[PATH_MAX];

	memcpy(path, data, size < PATH_MAX ? size : PATH_MAX - 1);
	if (!debug_path__is_allowed("/home/u/app", path, clean))
		return;
	check(clean[0] == '/' && !strstr(clean, "/../") && !strstr(clean, "//"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cursor cursor = {.at = data, .end = data + size};

	check_table(cursor);
	check_build_id(cursor);
	check_rows(data, size);
	check_names(cursor);
	check_batch(cursor);
	check_path(cursor);
	check_ranges(cursor);
	check_entries(cursor);
	check_functions(cursor);
	check_code_names(cursor);
	check_debug_path(data, size);
	return 0;
}
