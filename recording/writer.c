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
#include "base/invoking_user.h"

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
	intern_table__free(&writer->strings);
	intern_table__free(&writer->dsos);
	intern_table__free(&writer->objects);
	map64__free(&writer->stacks);
	free(writer);
}

/* Returns the writer's error, if any, with its message and hint recorded. */
static int report_error(const struct recording_writer *writer)
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

/*
 * Renames an existing file @path to @old. Character devices (/dev/null) are kept, and *@device is
 * set; symbolic links are refused, as another user may have made them. Returns 1 if a file was
 * renamed, 0, or -errno.
 */
static int move_old_file(const char *path, const char *old, bool *device)
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
		return refuse_file_type(path, st.st_mode);
	if (rename(path, old))
		return error__errno(-errno, "cannot rename %s to %s", path, old);
	return 1;
}

/* Instead of @path, which could not be written, the file @old that was there is put back. */
static void put_back(const char *path, const char *old)
{
	if (rename(old, path))
		error__hint("The recording that was there is %s now.", old);
}

/* *@moved: the file that was there is @old now. */
static int create_file(const char *path, const char *old, int *moved)
{
	bool device;
	int fd, err;

	*moved = move_old_file(path, old, &device);
	if (*moved < 0)
		return *moved;
	/* Recordings contain command lines and paths: readable by the owner only. */
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | (device ? 0 : O_CREAT | O_EXCL), 0600);
	if (fd >= 0 && !device)
		(void)invoking_user__chown(fd); /* root can read it in any case */
	if (fd >= 0)
		return fd;
	err = error__errno(-errno, "cannot create %s", path);
	error__hint("Write to another place: -o FILE");
	if (*moved)
		put_back(path, old);
	return err;
}

int recording_writer__create(const char *path, struct recording_writer **out)
{
	_cleanup_(writer__freep) struct recording_writer *writer = NULL;
	_cleanup_free_ char *old = NULL;
	int moved, err;

	err = writer__new(path, &writer);
	if (err)
		return err;
	if (asprintf(&old, "%s.old", path) < 0) {
		old = NULL;
		return error__errno(-ENOMEM, "cannot write %s", path);
	}
	// NOLINTNEXTLINE(*NullDereference): set by writer__new()
	writer->fd = create_file(path, old, &moved);
	if (writer->fd < 0)
		return writer->fd;
	/* Tells recording_writer__append() that it is being written. Not all file systems can. */
	(void)flock(writer->fd, LOCK_EX | LOCK_NB);
	err = writer__write_header(writer);
	if (err) {
		writer__fail(writer, err);
		err = report_error(writer);
		if (moved)
			put_back(path, old);
		return err;
	}
	*out = TAKE_PTR(writer);
	return 0;
}

int recording_writer__put(struct recording_writer *writer, const struct record *record)
{
	int err;

	if (writer->error)
		return report_error(writer);
	if (!layout__of(record->type) ||
	    (record->type >= RECORD_STRING && record->type <= RECORD_OBJECT))
		return error__set(-EINVAL, "a record of type %d cannot be put", record->type);
	err = encoder__put(&writer->encoder, record);
	if (err) {
		writer__fail(writer, err);
		return report_error(writer);
	}
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
		return report_error(writer);
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
	return report_error(writer);
}

uint64_t recording_writer__size(const struct recording_writer *writer)
{
	return writer->offset;
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
	/* Some file systems report a full disk only here. */
	if (close(TAKE_FD(writer->fd)) && !writer->error)
		writer->error = -errno;
	err = report_error(writer);
	writer__free(writer);
	return err;
}
