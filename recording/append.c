// SPDX-License-Identifier: BSD-2-Clause
/* Adding records to a recording that is there. */
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

static void append__see_stack(struct recording_writer *writer, uint32_t number)
{
	if (number > writer->stacks.last)
		writer->stacks.last = number;
}

/* Takes over the numbers that @record gives out. */
static int append__see(struct recording_writer *writer, const struct record *record)
{
	int err;

	switch (record->type) {
	case RECORD_STRING:
		return table__enter(&writer->strings, record->string.bytes, record->string.size,
				    record->string.number);
	case RECORD_DSO:
		err = writer__make_key(writer, record);
		return err ? err
			   : table__enter(&writer->dsos, writer->key.raw.data, writer->key.raw.n,
					  record->dso.number);
	case RECORD_OBJECT:
		err = writer__make_key(writer, record);
		return err ? err
			   : table__enter(&writer->objects, writer->key.raw.data, writer->key.raw.n,
					  record->object.number);
	case RECORD_STACK:
		err = writer__make_key(writer, record);
		return err ? err
			   : table__enter(&writer->stacks, writer->key.raw.data, writer->key.raw.n,
					  record->stack.number);
	/* Numbers of stacks whose frames never came. */
	case RECORD_SAMPLE:
		append__see_stack(writer, record->sample.kernel_stack);
		append__see_stack(writer, record->sample.user_stack);
		return 0;
	case RECORD_INTERVAL:
		append__see_stack(writer, record->interval.kernel_stack);
		append__see_stack(writer, record->interval.user_stack);
		return 0;
	case RECORD_WAKE:
		append__see_stack(writer, record->wake.kernel_stack);
		append__see_stack(writer, record->wake.user_stack);
		return 0;
	default:
		return 0;
	}
}

static int append__read(struct recording_writer *writer, struct recording_reader *reader)
{
	struct record record;
	int err;

	while ((err = recording_reader__next(reader, &record)) == 1) {
		err = append__see(writer, &record);
		if (err)
			return error__errno(err, "cannot add to %s", writer->path);
	}
	if (err)
		return err;
	if (reader->trouble.header || reader->trouble.damaged || reader->trouble.missing) {
		error__set(-EINVAL, "cannot add to %s: %s", writer->path,
			   recording_reader__warning(reader));
		error__hint("What is whole in it can still be read.");
		return -EINVAL;
	}
	return 0;
}

/* Sets the writer behind the last chunk that was there. */
static void append__continue(struct recording_writer *writer, struct recording_reader *reader)
{
	bool cut = !reader->finished && !reader->indexed;

	writer->offset = cut ? reader->trouble.cut_at : reader->index.offset;
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

static int append__open(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return error__set(-EBUSY, "cannot add to %s: it is still being written", path);
	return TAKE_FD(fd);
}

/* Why @path cannot be opened, as the reader tells it. */
static int append__explain(const char *path, int err)
{
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	int reading;

	if (err == -EBUSY)
		return err;
	reading = recording_reader__open(path, &reader);
	if (reading)
		return reading;
	error__errno(err, "cannot add to %s", path);
	error__hint("Reading it works, but writing to it does not.");
	return err;
}

int recording_writer__append(const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	int err, fd;

	err = writer__new(path, &writer);
	if (err)
		return err;
	writer->fd = append__open(path);
	if (writer->fd < 0)
		return append__explain(path, writer->fd);
	/* A copy shares the lock, and both read and write by position. */
	fd = fcntl(writer->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return error__errno(-errno, "cannot add to %s", path);
	err = recording_reader__open_fd(fd, path, &reader);
	if (err)
		return err;
	err = append__read(writer, reader);
	if (err)
		return err;
	append__continue(writer, reader);
	*out = TAKE_PTR(writer);
	return 0;
}
