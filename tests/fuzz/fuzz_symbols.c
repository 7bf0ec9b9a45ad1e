// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, as a program and its debug file: what the processes that read them
 * (privsep/namer_process.c and code_process.c) are asked. What comes back keeps the promises of
 * symbols/symbols.h, symbols/code/code.h and symbols/elf/usdt.h, and is sent as it is.
 *
 * The first byte is the sum of enum flags. The next two are the size of the debug file, which is
 * at the end.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "privsep/code_answer.h"
#include "privsep/names_wire.h"
#include "privsep/parser_tasks.h"
#include "privsep/parser_wire.h"
#include "symbols/code/code.h"
#include "symbols/code/function_probes.h"
#include "symbols/elf/usdt.h"
#include "symbols/symbol_files.h"

#define ADDRESSES 48
#define FUNCTIONS 8 /* that are asked for their probes */
#define HEADER	  3

enum flags {
	WITHOUT_LINES = 1,
	RESOLVED = 2,
	ONLY_DEBUG_FILE = 4, /* the program is not there */
	SCOPED = 8,
};

struct input {
	uint8_t flags;
	int program;
	int debug; /* -1: none */
	size_t size;
	struct unnamed_address offsets[ADDRESSES]; /* in the file */
	uint64_t linked[ADDRESSES];
	size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static __attribute__((noinline)) void check(bool condition)
{
	if (!condition)
		abort();
}

/* The file @fd (-1: none yet) with @size bytes. */
static int file_of(int fd, const uint8_t *bytes, size_t size)
{
	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	check(!ftruncate(fd, 0) && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	return fd;
}

static void add_address(struct input *input, const struct unnamed_address *offset, uint64_t linked)
{
	if (input->n == ADDRESSES)
		return;
	input->offsets[input->n] = *offset;
	input->linked[input->n++] = linked;
}

/*
 * Addresses all over a segment, and at its ends. Those of data are where it would be if the code,
 * which is linked at its offset in the seeds, were mapped as the whole file.
 */
static void add_segment(struct input *input, const Elf64_Phdr *segment)
{
	const bool data = !(segment->p_flags & PF_X);
	const unsigned int n = data ? 8 : 24;

	for (unsigned int i = 0; i <= n; i++) {
		const uint64_t step = segment->p_memsz / n * i;
		const struct unnamed_address offset = {
			.address = (data ? segment->p_vaddr : segment->p_offset) + step,
			.data = data,
		};

		add_address(input, &offset, segment->p_vaddr + step);
	}
}

static void choose_addresses(struct input *input, const uint8_t *bytes)
{
	Elf64_Phdr segment;
	Elf64_Ehdr header;
	size_t at;

	add_address(input, &(struct unnamed_address){}, 0);
	add_address(input, &(struct unnamed_address){UINT64_MAX, true}, UINT64_MAX);
	if (input->size < sizeof(header))
		return;
	memcpy(&header, bytes, sizeof(header));
	at = header.e_phoff;
	for (unsigned int i = 0; i < header.e_phnum && i < 8; i++) {
		if (at > input->size || sizeof(segment) > input->size - at)
			return;
		memcpy(&segment, bytes + at, sizeof(segment));
		at += sizeof(segment);
		if (segment.p_type == PT_LOAD)
			add_segment(input, &segment);
	}
}

/* As symbol_file_open_fn. */
static int open_file(void *context, const struct symbol_source *source,
		     const struct symbol_file_request *request)
{
	const struct input *input = context;
	char path[4096];
	int fd = -1;

	if (request->kind == SYMBOL_FILE_MAPPED)
		fd = input->program;
	else if (request->kind == SYMBOL_FILE_PROGRAM)
		return -ENOENT;
	else if (request->kind >= SYMBOL_FILE_FETCH_DEBUG ||
		 !symbol_file__path(source, "/usr/lib/debug", request, path, sizeof(path)))
		fd = input->debug;
	return fd < 0 ? -ENOENT : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void check_frames(const struct symbol_frame *frames, size_t n, size_t max)
{
	check(n && n <= max);
	for (size_t i = 0; i < n; i++) {
		check(frames[i].name && !(frames[i].file && !*frames[i].file));
		check(frames[i].inlined == (i + 1 < n));
	}
}

static bool is_same_frame(const struct symbol_frame *a, const struct symbol_frame *b)
{
	return !strcmp(a->name, b->name) && a->file == b->file && a->line == b->line &&
	       a->inlined == b->inlined;
}

/* With room for fewer frames, the outer ones are the same. */
static void check_fewer(struct symbolizer *symbolizer, int source, uint64_t address,
			const struct symbol_frame *frames, size_t n)
{
	struct symbol_frame fewer[2];
	size_t left = symbolizer__resolve(symbolizer, source, address, fewer, 2);

	check(left == (n < 2 ? n : 2));
	for (size_t i = 0; i < left; i++)
		check(is_same_frame(&fewer[i], &frames[n - left + i]));
}

/* Reads what was written, as the process that asked. */
static void check_result(const struct names_writer *writer, size_t n)
{
	struct strings strings = {};
	struct names_reader reader = {
		.cursor = {.at = writer->bytes.data, .end = writer->bytes.data + writer->bytes.n},
		.strings = &strings,
	};
	struct symbol_frame frames[NAMES_MAX_FRAMES];

	for (size_t i = 0; i < n; i++)
		check(names_reader__frames(&reader, frames) > 0);
	names_reader__string(&reader);
	check(!reader.cursor.bad && !cursor__left(&reader.cursor));
	names_reader__free(&reader);
	strings__free(&strings);
}

static void name_addresses(struct symbolizer *symbolizer, int source, const struct input *input)
{
	struct names_writer writer = {};
	const char *diagnostic;

	for (size_t i = 0; i < input->n; i++) {
		const uint64_t address = input->offsets[i].address;
		struct symbol_frame frames[NAMES_MAX_FRAMES] = {};
		size_t n = 1;

		if (input->offsets[i].data) {
			frames[0].name = symbolizer__variable(symbolizer, source, address);
			check(frames[0].name == symbolizer__variable(symbolizer, source, address));
		} else {
			n = symbolizer__resolve(symbolizer, source, address, frames,
						NAMES_MAX_FRAMES);
			check_frames(frames, n, NAMES_MAX_FRAMES);
			check_fewer(symbolizer, source, address, frames, n);
		}
		names_writer__frames(&writer, frames, n);
	}
	diagnostic = symbolizer__diagnostic(symbolizer, source);
	check(!diagnostic || !strchr(diagnostic, '\n'));
	names_writer__string(&writer, diagnostic);
	check_result(&writer, input->n);
	names_writer__free(&writer);
}

static void check_names(struct input *input)
{
	const struct symbolizer_options options = {
		.lines = !(input->flags & WITHOUT_LINES),
		.debug_root = "/usr/lib/debug",
		.open_file = open_file,
		.open_context = input,
	};
	struct symbol_source source = {
		.path = "/opt/app/program",
		.root = "/proc/1/root",
		.fd = 0,
		.resolved = input->flags & RESOLVED,
	};
	struct symbolizer *symbolizer;
	char hex[129];
	int err = symbols__build_id(input->program, hex, sizeof(hex));

	check(err == -ENOENT || !err);
	check(err ||
	      (*hex && strlen(hex) % 2 == 0 && strlen(hex) == strspn(hex, "0123456789abcdef")));
	if (!err)
		source.build_id = hex;
	if (input->flags & ONLY_DEBUG_FILE)
		source.fd = -1;
	if (symbolizer__new(&options, &symbolizer))
		return;
	name_addresses(symbolizer, symbolizer__add_source(symbolizer, &source), input);
	symbolizer__free(symbolizer);
}

static void check_order(const struct code_ranges *ranges)
{
	for (size_t i = 0; i < ranges->ranges.n; i++) {
		check(ranges->ranges.data[i].start < ranges->ranges.data[i].end);
		check(!i || ranges->ranges.data[i - 1].end < ranges->ranges.data[i].start);
	}
}

static bool contains(const struct code_ranges *ranges, uint64_t address)
{
	for (size_t i = 0; i < ranges->ranges.n; i++)
		if (address >= ranges->ranges.data[i].start && address < ranges->ranges.data[i].end)
			return true;
	return false;
}

/* The answer that is sent of @ranges is read as it was. */
static void check_ranges(const struct code_ranges *ranges, const struct code_place *place)
{
	struct code_ranges read = {};
	struct strings strings = {};
	struct buffer buffer = {};
	struct code_place same;
	struct cursor cursor;

	check_order(ranges);
	code_answer__put_ranges(&buffer, ranges, place);
	cursor = (struct cursor){.at = buffer.data, .end = buffer.data + buffer.n};
	check(!code_answer__ranges(&cursor, &strings, &read, &same));
	check(read.ranges.n == ranges->ranges.n && same.line == place->line);
	for (size_t i = 0; i < read.ranges.n; i++)
		check(read.ranges.data[i].start == ranges->ranges.data[i].start &&
		      read.ranges.data[i].end == ranges->ranges.data[i].end);
	code_ranges__free(&read);
	strings__free(&strings);
	buffer__free(&buffer);
}

static void check_entries(const struct code_ranges *entries)
{
	for (size_t i = 0; i < entries->ranges.n; i++) {
		check(entries->ranges.data[i].end - entries->ranges.data[i].start == 1);
		check(!i || entries->ranges.data[i - 1].start < entries->ranges.data[i].start);
	}
}

/* All code of the line is attributed to it. */
static void check_line(struct code *code, const struct code_place *place, uint64_t address)
{
	struct code_ranges ranges = {};
	struct code_place line = {}, other;

	if (!code__line(code, place->file, place->line, &ranges, &line)) {
		check(line.file == place->file && line.line == place->line);
		check(contains(&ranges, address));
		line.function = "";
		check_ranges(&ranges, &line);
		for (size_t i = 0; i < ranges.ranges.n && i < 16; i++) {
			code__place(code, ranges.ranges.data[i].start, &other);
			check(other.file == line.file && other.line == line.line);
			code__place(code, ranges.ranges.data[i].end - 1, &other);
			check(other.file == line.file && other.line == line.line);
		}
	}
	code_ranges__free(&ranges);
	if (!code__entries(code, place->file, place->line, &ranges))
		check_entries(&ranges);
	code_ranges__free(&ranges);
}

static void check_function(struct code *code, const char *name)
{
	struct code_place place = {.function = ""};
	struct code_ranges ranges = {};

	if (!code__function(code, name, &ranges, &place.function)) {
		check(place.function && *place.function);
		check_ranges(&ranges, &place);
	}
	if (!code__entries(code, name, 0, &ranges))
		check_entries(&ranges);
	if (!code__function_entries(code, name, &ranges))
		check_entries(&ranges);
	code_ranges__free(&ranges);
}

static void check_place(struct code *code, uint64_t address, unsigned int kind)
{
	struct code_ranges ranges = {};
	struct code_place place, again;

	code__place(code, address, &place);
	check(place.function && !(place.file && !*place.file));
	code__place(code, address, &again);
	check(place.function == again.function && place.file == again.file &&
	      place.line == again.line && place.in_scope == again.in_scope);
	if (kind % 4 == 0 && place.file && place.line && place.in_scope)
		check_line(code, &place, address);
	if (kind % 8 == 1 && *place.function)
		check_function(code, place.function);
	if (kind % 16 == 2 && !code__out_of_scope(code, address, &ranges)) {
		check_ranges(&ranges, &(struct code_place){.function = ""});
		check(!contains(&ranges, address) || !place.in_scope);
	}
	code_ranges__free(&ranges);
}

static void check_probes(struct code *code, uint64_t address)
{
	struct function_probes probes = {};
	struct code_exits exits = {};
	int err = function_probes__find(code, address, &probes);

	check(!err || err == -ENOENT || err == -ENOTSUP);
	check(err || !probes.return_probe || !probes.exits.n);
	err = code__exits(code, address, &exits);
	check(!err || err == -ENOENT || err == -ENOTSUP);
	check(err || !exits.prologue.n || exits.prologue.data[0] == address);
	for (size_t i = 0; i < exits.exits.n; i++)
		check(!exits.exits.data[i].condition ||
		      (exits.exits.data[i].condition >= 16 && exits.exits.data[i].condition < 32));
	code_exits__free(&exits);
	function_probes__free(&probes);
}

static void check_functions(struct code *code)
{
	struct code_ranges entries = {};

	if (!code__matching_entries(code, "*", &entries)) {
		check_entries(&entries);
		for (size_t i = 0; i < entries.ranges.n && i < FUNCTIONS; i++)
			check_probes(code, entries.ranges.data[i].start);
	}
	code_ranges__free(&entries);
}

static void check_suggestions(struct code *code)
{
	static const char *const texts[] = {"program.c:30", "thricf", "shop::sun", "pogram.c:1"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *names[4];
		size_t n = code__suggest(code, texts[i], names, 4);

		check(n <= 4);
		for (size_t k = 0; k < n; k++)
			check(names[k] && *names[k]);
	}
}

static void check_code(const struct input *input)
{
	static const char *const patterns[] = {"*program.c"};
	const struct code_scope scope = {
		.patterns = patterns,
		.n_patterns = input->flags & SCOPED ? ARRAY_SIZE(patterns) : 0,
	};
	const char *diagnostic;
	struct code *code;
	int err = code__new(input->program, "/damaged/program", "/nonexistent", &scope, &code);

	check(!err || err == -ENOEXEC);
	if (err)
		return;
	for (unsigned int i = 0; i < input->n; i++)
		check_place(code, input->linked[i], i);
	check_function(code, "thrice");
	check_functions(code);
	check_suggestions(code);
	diagnostic = code__diagnostic(code);
	check(!diagnostic || !strchr(diagnostic, '\n'));
	code__free(code);
}

/* What the tasks of code_process.c write is read, and forgotten. */
int task__write_result(const struct task *task, const void *data, size_t size)
{
	(void)task;
	for (size_t i = 0; i < size; i++)
		check(((const volatile uint8_t *)data)[i] <= UINT8_MAX);
	return 0;
}

static bool find_listed(void *arg, const char *provider, const char *name)
{
	const struct input *input = arg;
	struct usdt_places places = {};
	int err = usdt__find(input->program, provider, name, &places);

	check(err == -ENOENT || (!err && places.places.n));
	array__free(&places.places);
	return false;
}

static void check_usdt(struct input *input)
{
	const uint8_t is_program = CODE_IS_PROGRAM;
	struct buffer answer = {};
	struct task task = {
		.fields = {.at = &is_program, .end = &is_program + 1},
		.file = input->program,
		.answer = &answer,
	};

	usdt__each(input->program, find_listed, input);
	check(!code_task__ask_file(&task));
	buffer__free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int program = -1, debug = -1;
	struct input input = {.debug = -1};
	size_t debug_size;

	if (size < HEADER)
		return 0;
	input.flags = data[0];
	debug_size = data[1] | (size_t)data[2] << 8;
	input.size = size - HEADER;
	if (debug_size > input.size)
		return 0;
	input.size -= debug_size;
	program = input.program = file_of(program, data + HEADER, input.size);
	if (debug_size)
		debug = input.debug = file_of(debug, data + HEADER + input.size, debug_size);
	choose_addresses(&input, data + HEADER);
	check_names(&input);
	check_code(&input);
	check_usdt(&input);
	return 0;
}
