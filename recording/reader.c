// SPDX-License-Identifier: BSD-2-Clause
#include "recording/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/version.h"
#include "recording/file_type.h"

DEFINE_CLEANUP(struct recording_reader *, recording_reader__close)

/* Records the error and hint for a failed open(). */
static int open_error(const char *path, int err)
{
	struct stat st;

	switch (err) {
	case -ENOENT:
		error__set(err, "there is no recording %s", path);
		error__hint("Record one first: dwell record -- COMMAND\n"
			    "or name the file: -i FILE");
		return err;
	case -EACCES:
	case -EPERM:
		error__errno(err, "cannot open %s", path);
		if (!stat(path, &st) && st.st_uid != geteuid())
			error__hint(
				"It belongs to user %u, who recorded it. Run with sudo, or once:\n"
				"sudo chown $USER %s",
				st.st_uid, path);
		else
			error__hint(
				"It takes permission to read the file and to enter its folder.");
		return err;
	default:
		return error__errno(err, "cannot open %s", path);
	}
}

static int not_a_regular_file(const char *path, mode_t mode)
{
	if (S_ISDIR(mode)) {
		error__set(-EISDIR, "%s is a directory, not a recording", path);
		error__hint("Name the file in it: -i %s/dwell.data", path);
		return -EISDIR;
	}
	error__set(-EINVAL, "%s is a pipe or device, not a recording", path);
	error__hint("A recording is read by position. Put it in a file first.");
	return -EINVAL;
}

static int not_a_recording(const char *path, const void *head, size_t n)
{
	const struct file_type *type = file_type__recognize(head, n);

	error__set(-EINVAL, "%s is not a recording of dwell: it is %s", path,
		   type ? type->what : "something else");
	error__hint("%s",
		    type ? type->hint : "Name a file written by: dwell record -o FILE -- COMMAND");
	return -EINVAL;
}

/* Checks that the file is a recording that this version can read. */
static int open_header(struct recording_reader *reader)
{
	uint8_t bytes[FILE_HEADER_SIZE];
	int64_t n = byte_source__read(&reader->source, 0, bytes, sizeof(bytes));
	const char *path = reader->path;

	if (n < 0)
		return error__errno((int)n, "cannot read %s", path);
	if (n == 0 || (n < FILE_HEADER_SIZE &&
		       !memcmp(bytes, FORMAT_MAGIC, n < FORMAT_MARKER_SIZE ? (size_t)n : 8))) {
		error__set(-ENODATA, n ? "%s was cut short in its first bytes" : "%s is empty",
			   path);
		error__hint("The recorder was stopped, or the disk was full, before anything was "
			    "recorded.\nRecord again: dwell record -- COMMAND");
		return -ENODATA;
	}
	if (n < FILE_HEADER_SIZE || memcmp(bytes, FORMAT_MAGIC, FORMAT_MARKER_SIZE) != 0)
		return not_a_recording(path, bytes, (size_t)n);
	if (!file_header__unpack(bytes, &reader->header)) {
		reader->faults.header = true;
		reader->header = (struct file_header){FORMAT_MAJOR, FORMAT_MINOR, FILE_HEADER_SIZE};
	}
	if (reader->header.major > FORMAT_MAJOR) {
		error__set(-ENOTSUP, "%s has format %u.%u; this dwell (%s) reads up to %u", path,
			   reader->header.major, reader->header.minor, dwell_version, FORMAT_MAJOR);
		error__hint("It was written by a newer dwell. Read it with that one.");
		return -ENOTSUP;
	}
	return 0;
}

/* Owns @source.fd from now on, also on errors. */
static int open_bytes(struct byte_source source, const char *path, struct recording_reader **out)
{
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	int err;

	reader = calloc(1, sizeof(*reader));
	if (!reader) {
		closep(&source.fd);
		return error__errno(-ENOMEM, "cannot read %s", path);
	}
	reader->source = source;
	reader->decoder.numbers = &reader->numbers;
	reader->path = strdup(path);
	if (!reader->path)
		return error__errno(-ENOMEM, "cannot read %s", path);
	err = open_header(reader);
	if (err)
		return err;
	recording_reader__rewind(reader);
	*out = TAKE_PTR(reader);
	return 0;
}

int recording_reader__open_memory(const void *data, size_t size, struct recording_reader **out)
{
	return open_bytes((struct byte_source){.fd = -1, .memory = data, .size = size}, "(memory)",
			  out);
}

