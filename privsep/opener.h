/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files of targets in a process of its own, which can be abandoned: in a file system in user
 * space, or of a server that is gone, every call that names a path can block for ever. What
 * certainly does not block is opened in this process (cached_open.h).
 *
 * Only regular files are opened: no device, FIFO or socket. What the caller gets is an O_PATH
 * descriptor; a readable one goes to a parser only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "privsep/privsep.h"

struct opener;

/* A regular file that was found. */
struct found_file {
	int fd;		 /* O_PATH, close-on-exec; the caller's */
	uint64_t device; /* major << 20 | minor */
	uint64_t inode;
	uint64_t size;	/* bytes */
	uint32_t owner; /* uid */
	uint32_t mode;
};

struct open_request {
	/* What to open: @path, inside the directory @root if that is not NULL (symbolic links,
	 * too); without @path, the file of descriptor @fd. */
	const char *path;
	const char *root;
	bool no_follow; /* -ELOOP if path itself is a symbolic link */
	int fd;
	/* Where it goes, open for reading, with a message: a socket, -1: nowhere. */
	int to;
	const void *message;
	size_t size;
	int result; /* another descriptor that goes with it; -1: none */
};

int opener__new(struct privsep *privsep, struct opener **out);

/*
 * Opens a file, passes it on if that is wanted, and sets *@found if it is not NULL. If it cannot be
 * opened, the message is not sent. 0, -ENOENT (also: it is not a regular file), -ETIMEDOUT (it
 * blocked for OPENER_NS, or something inside the same root did before), -EBUSY (too many processes
 * are blocked), or another -errno.
 */
#define OPENER_NS 1000000000ULL
int opener__open(struct opener *opener, const struct open_request *request,
		 struct found_file *found);

/*
 * Whether a parser may have @found because another file, or a parser, names it: all may read it, or
 * it belongs to @owner, the uid of the program's file; -1: unknown.
 */
bool found_file__is_shared(const struct found_file *found, int64_t owner);

/* Its process, for tests; 0: none. */
pid_t opener__pid(const struct opener *opener);

void opener__free(struct opener *opener);
