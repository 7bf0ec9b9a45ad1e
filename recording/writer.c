// SPDX-License-Identifier: BSD-2-Clause
#include "recording/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/error.h"

DEFINE_CLEANUP(struct recording_writer *, writer__free)

int writer__new(const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;

	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return error__errno(-ENOMEM, "cannot write %s", path);
	writer->fd = -1;
	writer->file = NEW_FILE_NONE;
	writer->path = strdup(path);
	writer->zstd = ZSTD_createCCtx();
	if (!writer->path || !writer->zstd || record_stream__new(&writer->stream))
		return error__errno(-ENOMEM, "cannot write %s", path);
	*out = TAKE_PTR(writer);
	return 0;
}

void writer__free(struct recording_writer *writer)
{
	closep(&writer->fd);
	new_file__free(&writer->file);
	free(writer->path);
	free(writer->out);
	ZSTD_freeCCtx(writer->zstd);
	encoder__free(&writer->encoder);
	array__free(&writer->chunks);
	record_stream__free(writer->stream);
	free(writer);
}

/* Returns the writer's error, if any, with its message and hint recorded. */
static int report_error(const struct recording_writer *writer)
{
	const char *before = writer->waiting ? "" : "What was recorded before is readable.\n";

	if (!writer->error)
		return 0;
	error__errno(writer->error, "cannot write %s", writer->path);
	switch (writer->error) {
	case -ENOSPC:
	case -EDQUOT:
		error__hint("%sMake room, or write to another disk: -o FILE", before);
		break;
	case -EFBIG:
		error__hint("%sRaise the limit: ulimit -f", before);
		break;
	default:
		break;
	}
	return writer->error;
}

int writer__fail(struct recording_writer *writer, int err)
{
	if (!writer->error) {
		writer->error = err;
		writer__roll_back(writer);
	}
	return err;
}

static int refuse_file_type(const char *path, mode_t mode)
{
	if (S_ISDIR(mode)) {
		error__set(-EISDIR, "cannot write %s: it is a directory", path);
		error__hint("Name a file: -o %s/dwell.data", path);
		return -EISDIR;
	}
	if (S_ISLNK(mode)) {
		error__set(-ELOOP, "cannot write %s: it is a symbolic link", path);
		error__hint("Name the file that it points to, or remove it.");
		return -ELOOP;
	}
	error__set(-EINVAL, "cannot write %s: it is a pipe or device", path);
	error__hint("A recording is written by position. Name a file: -o FILE");
	return -EINVAL;
}

/* Creates the file, without its name. Character devices (/dev/null) are opened. */
static int create_file(struct recording_writer *writer)
{
	const char *path = writer->path; // NOLINT(*NullDereference): set by writer__new()
	struct stat there;
	int err = new_file__find(path, &writer->file, &there);

	if (err)
		return err;
	writer->is_device = S_ISCHR(there.st_mode);
	if (writer->is_device)
		return new_file__open_device(&writer->file, path, &writer->fd);
	if (there.st_mode && !S_ISREG(there.st_mode))
		return refuse_file_type(path, there.st_mode);
	err = new_file__create(&writer->file);
	if (!err) {
		writer->fd = fcntl(writer->file.fd, F_DUPFD_CLOEXEC, 3);
		err = writer->fd < 0 ? -errno : 0;
	}
	writer->waiting = !err;
	if (!err)
		return 0;
	error__errno(err, "cannot create %s", path);
	error__hint("Write to another place: -o FILE");
	return err;
}

/* Gives the file its name; one that had it is kept as PATH.old. */
static int take_place(struct recording_writer *writer)
{
	int err = new_file__take_place(&writer->file, ".old");

	if (err)
		return err;
	writer->waiting = false;
	new_file__free(&writer->file);
	return 0;
}

/* Whether a view can show something if there is a record of this type. */
static bool is_sample(uint8_t type)
{
	return type == RECORD_SAMPLE || type == RECORD_INTERVAL || type == RECORD_CALL;
}

/* As struct record_sink. */
static int put(void *arg, const struct record *record)
{
	struct recording_writer *writer = arg;
	int err;

	if (writer->error)
		return report_error(writer);
	if (!layout__of(record->type))
		return error__set(-EINVAL, "a record of type %d cannot be put", record->type);
	writer->has_sample |= is_sample(record->type);
	err = encoder__put(&writer->encoder, record);
	if (err) {
		writer__fail(writer, err);
		return report_error(writer);
	}
	if (writer->encoder.raw.n >= CHUNK_RAW_TARGET)
		return recording_writer__flush(writer);
	return 0;
}

struct record_stream *recording_writer__stream(struct recording_writer *writer)
{
	return writer->stream;
}

int recording_writer__create(const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;
	int err;

	err = writer__new(path, &writer);
	if (err)
		return err;
	record_stream__add_sink(writer->stream, // NOLINT(*NullDereference): set by writer__new()
				&(struct record_sink){put, writer});
	err = create_file(writer);
	if (err)
		return err;
	/* Tells that it is being written. Not all file systems can. */
	(void)flock(writer->fd, LOCK_EX | LOCK_NB);
	err = writer__write_header(writer);
	if (err) {
		writer__fail(writer, err);
		return report_error(writer);
	}
	*out = TAKE_PTR(writer);
	return 0;
}

int recording_writer__flush(struct recording_writer *writer)
{
	int err;

	if (!writer->error && writer->encoder.records) {
		err = writer__write_chunk(writer);
		if (!err && writer->waiting && writer->has_sample)
			err = take_place(writer);
		if (err)
			writer__fail(writer, err);
	}
	return report_error(writer);
}

uint64_t recording_writer__size(const struct recording_writer *writer)
{
	return writer->offset;
}

bool recording_writer__has_name(const struct recording_writer *writer)
{
	return !writer->waiting;
}

/* Writes what is not in the file yet. */
static void write_rest(struct recording_writer *writer)
{
	int err = 0;

	if (!writer->error && !writer->untouched)
		err = writer__write_end(writer);
	if (!err && !writer->error && writer->waiting && new_file__place_is_free(&writer->file))
		err = take_place(writer);
	if (err)
		writer__fail(writer, err);
}

int recording_writer__complete(struct recording_writer *writer)
{
	uint64_t offset;
	uint32_t number;

	recording_writer__flush(writer);
	offset = writer->offset;
	number = writer->number;
	write_rest(writer);
	if (writer->error)
		return report_error(writer);
	writer->completed = writer->untouched = true;
	writer->was_offset = writer->offset = offset;
	writer->was_number = writer->number = number;
	writer->was_chunks = writer->chunks.n;
	return 0;
}

int recording_writer__close(struct recording_writer *writer)
{
	int err;

	if (!writer)
		return 0;
	recording_writer__flush(writer);
	write_rest(writer);
	/* Some file systems report a full disk only here. */
	if (close(TAKE_FD(writer->fd)) && !writer->error)
		writer->error = -errno;
	err = report_error(writer);
	writer__free(writer);
	return err;
}

void recording_writer__discard(struct recording_writer *writer)
{
	if (writer)
		writer__free(writer);
}
