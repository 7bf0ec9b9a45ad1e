// SPDX-License-Identifier: BSD-2-Clause
#include "recording/causal/causal_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "recording/causal/profile_lines.h"

#define BLOCK_SIZE  (4u << 10) /* of the first block: each is twice as large as the one before */
#define BLOCK_MAX   (256u << 10)
#define BUFFER_SIZE (64u << 10)

struct causal_memory {
	struct causal_memory *next;
	size_t used;
	size_t size;
	char bytes[] __attribute__((aligned(16)));
};

void *causal_memory__take(struct causal_memory **memory, size_t size)
{
	size_t rounded = (size + 15) & ~(size_t)15;
	struct causal_memory *block = *memory;

	if (!block || block->size - block->used < rounded) {
		size_t room = block ? 2 * block->size : BLOCK_SIZE;

		if (room > BLOCK_MAX)
			room = BLOCK_MAX;
		if (room < rounded)
			room = rounded;
		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->size = room;
		block->next = *memory;
		*memory = block;
	}
	block->used += rounded;
	return block->bytes + block->used - rounded;
}

void causal_memory__free(struct causal_memory *memory)
{
	while (memory) {
		struct causal_memory *next = memory->next;

		free(memory);
		memory = next;
	}
}

void causal_profile__free(struct causal_profile *profile)
{
	for (size_t i = 0; i < profile->runs.n; i++) {
		array__free(&profile->runs.data[i].seen);
		array__free(&profile->runs.data[i].places);
		array__free(&profile->runs.data[i].diagnostics);
		array__free(&profile->runs.data[i].builds);
		array__free(&profile->runs.data[i].probes);
		array__free(&profile->runs.data[i].requests);
		array__free(&profile->runs.data[i].unpaused);
	}
	array__free(&profile->points);
	array__free(&profile->targets);
	array__free(&profile->runs);
	array__free(&profile->experiments);
	array__free(&profile->pause_tests);
	causal_memory__free(profile->memory);
	free(profile);
}

/* Splits the bytes of a file into lines. */
struct line_reader {
	struct causal_parser *parser;
	struct buffer line; /* the incomplete line so far: up to CAUSAL_LINE_MAX bytes */
	bool too_long;
	char head[4096]; /* of the file */
	size_t n_head;
};

/* The line is complete: parses it. */
static int finish_line(struct line_reader *reader)
{
	struct causal_profile *profile = reader->parser->profile;
	int err = 0;

	if (reader->too_long)
		profile->skipped++;
	else if (reader->line.failed)
		err = -ENOMEM;
	else if (reader->line.n)
		err = causal_parser__line(reader->parser, (const char *)reader->line.data,
					  reader->line.n);
	if (err > 0)
		profile->skipped++;
	reader->line.n = 0;
	reader->too_long = false;
	return err < 0 ? err : 0;
}

static void append_to_line(struct line_reader *reader, const char *bytes, size_t n)
{
	if (n > CAUSAL_LINE_MAX - reader->line.n)
		reader->too_long = true;
	if (n && !reader->too_long)
		buffer__put(&reader->line, bytes, n);
}

static int take_block(struct line_reader *reader, const char *bytes, size_t n)
{
	const char *end = bytes + n;
	size_t room = sizeof(reader->head) - reader->n_head;
	int err = 0;

	room = n < room ? n : room;
	memcpy(reader->head + reader->n_head, bytes, room);
	reader->n_head += room;
	while (!err && bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));

		append_to_line(reader, bytes, (size_t)((newline ? newline : end) - bytes));
		if (newline)
			err = finish_line(reader);
		bytes = newline ? newline + 1 : end;
	}
	return err;
}

static int read_lines(int fd, const char *path, struct line_reader *reader)
{
	_cleanup_free_ char *buffer = malloc(BUFFER_SIZE);
	ssize_t n;
	int err = 0;

	if (!buffer)
		return -ENOMEM;
	while (!err) {
		n = read(fd, buffer, BUFFER_SIZE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error__errno(-errno, "cannot read %s", path);
		if (!n)
			return finish_line(reader); /* the last line may lack a newline */
		err = take_block(reader, buffer, (size_t)n);
	}
	return err;
}

static int open_profile(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -errno;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		error__set(-EISDIR, "%s is a directory, not a causal profile", path);
		error__hint("Name the file in it, as in %s/dwell.causal", path);
		return -EISDIR;
	}
	if (fd >= 0)
		return fd;
	if (err == -ENOENT) {
		error__set(err, "there is no causal profile %s", path);
		error__hint(CAUSAL_HINT_RUN "\nor name the file: dwell causal report FILE");
		return err;
	}
	error__errno(err, "cannot open %s", path);
	if (err == -EACCES || err == -EPERM)
		error__hint("It takes permission to read the file and to enter its folder.");
	return err;
}

/* Records why there is no run in the file. */
static int no_runs_error(const char *path, const struct line_reader *reader)
{
	int err = causal_profile__recognize(path, reader->head, reader->n_head);

	if (err)
		return err;
	error__set(-EINVAL, "%s is %s", path, reader->n_head ? "damaged" : "empty");
	error__hint(reader->n_head ? "There is no line in it that begins a run."
				   : "The disk may have been full. " CAUSAL_HINT_RUN);
	return -EINVAL;
}

int causal_profile__read(const char *path, struct causal_profile **out)
{
	_cleanup_causal_profile_ struct causal_profile *profile = calloc(1, sizeof(*profile));
	_cleanup_(causal_parser__free) struct causal_parser parser = {.profile = profile};
	_cleanup_close_ int fd = open_profile(path);
	struct line_reader reader = {.parser = &parser};
	int err;

	if (fd < 0)
		return fd;
	err = profile ? read_lines(fd, path, &reader) : -ENOMEM;
	buffer__free(&reader.line);
	if (err == -ENOMEM)
		return error__errno(err, "cannot read %s", path);
	if (err)
		return err;
	if (parser.newer)
		return causal_profile__refuse_newer(path);
	if (!profile->runs.n)
		return no_runs_error(path, &reader);
	profile->memory = parser.memory;
	parser.memory = NULL;
	*out = TAKE_PTR(profile);
	return 0;
}
