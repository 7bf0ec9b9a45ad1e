// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "collect/causal/expected_code.h"

#define USDT "usdt:" /* before the name of a probe */

#define MAX_NAMES 5 /* that a hint lists */

#define SIGNIFICANT_PART 20 /* diagnostics are for files with 1 / this of the samples or more */

struct causal_file {
	uint32_t origin; /* its number, see address_spaces.h */
	uint32_t slot;	 /* of its unwind table on the kernel side; 0: none */
	int fd;		 /* -1: could not be opened; the capture's */
	char *path;
	bool in_scope;
	bool written;		/* its build id is in the profile */
	char build_id[41];	/* hex; "": unknown */
	struct code_file *code; /* NULL: it was not asked about, or there are too many files */
	uint64_t ns;		/* of samples in it */
};

struct causal_files {
	uint32_t n_origins; /* processed so far, see address_spaces.h */
	const struct causal_config *config;
	struct virtual_time *vtime;
	struct code_scope scope;
	struct code_reader *reader;
	struct expected_code *expected; /* NULL: not asked for */
	ARRAY(struct causal_file) files;
	struct causal_ranges out_of_scope;
	struct map64 prepared; /* code: index in places */
	ARRAY(struct code_place) places;
};

int causal_files__new(const struct causal_config *config, struct virtual_time *vtime,
		      struct causal_files **out)
{
	struct causal_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->config = config;
	files->vtime = vtime;
	files->scope = (struct code_scope){
		.patterns = config->sources.texts.data,
		.n_patterns = config->sources.texts.n,
		.without = config->without.texts.data,
		.n_without = config->without.texts.n,
	};
	*out = files;
	return 0;
}

int causal_files__start(struct causal_files *files, struct privsep *privsep)
{
	return code_reader__new(privsep, &files->scope, &files->reader);
}

static bool matches(const char *path, const struct causal_texts *patterns)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; i < patterns->texts.n; i++) {
		const char *pattern = patterns->texts.data[i];

		if (!fnmatch(pattern, path, 0) || (name && !fnmatch(pattern, name + 1, 0)))
			return true;
	}
	return false;
}

/* libdwell.so never is: paused threads count as at the place where they were interrupted. */
static bool is_in_scope(struct causal_files *files, const struct code_origin *found)
{
	const struct causal_texts *binaries = &files->config->binaries;
	const char *slash = strrchr(found->path, '/');

	if (!strcmp(slash ? slash + 1 : found->path, "libdwell.so"))
		return false;
	return binaries->texts.n ? matches(found->path, binaries)
				 : code_reader__is_program(files->reader, found->fd, found->path);
}

/*
 * Sets the table slot of @file, by which samples refer to it. Files can get it late, or lose it.
 * True: a file in scope got one.
 */
static bool update_slot(struct causal_files *files, struct causal_file *file, uint32_t slot)
{
	bool news = file->in_scope && slot && file->slot != slot;

	if (file->slot != slot && file->slot)
		virtual_time__set_scope(files->vtime, file->slot, false);
	if (news)
		virtual_time__set_scope(files->vtime, slot, true);
	file->slot = slot;
	return news;
}

bool causal_files__update(struct causal_files *files, const struct address_spaces *spaces)
{
	const struct code_origin *found;
	bool news = false;

	for (; (found = address_spaces__origin(spaces, files->n_origins + 1)); files->n_origins++) {
		struct causal_file *file;

		if (found->kind != CODE_FILE)
			continue;
		file = array__add(&files->files);
		if (!file)
			return news;
		file->path = strdup(found->path);
		file->origin = found->number;
		file->fd = found->fd;
		snprintf(file->build_id, sizeof(file->build_id), "%s", found->build_id);
		file->in_scope = is_in_scope(files, found);
		news = true;
	}
	for (size_t i = 0; i < files->files.n; i++) {
		struct causal_file *file = &files->files.data[i];

		news |= update_slot(files, file, address_spaces__slot(spaces, file->origin));
	}
	return news;
}

static struct code_file *file_code(struct causal_files *files, struct causal_file *file)
{
	if (!file->code && file->fd >= 0 && files->expected)
		file->code = expected_code__file(files->expected, file->fd);
	if (!file->code && file->fd >= 0)
		(void)code_reader__file(files->reader, file->fd, file->path, &file->code);
	return file->code;
}

static struct causal_file *file_of(struct causal_files *files, uint64_t code)
{
	for (size_t i = 0; i < files->files.n; i++)
		if (files->files.data[i].slot == (uint32_t)(code >> 32))
			return &files->files.data[i];
	return NULL;
}

