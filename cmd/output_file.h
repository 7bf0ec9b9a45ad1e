/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that a command writes, whole or not at all: it has its name only when it is complete
 * (base/new_file.h), and nothing remains of it if the command fails, or is ended by a signal. "-"
 * is standard output, as is /dev/stdout; /dev/fd/N is a descriptor of dwell. Pipes and devices that
 * only root or dwell's own user can have placed there are written directly. A symbolic link is
 * replaced.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/new_file.h"

struct output_file {
	const char *path; /* as given */
	struct new_file file;
	bool whole; /* it is a file, and no stream: @file.fd can be written by position */
	FILE *to;
};

/* Opens it. Returns 0 or -errno, with a message. */
int output_file__open(struct output_file *file, const char *path);

/* Ends it. @err is of the command: other than 0 removes it. Returns @err, or -errno if not
 * everything could be written. To be called once @file was opened. */
int output_file__close(struct output_file *file, int err);

/* Whether @path is the existing file @other: writing it would destroy what is to be read. */
bool output_file__is(const char *path, const char *other);
