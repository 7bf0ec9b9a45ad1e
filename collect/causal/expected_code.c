// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/expected_code.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/causal/files.h"
#include "collect/capture/child.h"

#define MAX_FILES 256
#define MAX_NAMES 5 /* that a hint lists */

struct expected_file {
	char *path;
	int fd;			/* O_PATH */
	struct code_file *code; /* NULL: not asked about */
};

struct expected_code {
	struct code_reader *reader;
	ARRAY(struct expected_file) files; /* the program first */
	bool is_complete;		   /* the command runs no code but that of these */
};

static bool is_same_file(int a, int b)
{
	struct stat left, right;

	return !fstat(a, &left) && !fstat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* Adds the file @path if it is there. 1: it is, 0: it is not, or -ENOMEM. */
static int add_file(struct expected_code *expected, const char *path)
{
	struct expected_file file = {.fd = open(path, O_PATH | O_CLOEXEC)};
	struct stat stats;

	if (file.fd < 0)
		return 0;
	for (size_t i = 0; i < expected->files.n; i++)
		if (is_same_file(expected->files.data[i].fd, file.fd))
			return close(file.fd), 1;
	if (fstat(file.fd, &stats) || !S_ISREG(stats.st_mode))
		return close(file.fd), 0;
	file.path = realpath(path, NULL);
	if (file.path && !array__push(&expected->files, file))
		return 1;
	free(file.path);
	close(file.fd);
	return -ENOMEM;
}

/*
 * Adds the library @name from all folders in @paths that have it; these are separated by colons,
 * $ORIGIN is the folder of @of. 1: one has it, 0 or -ENOMEM.
 */
static int add_from_paths(struct expected_code *expected, const char *name, const char *paths,
			  const char *of)
{
	int found = 0, err = 0;

	while (*paths && err >= 0) {
		int n = (int)strcspn(paths, ":"), origin = 0;
		const char *slash = strrchr(of, '/');
		char path[3 * PATH_MAX];

		if (!strncmp(paths, "$ORIGIN", 7))
			origin = 7;
		else if (!strncmp(paths, "${ORIGIN}", 9))
			origin = 9;
		snprintf(path, sizeof(path), "%.*s%.*s/%s", origin && slash ? (int)(slash - of) : 0,
			 of, n - origin, paths + origin, name);
		if (n && *path == '/')
			err = add_file(expected, path);
		found |= err > 0;
		paths += n + (paths[n] == ':');
	}
	return err < 0 ? err : found;
}

/*
 * Adds the library @name, which the file @of needs, from all folders: the one that the linker takes
 * depends on its cache, and on which of the files are for this machine. 1: it was found, 0 or
 * -ENOMEM.
 */
static int add_library(struct expected_code *expected, const char *name, const char *run_path,
		       const char *of)
{
	static const char folders[] =
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
		"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
	const char *environment = getenv("LD_LIBRARY_PATH");
	const char *const all[] = {run_path, environment ? environment : "", folders};
	int found = 0, err = 0;

	if (strchr(name, '/'))
		return add_file(expected, name);
	for (size_t i = 0; i < ARRAY_SIZE(all) && err >= 0; i++) {
		err = add_from_paths(expected, name, all[i], of);
		found |= err > 0;
	}
	return err < 0 ? err : found;
}

/* Whether the library is a part of the C or C++ library: it loads nothing of the program's. */
static bool is_c_library(const char *path)
{
	static const char *const names[] = {"libc.",	  "libm.",	"libpthread.", "libdl.",
					    "librt.",	  "libstdc++.", "libgcc_s.",   "ld-linux",
					    "libresolv.", "libatomic.", "libutil.",    "ld-musl"};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Adds what file @index is linked with. 0 or -ENOMEM. */
static int add_links(struct expected_code *expected, size_t index)
{
	/* Copied: files.data may move. */
	const struct expected_file file = expected->files.data[index];
	const char *run_path = "";
	struct code_names links;
	int found;

	if (code_reader__links(expected->reader, file.fd, file.path, &links)) {
		expected->is_complete = false;
		return 0;
	}
	for (size_t i = 0; i < links.n; i++)
		if (links.names[i][0] == CODE_LINK_PATH)
			run_path = links.names[i] + 1;
	for (size_t i = 0; i < links.n; i++) {
		if (links.names[i][0] == CODE_LINK_LOADS && !is_c_library(file.path))
			expected->is_complete = false;
		if (links.names[i][0] != CODE_LINK_NEEDED)
			continue;
		found = add_library(expected, links.names[i] + 1, run_path, file.path);
		if (found < 0)
			return found;
		if (!found)
			expected->is_complete = false;
	}
	return 0;
}

/* Adds the libraries of LD_PRELOAD. libdwell.so is one; there is no harm in that. */
static int add_preloaded(struct expected_code *expected)
{
	const char *preloaded = getenv("LD_PRELOAD");

	while (preloaded && *preloaded) {
		size_t n = strcspn(preloaded, " :");
		char name[PATH_MAX];
		int found;

		snprintf(name, sizeof(name), "%.*s", (int)n, preloaded);
		found = n ? add_library(expected, name, "", "") : 1;
		if (found < 0)
			return found;
		if (!found)
			expected->is_complete = false;
		preloaded += n + (preloaded[n] != '\0');
	}
	return 0;
}

int expected_code__new(const char *program, struct code_reader *reader, struct expected_code **out)
{
	_cleanup_(expected_code__freep) struct expected_code *expected =
		calloc(1, sizeof(*expected));
	_cleanup_free_ char *path = child__find(program);
	int err;

	if (!expected)
		return -ENOMEM;
	expected->reader = reader;
	expected->is_complete = path;
	err = path ? add_file(expected, path) : 0;
	if (!err)
		expected->is_complete = false;
	if (err >= 0)
		err = add_preloaded(expected);
	for (size_t i = 0; i < expected->files.n && i < MAX_FILES && !err; i++)
		err = add_links(expected, i);
	if (expected->files.n > MAX_FILES)
		expected->is_complete = false;
	if (err < 0)
		return err;
	*out = TAKE_PTR(expected);
	return 0;
}

static struct code_file *code_of(struct expected_code *expected, struct expected_file *file)
{
	if (!file->code)
		(void)code_reader__file(expected->reader, file->fd, file->path, &file->code);
	return file->code;
}

/* 0: @file has it; -ENOENT: it has not; other errors: unknown. */
static int find_code(struct expected_code *expected, struct expected_file *file, const char *source,
		     uint32_t line, const char *function)
{
	struct code_file *code = code_of(expected, file);
	struct code_place place = {.function = ""};
	struct code_ranges ranges = {};
	int err;

	if (!code)
		return -ENOMEM;
	err = source ? code_file__line(code, source, line, &ranges, &place)
		     : code_file__function(code, function, &ranges, NULL);
	code_ranges__free(&ranges);
	return err == -ENODATA ? -ENOENT : err;
}

static int find_probe(struct expected_code *expected, const struct expected_file *file,
		      const struct causal_location *location)
{
	struct code_entries entries = {};
	int err = code_reader__usdt(expected->reader, file->fd, file->path, location->provider,
				    location->probe, &entries);

	array__free(&entries.entries);
	return err;
}

/* Whether no file has the code. */
static bool all_lack(struct expected_code *expected, const struct causal_location *location,
		     const char *source, const char *function)
{
	for (size_t i = 0; i < expected->files.n; i++) {
		struct expected_file *file = &expected->files.data[i];
		int err = location->probe
				  ? find_probe(expected, file, location)
				  : find_code(expected, file, source, location->line, function);

		if (err != -ENOENT)
			return false;
	}
	return true;
}

static bool lacks(struct expected_code *expected, const struct causal_location *location)
{
	if (all_lack(expected, location, location->file, location->function))
		return true;
	return location->caller && all_lack(expected, location, NULL, location->caller);
}

bool expected_code__lacks(struct expected_code *expected, const struct causal_location *location)
{
	return expected->is_complete && lacks(expected, location);
}

bool expected_code__may_come(struct expected_code *expected, const struct causal_location *location)
{
	return !expected->is_complete && expected->files.n && lacks(expected, location);
}

struct code_file *expected_code__file(const struct expected_code *expected, int fd)
{
	for (size_t i = 0; i < expected->files.n; i++)
		if (expected->files.data[i].code && is_same_file(expected->files.data[i].fd, fd))
			return expected->files.data[i].code;
	return NULL;
}

char *expected_code__hint(struct expected_code *expected, const char *text, bool probes)
{
	struct expected_file *program = &expected->files.data[0];
	const char *names[MAX_NAMES];
	size_t n = 0, size = 0;
	char *hint = NULL;
	FILE *out;

	if (!expected->files.n)
		return NULL;
	if (probes)
		n = code_reader__usdt_names(expected->reader, program->fd, program->path, names,
					    MAX_NAMES);
	else if (code_of(expected, program))
		n = code_file__suggest(program->code, text, names, MAX_NAMES);
	if (!n)
		return NULL;
	out = open_memstream(&hint, &size);
	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s%s", i ? ", " : "there is ", probes ? "usdt:" : "", names[i]);
	if (!fclose(out))
		return hint;
	free(hint);
	return NULL;
}

void expected_code__free(struct expected_code *expected)
{
	for (size_t i = 0; i < expected->files.n; i++) {
		/* Its code is the reader's. */
		close(expected->files.data[i].fd);
		free(expected->files.data[i].path);
	}
	array__free(&expected->files);
	free(expected);
}