bool causal_files__place(struct causal_files *files, uint64_t code, uint64_t ns,
			 struct code_place *place)
{
	struct causal_file *file = file_of(files, code);
	struct code_file *names = file ? file_code(files, file) : NULL;
	const uint64_t *prepared = map64__get(&files->prepared, code);
	const uint64_t address = (uint32_t)code;

	*place = (struct code_place){.function = ""};
	if (file)
		file->ns += ns;
	if (!names)
		return false;
	if (prepared && !files->places.data[*prepared].function)
		return false;
	if (prepared)
		*place = files->places.data[*prepared];
	else if (code_file__places(names, &address, 1, place))
		return false;
	return true;
}

/* Asks for those of @codes that are in @file. */
static int prepare_file(struct causal_files *files, struct causal_file *file, const uint64_t *codes,
			size_t n)
{
	size_t first = files->places.n, found = 0;
	_cleanup_free_ uint64_t *addresses = calloc(n + 1, sizeof(*addresses));
	struct code_file *names;
	int err = addresses ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		if (file_of(files, codes[i]) != file || map64__get(&files->prepared, codes[i]))
			continue;
		addresses[found] = (uint32_t)codes[i];
		err = map64__put(&files->prepared, codes[i], first + found) ? 0 : -ENOMEM;
		found++;
	}
	if (err || !found)
		return err;
	err = array__reserve(&files->places, found);
	names = err ? NULL : file_code(files, file);
	if (!err &&
	    (!names || code_file__places(names, addresses, found, files->places.data + first)))
		memset(files->places.data + first, 0, found * sizeof(*files->places.data));
	files->places.n += err ? 0 : found;
	return err;
}

