/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs built in many ways, and what code.h says of them. */
#pragma once

#include "tests/unit/test_symbols_support.h"

#include <fcntl.h>

#include "symbols/code/code.h"
#include "symbols/dwarf/source_path.h"

#define CODE_SOURCES "tests/data/code"

#define JOBS  CODE_SOURCES "/jobs.c " CODE_SOURCES "/lib/check.c " CODE_SOURCES "/other/check.c"
#define STORE CODE_SOURCES "/store.cc"

/* Comparison with another tool is as good without the sanitizers, and much cheaper. */
#ifdef SANITIZED
#define COMPARES_TOOLS false
#else
#define COMPARES_TOOLS true
#endif

/* Compiles @sources into the scratch directory. */
static inline char *build_code(const char *compiler, const char *flags, const char *sources,
			       const char *name)
{
	char *path = in_scratch("%s", name);

	if (access(CODE_SOURCES, R_OK)) {
		print_message("skipped: not run from the top of the source tree\n");
		skip();
	}
	need_tool(compiler);
	/* What -gsplit-dwarf writes besides stays in the scratch directory. */
	assert_int_equal(run("top=$PWD; cd %s && %s -g %s -o %s $(for i in %s; do echo $top/$i; "
			     "done) -lm",
			     scratch, compiler, flags, path, sources),
			 0);
	return path;
}

static inline struct code *open_code(const char *path, const struct code_scope *scope)
{
	static const struct code_scope everything;
	struct code *code;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(code__new(fd, path, NULL, scope ? scope : &everything, &code), 0);
	close(fd);
	return code;
}

/* The number of the line of @source (below the top) that has "LINE: @mark" in it. */
static inline uint32_t marked_line(const char *source, const char *mark)
{
	_cleanup_fclose_ FILE *file = fopen(source, "re");
	char needle[64];
	char line[512];
	uint32_t n = 0;

	assert_non_null(file);
	snprintf(needle, sizeof(needle), "LINE: %s ", mark);
	while (fgets(line, sizeof(line), file)) {
		n++;
		if (strstr(line, needle))
			return n;
		snprintf(needle, sizeof(needle), "LINE: %s\n", mark);
		if (strstr(line, needle))
			return n;
		snprintf(needle, sizeof(needle), "LINE: %s ", mark);
	}
	fail_msg("%s has no line %s", source, mark);
	return 0;
}

static inline bool ranges_have(const struct code_ranges *ranges, uint64_t address)
{
	for (size_t i = 0; i < ranges->ranges.n; i++)
		if (address - ranges->ranges.data[i].start <
		    ranges->ranges.data[i].end - ranges->ranges.data[i].start)
			return true;
	return false;
}

/* Sorted, and apart from each other. */
static inline void check_ranges(const struct code_ranges *ranges)
{
	for (size_t i = 0; i < ranges->ranges.n; i++) {
		assert_true(ranges->ranges.data[i].start < ranges->ranges.data[i].end);
		if (i)
			assert_true(ranges->ranges.data[i - 1].end < ranges->ranges.data[i].start);
	}
}

/* Places of all addresses of a program's code. */
struct places {
	struct segment text;
	struct code_place *at;
};

static inline struct places read_places(struct code *code, const char *path)
{
	struct places places = {.text = read_code(path)};

	places.at = calloc(places.text.size, sizeof(*places.at));
	assert_non_null(places.at);
	for (uint64_t i = 0; i < places.text.size; i++)
		code__place(code, places.text.vaddr + i, &places.at[i]);
	return places;
}
