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

#include "base/cleanup.h"
#include "base/error.h"

/* What is removed if a signal ends dwell. One file is written at a time. */
static const struct new_file *volatile unfinished;

static void on_signal(int number)
{
	const struct new_file *file = unfinished;

	if (file && *file->temporary)
		unlinkat(file->directory, file->temporary, 0);
	signal(number, SIG_DFL);
	raise(number);
}

/* Signals that were ignored stay so. */
static void remove_on_signal(const struct new_file *file)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

	unfinished = file;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (signal(numbers[i], on_signal) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
}

/* The descriptor of dwell that @path is a name of; -1: none. */
static int own_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const char *number = path + strlen(folders[i]);
		unsigned long fd;
		char *end;

		if (strncmp(path, folders[i], strlen(folders[i])) != 0 || !*number)
			continue;
		fd = strtoul(number, &end, 10);
		if (!*end && fd <= INT_MAX)
			return (int)fd;
	}
	return -1;
}

/* A stream that writes to a duplicate of @fd. */
static int open_stream(struct output_file *file, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	file->to = copy < 0 ? NULL : fdopen(copy, "we");
	if (file->to)
		return 0;
	if (copy >= 0)
		close(copy);
	return error__errno(-errno, "cannot create '%s'", file->path);
}

static int open_place(struct output_file *file)
{
	struct stat there;
	int fd, err = new_file__find(file->path, &file->file, &there);

	if (err)
		return err;
	file->whole = !there.st_mode || S_ISREG(there.st_mode) || S_ISLNK(there.st_mode);
	if (!file->whole) {
		err = new_file__open_device(&file->file, file->path, &fd);
		if (err)
			return err;
		err = open_stream(file, fd);
		close(fd);
		return err;
	}
	remove_on_signal(&file->file);
	err = new_file__create(&file->file);
	if (err)
		return error__errno(err, "cannot create '%s'", file->path);
	return open_stream(file, file->file.fd);
}

int output_file__open(struct output_file *file, const char *path)
{
	int err, own = own_descriptor(path);

	*file = (struct output_file){.path = path, .file = NEW_FILE_NONE};
	if (own == STDOUT_FILENO) {
		file->to = stdout;
		return 0;
	}
	err = own >= 0 ? open_stream(file, own) : open_place(file);
	if (err) {
		unfinished = NULL;
		new_file__free(&file->file);
	}
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
	int written = close_stream(file);

	/* A full disk is the reason for what a writer could not do. */
	if (written && (!err || err == -EIO))
		err = error__errno(written, "cannot write '%s'", file->path);
	if (!err && file->whole) {
		err = new_file__take_place(&file->file, NULL);
		if (err)
			error__errno(err, "cannot create '%s'", file->path);
	}
	unfinished = NULL;
	new_file__free(&file->file);
	return err;
}

bool output_file__is(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