int causal_files__prepare(struct causal_files *files, const uint64_t *codes, size_t n)
{
	int err = 0;

	map64__free(&files->prepared);
	files->places.n = 0;
	for (size_t i = 0; i < files->files.n && !err; i++)
		if (files->files.data[i].slot)
			err = prepare_file(files, &files->files.data[i], codes, n);
	if (err)
		map64__free(&files->prepared);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct causal_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int add_ranges(struct causal_ranges *to, uint32_t slot, const struct code_ranges *from)
{
	for (size_t i = 0; i < from->ranges.n; i++) {
		const struct code_range *range = &from->ranges.data[i];
		struct causal_range added = {UNWIND_CODE(slot, range->start),
					     UNWIND_CODE(slot, range->end)};

		if (range->end > UINT32_MAX)
			continue;
		if (array__push(&to->ranges, added))
			return -ENOMEM;
	}
	qsort(to->ranges.data, to->ranges.n, sizeof(*to->ranges.data), by_start);
	return 0;
}

int causal_files__exclude(struct causal_files *files, uint64_t code)
{
	struct causal_file *file = file_of(files, code);
	struct code_file *names = file ? file_code(files, file) : NULL;
	struct code_ranges found = {};
	int err;

	if (!names)
		return 0;
	err = code_file__out_of_scope(names, (uint32_t)code, &found);
	if (!err && found.ranges.n) {
		err = add_ranges(&files->out_of_scope, file->slot, &found);
		if (!err)
			err = virtual_time__set_out_of_scope(files->vtime,
							     files->out_of_scope.ranges.data,
							     files->out_of_scope.ranges.n);
	}
	code_ranges__free(&found);
	return err;
}

/* "PROVIDER:NAME", "NAME" */
static int parse_probe(const char *text, struct causal_location *location)
{
	const char *colon = strchr(text, ':');

	location->probe = strdup(colon ? colon + 1 : text);
	location->provider = colon ? strndup(text, (size_t)(colon - text)) : NULL;
	if (!location->probe || (colon && !location->provider))
		return -ENOMEM;
	if (*location->probe && (!colon || *location->provider))
		return 0;
	error__set(-EINVAL, "'usdt:%s' does not name a probe", text);
	error__hint("give usdt:PROVIDER:NAME, or usdt:NAME");
	return -EINVAL;
}

int causal_location__parse(const char *text, struct causal_location *location)
{
	static const char from[] = " called from ";
	const char *caller = strstr(text, from);
	size_t n = caller ? (size_t)(caller - text) : strlen(text);
	_cleanup_free_ char *target = strndup(text, n);
	char *colon = target ? strrchr(target, ':') : NULL, *end;
	unsigned long line;

	*location = (struct causal_location){};
	if (!target)
		return -ENOMEM;
	if (!strncmp(text, USDT, sizeof(USDT) - 1))
		return parse_probe(text + sizeof(USDT) - 1, location);
	if (!n || (caller && !caller[sizeof(from) - 1])) {
		error__set(-EINVAL, "'%s' does not name code", text);
		error__hint("give FILE:LINE, or FUNCTION, or FUNCTION called from FUNCTION");
		return -EINVAL;
	}
	if (caller)
		location->caller = strdup(caller + sizeof(from) - 1);
	/* "std::sort" contains colons as well, but no number after the last one. */
	line = colon ? strtoul(colon + 1, &end, 10) : 0;
	if (colon && colon > target && colon[-1] != ':' && line && line < UINT32_MAX && !*end) {
		*colon = '\0';
		location->line = (uint32_t)line;
		location->file = TAKE_PTR(target);
	} else {
		location->function = TAKE_PTR(target);
	}
	return 0;
}

void causal_location__free(struct causal_location *location)
{
	free(location->probe);
	free(location->provider);
	free(location->file);
	free(location->function);
	free(location->caller);
	*location = (struct causal_location){};
}

/* Sets an error that lists what @name, a function or (with @line) a file, can mean in @code. */
static void set_ambiguous_error(struct code_file *code, const char *name, uint32_t line)
{
	_cleanup_free_ char *text = NULL;
	const char *names[MAX_NAMES];
	char all[1024] = "";
	size_t n, used = 0;

	if (asprintf(&text, line ? "%s:%u" : "%s", name, line) < 0)
		return;
	n = code_file__suggest(code, text, names, MAX_NAMES);
	for (size_t i = 0; i < n && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "",
					 names[i]);
	error__set(-ENOTUNIQ, "'%s' means several: %s%s", text, all, n == MAX_NAMES ? " ..." : "");
	error__hint("Give more of the name.");
}

/* The code of a line (@path, @line), or of a function, in one file. */
static int find_in(struct code_file *code, const char *path, uint32_t line, const char *function,
		   struct code_ranges *ranges, struct code_place *place)
{
	if (path)
		return code_file__line(code, path, line, ranges, place);
	return code_file__function(code, function, ranges, place ? &place->function : NULL);
}

/* The same in all files that are in scope, or in all others. */
static int find_in_files(struct causal_files *files, bool in_scope, const char *path, uint32_t line,
			 const char *function, struct causal_ranges *ranges,
			 struct code_place *place)
{
	int result = -ENOENT;

	for (size_t i = 0; i < files->files.n; i++) {
		struct causal_file *file = &files->files.data[i];
		struct code_ranges found = {};
		struct code_file *code;
		int err;

		if (file->in_scope != in_scope || !file->slot)
			continue;
		code = file_code(files, file);
		if (!code)
			continue;
		err = find_in(code, path, line, function, &found, place);
		if (err == -ENOTUNIQ)
			set_ambiguous_error(code, path ? path : function, line);
		if (!err) {
			err = add_ranges(ranges, file->slot, &found);
			result = err ? err : 0;
		}
		code_ranges__free(&found);
		if (err == -ENOTUNIQ || err == -ENOMEM)
			return err;
	}
	return result;
}

static int find_anywhere(struct causal_files *files, const char *path, uint32_t line,
			 const char *function, struct causal_ranges *ranges,
			 struct code_place *place)
{
	int err = find_in_files(files, true, path, line, function, ranges, place);

	return err == -ENOENT ? find_in_files(files, false, path, line, function, ranges, place)
			      : err;
}

int causal_files__find(struct causal_files *files, const struct causal_location *location,
		       struct causal_ranges *ranges, struct causal_ranges *callers,
		       struct code_place *place)
{
	int err;

	*place = (struct code_place){.function = ""};
	err = find_anywhere(files, location->file, location->line, location->function, ranges,
			    place);
	if (!err && location->caller)
		err = find_anywhere(files, NULL, 0, location->caller, callers, NULL);
	return err;
}

int causal_files__find_place(struct causal_files *files, const struct code_place *place,
			     bool function, struct causal_ranges *ranges)
{
	if (function || !place->line)
		return find_in_files(files, true, NULL, 0, place->function, ranges, NULL);
	return find_in_files(files, true, place->file, place->line, NULL, ranges, NULL);
}

int causal_files__expect(struct causal_files *files, const struct causal_location *location,
			 const char *what, const char *text)
{
	_cleanup_free_ char *hint = NULL;
	int err = files->expected ? 0
				  : expected_code__new(files->config->argv[0], files->reader,
						       &files->expected);

	if (!err && files->config->on_awaited && expected_code__may_come(files->expected, location))
		files->config->on_awaited(files->config->arg, text);
	if (err || !expected_code__lacks(files->expected, location))
		return err;
	hint = expected_code__hint(files->expected, text, location->probe);
	error__set(-EINVAL, "there is no code of %s'%s' in %s and its libraries", what, text,
		   files->config->argv[0]);
	if (hint)
		error__hint("%s", hint);
	return -EINVAL;
}

/* Adds the entries of the line, function or probe of @location in @file. */
static int add_entries(struct causal_files *files, struct causal_file *file,
		       const struct causal_location *location, struct causal_entries *entries)
{
	const char *name = location->file ? location->file : location->function;
	struct code_file *code = location->probe ? NULL : file_code(files, file);
	struct code_entries found = {};
	int err = -ENOENT;

	if (location->probe)
		err = code_reader__usdt(files->reader, file->fd, file->path, location->provider,
					location->probe, &found);
	else if (code)
		err = code_file__entries(code, name, location->line, &found);
	if (err == -ENOTUNIQ)
		set_ambiguous_error(code, name, location->line);
	for (size_t i = 0; !err && i < found.entries.n; i++)
		err = array__push(&entries->entries,
				  ((struct causal_entry){.origin = file->origin,
							 .fd = file->fd,
							 .at = found.entries.data[i]}));
	array__free(&found.entries);
	return err;
}

int causal_files__entries(struct causal_files *files, const struct causal_location *location,
			  struct causal_entries *entries)
{
	int result = -ENOENT;

	for (int pass = 0; pass < 2 && result == -ENOENT; pass++) {
		for (size_t i = 0; i < files->files.n; i++) {
			struct causal_file *file = &files->files.data[i];
			int err;

			if (file->in_scope != !pass || !file->slot)
				continue;
			err = add_entries(files, file, location, entries);
			if (!err)
				result = 0;
			else if (err != -ENOENT && err != -ENODATA && err != -ENOEXEC)
				return err;
		}
	}
	return result;
}

int causal_files__write_builds(struct causal_files *files, struct causal_writer *writer)
{
	int err = 0;

	for (size_t i = 0; i < files->files.n && !err; i++) {
		struct causal_file *file = &files->files.data[i];
		const struct causal_build build = {.path = file->path, .id = file->build_id};

		if (!file->in_scope || !file->slot || file->written || !*file->build_id)
			continue;
		err = causal_writer__build(writer, &build);
		file->written = !err;
	}
	return err;
}

/* The names of functions and lines that are nearest to @text. */
static char *suggest_code(struct causal_files *files, const char *text)
{
	const char *names[MAX_NAMES];
	char *hint = NULL;
	size_t size = 0, n = 0;
	FILE *out;

	for (size_t i = 0; i < files->files.n && n < MAX_NAMES; i++) {
		struct causal_file *file = &files->files.data[i];
		struct code_file *code = file->in_scope ? file_code(files, file) : NULL;

		if (code)
			n += code_file__suggest(code, text, names + n, MAX_NAMES - n);
	}
	if (!n)
		return NULL;
	out = open_memstream(&hint, &size);
	if (!out)
		return NULL;
	fprintf(out, "there is ");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", names[i]);
	if (fclose(out)) {
		free(hint);
		return NULL;
	}
	return hint;
}

/* The probes of the files, at most MAX_NAMES. */
static char *suggest_probes(const struct causal_files *files)
{
	const char *names[MAX_NAMES];
	char *hint = NULL;
	size_t size = 0, n = 0;
	FILE *out = open_memstream(&hint, &size);

	if (!out)
		return NULL;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < files->files.n && n < MAX_NAMES; i++) {
			const struct causal_file *file = &files->files.data[i];

			if (file->in_scope == !pass)
				n += code_reader__usdt_names(files->reader, file->fd, file->path,
							     names + n, MAX_NAMES - n);
		}
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s" USDT "%s", i ? ", " : "there is ", names[i]);
	if (!n)
		fputs("there are no probes in what the command ran", out);
	if (fclose(out)) {
		free(hint);
		return NULL;
	}
	return hint;
}

char *causal_files__hint(struct causal_files *files, const char *text)
{
	if (!strncmp(text, USDT, sizeof(USDT) - 1))
		return suggest_probes(files);
	return suggest_code(files, text);
}

const char *causal_files__diagnostic(struct causal_files *files)
{
	const char *diagnostic = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < files->files.n; i++)
		all += files->files.data[i].ns;
	for (size_t i = 0; i < files->files.n && !diagnostic; i++) {
		struct causal_file *file = &files->files.data[i];

		if (file->in_scope && file->code && file->ns >= all / SIGNIFICANT_PART)
			diagnostic = code_file__diagnostic(file->code);
	}
	return diagnostic;
}

void causal_files__free(struct causal_files *files)
{
	for (size_t i = 0; i < files->files.n; i++) {
		free(files->files.data[i].path);
	}
	if (files->reader)
		code_reader__free(files->reader);
	if (files->expected)
		expected_code__free(files->expected);
	map64__free(&files->prepared);
	array__free(&files->places);
	array__free(&files->files);
	array__free(&files->out_of_scope.ranges);
	free(files);
}