int recording_reader__open_fd(int fd, const char *path, struct recording_reader **out)
{
	_cleanup_close_ int file = fd;
	struct byte_source source = {};
	struct stat st;

	if (fstat(file, &st))
		return error__errno(-errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return not_a_regular_file(path, st.st_mode);
	source.size = (uint64_t)st.st_size;
	source.fd = TAKE_FD(file);
	return open_bytes(source, path, out);
}

int recording_reader__open(const char *path, struct recording_reader **out)
{
	/* O_NONBLOCK: must not wait for the writer of a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return open_error(path, -errno);
	return recording_reader__open_fd(fd, path, out);
}

struct sentence {
	char *text;
	size_t size;
	size_t n;
};

static void sentence_add(struct sentence *sentence, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void sentence_add(struct sentence *sentence, const char *fmt, ...)
{
	va_list args;
	int n = 0;

	if (sentence->n && sentence->n < sentence->size)
		n = snprintf(sentence->text + sentence->n, sentence->size - sentence->n, "; ");
	sentence->n += (size_t)n;
	if (sentence->n >= sentence->size)
		return;
	va_start(args, fmt);
	n = vsnprintf(sentence->text + sentence->n, sentence->size - sentence->n, fmt, args);
	va_end(args);
	sentence->n += n > 0 ? (size_t)n : 0;
}

/* In records if the trailer has their number, else in chunks. */
static void describe_missing(const struct recording_reader *reader, struct sentence *sentence)
{
	if (reader->finished && reader->trailer.records > reader->records)
		sentence_add(sentence, "%" PRIu64 " of %" PRIu64 " records are missing",
			     reader->trailer.records - reader->records, reader->trailer.records);
	else if (reader->faults.missing)
		sentence_add(sentence, "%" PRIu64 " chunks of records are missing",
			     reader->faults.missing);
}

/* Composes the warning from the faults, "" for none. */
static void describe_faults(const struct recording_reader *reader, char *text, size_t size)
{
	const struct reader_faults *faults = &reader->faults;
	struct sentence sentence = {.text = text, .size = size};

	text[0] = '\0';
	if (faults->header)
		sentence_add(&sentence, "the file header is damaged");
	if (faults->damaged == 1)
		sentence_add(&sentence, "damaged at byte %" PRIu64 ", which was skipped",
			     faults->damage_at);
	if (faults->damaged > 1)
		sentence_add(&sentence,
			     "damaged in %" PRIu64 " places, first at byte %" PRIu64
			     ", which were skipped",
			     faults->damaged, faults->damage_at);
	describe_missing(reader, &sentence);
	if (faults->invalid)
		sentence_add(&sentence, "%" PRIu64 " impossible records were skipped",
			     faults->invalid);
	if (reader->decoder.dangling)
		sentence_add(&sentence, "%" PRIu64 " references to missing records read as none",
			     reader->decoder.dangling);
	if (faults->cut && reader->indexed)
		sentence_add(&sentence, "its end mark is damaged, the records are whole");
	else if (faults->cut)
		sentence_add(&sentence,
			     "cut short at byte %" PRIu64 ", behind %" PRIu64
			     " records: the recorder was killed, the disk was full, or it is still "
			     "recording",
			     faults->cut_at, reader->records);
	if (reader->finished && reader->trailer.flags & TRAILER_WAS_CUT)
		sentence_add(&sentence, "the end of the recording is missing: the recorder was "
					"killed, or the disk was full");
	if (faults->trailing)
		sentence_add(&sentence, "%" PRIu64 " bytes behind its end were ignored",
			     faults->trailing);
}

/* At the end of a chunk, or where it cannot be decoded any further (@broken). */
static void end_chunk(struct recording_reader *reader, bool broken)
{
	const struct chunk_place *place = &reader->chunks.data[reader->chunks.n - 1];

	reader->in_chunk = false;
	if (broken || reader->chunk_records != place->header.records)
		recording_reader__count_damage(reader, place->offset);
}

int recording_reader__next(struct recording_reader *reader, struct record *record)
{
	int err;

	for (;;) {
		if (!reader->in_chunk) {
			err = recording_reader__next_chunk(reader);
			if (err == 0)
				describe_faults(reader, reader->warning, sizeof(reader->warning));
			if (err <= 0)
				return err;
		}
		err = decoder__next(&reader->decoder, record);
		if (err < 0)
			return error__errno(err, "cannot read %s", reader->path);
		switch ((enum decoded)err) {
		case DECODED_RECORD:
			reader->chunk_records++;
			return 1;
		case DECODED_INVALID:
			reader->faults.invalid++;
			reader->chunk_records++;
			break;
		case DECODED_UNKNOWN:
			reader->chunk_records++;
			break;
		case DECODED_BROKEN:
		case DECODED_END:
			end_chunk(reader, err == DECODED_BROKEN);
		}
	}
}

const char *recording_reader__warning(const struct recording_reader *reader)
{
	return reader->warning[0] ? reader->warning : NULL;
}

void recording_reader__rewind(struct recording_reader *reader)
{
	bool header = reader->faults.header;

	reader->offset = reader->header.size;
	reader->expected = 0;
	reader->indexed = reader->finished = reader->ended = reader->in_chunk = false;
	reader->records = 0;
	reader->chunks.n = 0;
	reader->decoder.dangling = 0;
	reader->faults = (struct reader_faults){.header = header};
	numbers__reset(&reader->numbers);
}

void recording_reader__close(struct recording_reader *reader)
{
	if (!reader)
		return;
	closep(&reader->source.fd);
	free(reader->path);
	free(reader->stored);
	free(reader->raw);
	ZSTD_freeDCtx(reader->zstd);
	array__free(&reader->chunks);
	decoder__free(&reader->decoder);
	numbers__free(&reader->numbers);
	free(reader);
}
