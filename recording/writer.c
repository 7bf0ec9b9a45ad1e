// SPDX-License-Identifier: BSD-2-Clause
#include "recording/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/error.h"
#include "base/owner.h"

DEFINE_CLEANUP(struct recording_writer *, writer__free)

int writer__new(const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;

	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return error__errno(-ENOMEM, "cannot write %s", path);
	writer->fd = -1;
	writer->path = strdup(path);
	writer->zstd = ZSTD_createCCtx();
	if (!writer->path || !writer->zstd)
		return error__errno(-ENOMEM, "cannot write %s", path);
	*out = TAKE_PTR(writer);
	return 0;
}

void writer__free(struct recording_writer *writer)
{
	closep(&writer->fd);
	free(writer->path);
	free(writer->out);
	ZSTD_freeCCtx(writer->zstd);
	encoder__free(&writer->encoder);
	encoder__free(&writer->key);
	array__free(&writer->chunks);
	table__free(&writer->strings);
	table__free(&writer->dsos);
	table__free(&writer->objects);
	table__free(&writer->stacks);
	map64__free(&writer->hashes);
	free(writer);
}

/* Tells the writer's error, each time that it is returned. */
static int writer__status(const struct recording_writer *writer)
{
	if (!writer->error)
		return 0;
	error__errno(writer->error, "cannot write %s", writer->path);
	switch (writer->error) {
	case -ENOSPC:
	case -EDQUOT:
		error__hint("What was recorded before is readable. Make room, or write to another\n"
			    "disk: -o FILE");
		break;
	case -EFBIG:
		error__hint("What was recorded before is readable. Raise the limit: ulimit -f");
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

static int create__refuse(const char *path, mode_t mode)
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

/*
 * Moves a file at @path out of the way, to @old. Devices that swallow anything
 * (/dev/null) stay; links are not followed, as they may be somebody else's.
 * Returns 1 when a file was moved, 0, or -errno.
 */
static int create__make_way(const char *path, const char *old, bool *device)
{
	struct stat st;

	*device = false;
	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return error__errno(-errno, "cannot write %s", path);
	}
	*device = S_ISCHR(st.st_mode);
	if (*device)
		return 0;
	if (!S_ISREG(st.st_mode))
		return create__refuse(path, st.st_mode);
	if (rename(path, old))
		return error__errno(-errno, "cannot rename %s to %s", path, old);
	return 1;
}

static int create__open(const char *path)
{
	_cleanup_free_ char *old = NULL;
	bool device;
	int moved, fd, err;

	if (asprintf(&old, "%s.old", path) < 0) {
		old = NULL;
		return error__errno(-ENOMEM, "cannot write %s", path);
	}
	moved = create__make_way(path, old, &device);
	if (moved < 0)
		return moved;
	/* Recordings hold command lines and paths: for the owner's eyes. */
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | (device ? 0 : O_CREAT | O_EXCL), 0600);
	if (fd >= 0 && !device)
		(void)owner__give(fd); /* root can read it in any case */
	if (fd >= 0)
		return fd;
	err = error__errno(-errno, "cannot create %s", path);
	error__hint("Write to another place: -o FILE");
	if (moved && rename(old, path))
		error__hint("The recording that was there is %s now.", old);
	return err;
}

int recording_writer__create(const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;
	int err;

	err = writer__new(path, &writer);
	if (err)
		return err;
	writer->fd = create__open(path); // NOLINT(*NullDereference): it was set, above
	if (writer->fd < 0)
		return writer->fd;
	/* For others to see that it is being written; where that cannot be, they do not. */
	(void)flock(writer->fd, LOCK_EX | LOCK_NB);
	err = writer__write_header(writer);
	if (err) {
		writer__fail(writer, err);
		return writer__status(writer);
	}
	*out = TAKE_PTR(writer);
	return 0;
}

int recording_writer__put(struct recording_writer *writer, const struct record *record)
{
	int err;

	if (writer->error)
		return writer__status(writer);
	if (!layout__of(record->type) ||
	    (record->type >= RECORD_STRING && record->type <= RECORD_OBJECT))
		return error__set(-EINVAL, "a record of type %d cannot be put", record->type);
	err = encoder__put(&writer->encoder, record);
	if (err) {
		writer__fail(writer, err);
		return writer__status(writer);
	}
	writer->records++;
	if (writer->encoder.raw.n >= CHUNK_RAW_TARGET)
		return recording_writer__flush(writer);
	return 0;
}

int recording_writer__meta(struct recording_writer *writer, const char *key, const char *fmt, ...)
{
	struct record record = {.type = RECORD_META};
	_cleanup_free_ char *value = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&value, fmt, args);
	va_end(args);
	if (n < 0) {
		value = NULL;
		writer__fail(writer, -ENOMEM);
		return writer__status(writer);
	}
	record.meta.key = recording_writer__string(writer, key);
	record.meta.value = recording_writer__string(writer, value);
	return recording_writer__put(writer, &record);
}

int recording_writer__flush(struct recording_writer *writer)
{
	int err;

	if (!writer->error && writer->encoder.records) {
		err = writer__write_chunk(writer);
		if (err)
			writer__fail(writer, err);
	}
	return writer__status(writer);
}

uint64_t recording_writer__size(const struct recording_writer *writer)
{
	return writer->offset;
}

uint64_t recording_writer__records(const struct recording_writer *writer)
{
	return writer->records;
}

int recording_writer__close(struct recording_writer *writer)
{
	int err;

	if (!writer)
		return 0;
	recording_writer__flush(writer);
	if (!writer->error && !writer->untouched) {
		err = writer__write_end(writer);
		if (err)
			writer__fail(writer, err);
	}
	/* Some file systems tell only here that the disk is full. */
	if (close(TAKE_FD(writer->fd)) && !writer->error)
		writer->error = -errno;
	err = writer__status(writer);
	writer__free(writer);
	return err;
}
