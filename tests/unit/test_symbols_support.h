/* SPDX-License-Identifier: BSD-2-Clause */
/* A scratch directory, programs compiled there, and other tools to compare with. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "symbols/symbols.h"

#define SOURCES	   "tests/data/symbols"
#define MAX_FRAMES 64

/* What symbolizer__resolve() gave. */
struct frames {
	size_t n;
	struct symbol_frame at[MAX_FRAMES];
};

static char scratch[64];

static inline int scratch__make(void **state)
{
	strcpy(scratch, "/tmp/dwell-symbols-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

/* Runs a shell command in which every %s and so on was filled in; 0 when it succeeded. */
static inline int __attribute__((format(printf, 1, 2))) run(const char *fmt, ...)
{
	_cleanup_free_ char *command = NULL;
	_cleanup_free_ char *quiet = NULL;
	va_list args;

	va_start(args, fmt);
	assert_true(vasprintf(&command, fmt, args) >= 0);
	va_end(args);
	assert_true(asprintf(&quiet, "{ %s; } >/dev/null 2>%s/stderr", command, scratch) >= 0);
	return system(quiet);
}

static inline int scratch__remove(void **state)
{
	return run("rm -rf %s", scratch);
}

/* A path in the scratch directory; eight of them stay valid at a time. */
static inline char *__attribute__((format(printf, 1, 2))) in_scratch(const char *fmt, ...)
{
	static char paths[8][512];
	static unsigned int next;
	char *path = paths[next++ % 8];
	va_list args;
	int n = snprintf(path, sizeof(paths[0]), "%s/", scratch);

	va_start(args, fmt);
	vsnprintf(path + n, sizeof(paths[0]) - (size_t)n, fmt, args);
	va_end(args);
	return path;
}

static inline void need_tool(const char *tool)
{
	if (run("command -v %s", tool)) {
		print_message("skipped: %s is not installed\n", tool);
		skip();
	}
}

/* Compiles SOURCES/@source into the scratch directory. */
static inline char *build(const char *compiler, const char *flags, const char *source,
			  const char *name)
{
	char *path = in_scratch("%s", name);

	if (access(SOURCES, R_OK)) {
		print_message("skipped: not run from the top of the source tree\n");
		skip();
	}
	need_tool(compiler);
	assert_int_equal(
		run("%s -O2 -g %s %s/%s -o %s -lm", compiler, flags, SOURCES, source, path), 0);
	return path;
}

static inline void write_file(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

/* The lines a command prints. */
static inline FILE *__attribute__((format(printf, 1, 2))) lines_of(const char *fmt, ...)
{
	_cleanup_free_ char *command = NULL;
	va_list args;
	FILE *lines;

	va_start(args, fmt);
	assert_true(vasprintf(&command, fmt, args) >= 0);
	va_end(args);
	lines = popen(command, "re");
	assert_non_null(lines);
	return lines;
}

static inline void end_line(char *line)
{
	line[strcspn(line, "\n")] = '\0';
}

/* The build id, by readelf. */
static inline void read_build_id(const char *path, char hex[129])
{
	FILE *lines = lines_of("readelf -n %s 2>/dev/null", path);
	char line[512];

	hex[0] = '\0';
	while (fgets(line, sizeof(line), lines))
		if (sscanf(line, " Build ID: %128s", hex) == 1)
			break;
	pclose(lines);
	assert_true(hex[0]);
}

/* Where code is in a file, by readelf. */
struct segment {
	uint64_t offset;
	uint64_t vaddr;
	uint64_t size;
};

static inline struct segment read_code(const char *path)
{
	FILE *lines = lines_of("readelf -lW %s 2>/dev/null", path);
	struct segment code = {};
	char line[512];

	while (fgets(line, sizeof(line), lines)) {
		unsigned long offset;
		unsigned long vaddr;
		unsigned long size;

		if (sscanf(line, " LOAD 0x%lx 0x%lx 0x%*x 0x%lx", &offset, &vaddr, &size) == 3 &&
		    strstr(line, " R E "))
			code = (struct segment){offset, vaddr, size};
	}
	pclose(lines);
	assert_true(code.size);
	return code;
}

/* The address of a function, by nm, as an offset in the file. */
static inline uint64_t address_of(const char *path, const char *function)
{
	FILE *lines = lines_of("nm %s 2>/dev/null", path);
	uint64_t vaddr = 0;
	char line[4096];

	while (fgets(line, sizeof(line), lines)) {
		unsigned long address;
		char name[4000];

		if (sscanf(line, "%lx %*c %3999s", &address, name) == 2 && !strcmp(name, function))
			vaddr = address;
	}
	pclose(lines);
	assert_true(vaddr);
	return vaddr;
}

static inline uint64_t offset_of(const char *path, const char *function)
{
	struct segment code = read_code(path);

	return address_of(path, function) - code.vaddr + code.offset;
}

static inline struct symbolizer *new_symbolizer(bool lines, const char *debug_root)
{
	struct symbolizer_options options = {.lines = lines, .debug_root = debug_root};
	struct symbolizer *symbolizer;

	assert_int_equal(symbolizer__new(&options, &symbolizer), 0);
	return symbolizer;
}

static inline int add_file(struct symbolizer *symbolizer, const char *path, const char *build_id,
			   int fd)
{
	struct symbol_source source = {.path = path, .build_id = build_id, .fd = fd};
	int number = symbolizer__add_source(symbolizer, &source);

	assert_true(number >= 0);
	return number;
}

static inline const char *name_at(struct symbolizer *symbolizer, int source, uint64_t address)
{
	struct symbol_frame frame;

	assert_int_equal(symbolizer__resolve(symbolizer, source, address, &frame, 1), 1);
	return frame.name;
}

/* The same numbers on every machine. */
static inline uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 20;
}
