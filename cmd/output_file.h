/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that a command writes, whole or not at all: what is not complete has another name
 * (FILE.partial), and is removed if the command fails, or is ended by a signal. "-" is standard
 * output. Devices and pipes are written directly.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct output_file {
	const char *path; /* as given */
	char *partial;	  /* NULL: @path is no file */
	FILE *to;	  /* NULL after output_file__begin() alone */
};

/* Whether @path is written whole or not at all: it is no device, pipe or standard output. */
bool output_file__is_whole(const char *path);

/* Decides on the name of what is not complete, for writers that create the file themselves, and
 * removes an old one. Returns 0 or -errno. */
int output_file__begin(struct output_file *file, const char *path);

/* As output_file__begin(), and creates it as @file->to. Returns 0 or -errno. */
int output_file__open(struct output_file *file, const char *path);

/* Ends it. @err is of the command: other than 0 removes it. Returns @err, or -errno if not
 * everything could be written. To be called once @file was opened, or begun. */
int output_file__close(struct output_file *file, int err);

/* Whether @path is the existing file @other: writing it would destroy what is to be read. */
bool output_file__is(const char *path, const char *other);
