// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/invoking_user.h"

/* What is removed if a signal ends dwell. One file is written at a time. */
static const char *volatile unfinished;

static void on_signal(int number)
{
	const char *path = unfinished;

	if (path)
		unlink(path);
	signal(number, SIG_DFL);
	raise(number);
}

/* Signals that were ignored stay so. */
static void remove_on_signal(const char *path)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

	unfinished = path;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (signal(numbers[i], on_signal) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
}

bool output_file__is_whole(const char *path)
{
	struct stat there;

	return strcmp(path, "-") != 0 && (stat(path, &there) || S_ISREG(there.st_mode));
}

int output_file__begin(struct output_file *file, const char *path)
{
	*file = (struct output_file){.path = path};
	if (!output_file__is_whole(path))
		return 0;
	if (asprintf(&file->partial, "%s.partial", path) < 0) {
		file->partial = NULL;
		return -ENOMEM;
	}
	if (unlink(file->partial) && errno != ENOENT) {
		int err = error__errno(-errno, "cannot create '%s'", path);

		free(file->partial);
		return err;
	}
	remove_on_signal(file->partial);
	return 0;
}

/* What a recording has is for its user alone, as the recording itself is. */
static void make_private(int fd)
{
	fchmod(fd, 0600);
	invoking_user__chown(fd);
}

int output_file__open(struct output_file *file, const char *path)
{
	int err = output_file__begin(file, path);

	if (err)
		return err;
	if (!strcmp(path, "-"))
		file->to = stdout;
	else
		file->to = fopen(file->partial ? file->partial : path, "we");
	if (file->to) {
		if (file->partial)
			make_private(fileno(file->to));
		return 0;
	}
	err = error__errno(-errno, "cannot create '%s'", path);
	unfinished = NULL;
	free(file->partial);
	return err;
}

/* Why an earlier write failed: a stream does not keep it, so one more tells. */
static int write_error(FILE *to)
{
	errno = EIO;
	clearerr(to);
	fputc('\n', to);
	fflush(to);
	return -errno;
}

static int close_stream(struct output_file *file)
{
	int err = ferror(file->to) ? write_error(file->to) : fflush(file->to) ? -errno : 0;

	if (file->to != stdout && fclose(file->to) && !err)
		err = -errno;
	return err;
}

int output_file__close(struct output_file *file, int err)
{
	int written = file->to ? close_stream(file) : 0;

	/* A full disk is the reason for what a writer could not do. */
	if (written && (!err || err == -EIO))
		err = error__errno(written, "cannot write '%s'", file->path);
	if (!err && file->partial && !file->to) {
		int fd = open(file->partial, O_RDONLY | O_CLOEXEC);

		if (fd >= 0) {
			make_private(fd);
			close(fd);
		}
	}
	if (!err && file->partial && rename(file->partial, file->path))
		err = error__errno(-errno, "cannot create '%s'", file->path);
	if (err && file->partial)
		unlink(file->partial);
	unfinished = NULL;
	free(file->partial);
	return err;
}

bool output_file__is(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
