// SPDX-License-Identifier: BSD-2-Clause
/* Appending records to an existing recording. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "recording/reader.h"
#include "recording/writer.h"

DEFINE_CLEANUP(struct recording_writer *, writer__free)
DEFINE_CLEANUP(struct recording_reader *, recording_reader__close)

/* Those that @record defines or refers to: stacks whose frames never came have numbers, too. */
static void append_register_stacks(struct recording_writer *writer, const struct record *record)
{
	const struct layout *layout = layout__of(record->type);

	for (size_t i = 0; layout && i < layout->n; i++) {
		uint32_t number;

		if (layout->fields[i].kind != NUMBER_STACK)
			continue;
		memcpy(&number, (const char *)record + layout->fields[i].offset, sizeof(number));
		if (number > writer->last_stack)
			writer->last_stack = number;
	}
}

/* Takes over the numbers that @record defines. */
static int append_register(struct recording_writer *writer, const struct record *record)
{
	int err;

	append_register_stacks(writer, record);
	switch (record->type) {
	case RECORD_STRING:
		return intern_table__add(&writer->strings, record->string.bytes,
					 record->string.size, record->string.number);
	case RECORD_DSO:
		err = writer__make_key(writer, record);
		return err ? err
			   : intern_table__add(&writer->dsos, writer->key.raw.data,
					       writer->key.raw.n, record->dso.number);
	case RECORD_OBJECT:
		err = writer__make_key(writer, record);
		return err ? err
			   : intern_table__add(&writer->objects, writer->key.raw.data,
					       writer->key.raw.n, record->object.number);
	default:
		return 0;
	}
}

static int append_read(struct recording_writer *writer, struct recording_reader *reader)
{
	struct record record;
	int err;

	while ((err = recording_reader__next(reader, &record)) == 1) {
		err = append_register(writer, &record);
		if (err)
			return error__errno(err, "cannot add to %s", writer->path);
	}
	if (err)
		return err;
	if (reader->faults.header || reader->faults.damaged || reader->faults.missing) {
		error__set(-EINVAL, "cannot add to %s: %s", writer->path,
			   recording_reader__warning(reader));
		error__hint("Its undamaged parts can still be read.");
		return -EINVAL;
	}
	return 0;
}

/* Positions the writer after the last existing data chunk, over the old index. */
static void append_continue(struct recording_writer *writer, struct recording_reader *reader)
{
	bool cut = !reader->finished && !reader->indexed;

	writer->offset = cut ? reader->faults.cut_at : reader->index.offset;
	writer->number = cut ? reader->expected : reader->index.header.number;
	/* A recording without any chunk has no index chunk either. */
	if (reader->finished && !reader->indexed) {
		writer->offset = reader->offset;
		writer->number = reader->expected;
	}
	writer->chunks.data = reader->chunks.data;
	writer->chunks.n = reader->chunks.n;
	writer->chunks.capacity = reader->chunks.capacity;
	memset(&reader->chunks, 0, sizeof(reader->chunks));
	if (cut || (reader->finished && reader->trailer.flags & TRAILER_WAS_CUT))
		writer->flags |= TRAILER_WAS_CUT;

	writer->appending = writer->untouched = true;
	writer->was_finished = !cut;
	writer->was_offset = writer->offset;
	writer->was_number = writer->number;
	writer->was_chunks = writer->chunks.n;
}

static int append_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

/* Prefers the reader's error message for why @path cannot be opened. */
static int append_open_error(const char *path, int err)
{
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	int reading;

	reading = recording_reader__open(path, &reader);
	if (reading)
		return reading;
	error__errno(err, "cannot add to %s", path);
	error__hint("It can be read, but not written to.");
	return err;
}

int recording_writer__append(const char *path, struct recording_writer **out)
{
	_cleanup_close_ int fd = append_open(path);

	return fd < 0 ? append_open_error(path, fd) : recording_writer__append_fd(fd, path, out);
}

int recording_writer__append_fd(int fd, const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	int err, copy;

	err = writer__new(path, &writer);
	if (err)
		return err;
	/* Duplicates share the lock; reads and writes use pread() and pwrite(). */
	writer->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (writer->fd < 0)
		return error__errno(-errno, "cannot add to %s", path);
	if (flock(writer->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return error__set(-EBUSY, "cannot add to %s: it is still being written", path);
	copy = fcntl(writer->fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return error__errno(-errno, "cannot add to %s", path);
	err = recording_reader__open_fd(copy, path, &reader);
	if (err)
		return err;
	err = append_read(writer, reader);
	if (err)
		return err;
	append_continue(writer, reader);
	*out = TAKE_PTR(writer);
	return 0;
}
