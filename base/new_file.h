/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that dwell writes, also as root in directories of users who move things meanwhile.
 *
 * A file is created without a name, or where the file system cannot do that, under a random name
 * (O_EXCL, O_NOFOLLOW), in a directory that is looked up once (safe_directory.h). It takes its name
 * by renameat(), which replaces what is there: a symbolic link, too, but never what that points to.
 * Its mode is 0600 until then, and it is given to the user who invoked dwell by its descriptor.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct new_file {
	int fd;			      /* open for reading and writing */
	int directory;		      /* O_PATH */
	char name[NAME_MAX + 1];      /* in @directory, that it will have */
	char temporary[NAME_MAX + 1]; /* the one that it has; "": none, or @name */
};

/* For variables that new_file__free() may see before new_file__find(). */
#define NEW_FILE_NONE ((struct new_file){.fd = -1, .directory = -1})

/*
 * Finds the directory of @path. @there gets what has the name: st_mode is 0 if nothing has.
 * Symbolic links are not followed. Returns 0 or -errno, with a message and hint.
 */
int new_file__find(const char *path, struct new_file *file, struct stat *there);

/*
 * Creates the file, without its name, in the directory that was found. Returns 0 or -errno,
 * without a message.
 */
int new_file__create(struct new_file *file);

/*
 * Gives it its name, in place of what has that now: a directory is an error. @kept: what had the
 * name becomes NAME@kept, if it is a regular file that is not empty; NULL: it is lost. Returns 0 or
 * -errno, without a message: then what was there has its name again, if possible.
 */
int new_file__take_place(struct new_file *file, const char *kept);

/* Whether NAME is free, or an empty regular file has it, so that taking it loses nothing. */
bool new_file__place_is_free(const struct new_file *file);

/*
 * Opens the pipe or character device that has the name, for writing: *@fd. It must be one that only
 * root or dwell's own user can have placed there. A pipe is not waited for. Returns 0 or -errno,
 * with a message that names @path.
 */
int new_file__open_device(const struct new_file *file, const char *path, int *fd);

/*
 * Opens the regular file that has the name, to append to it: *@fd, also readable. If there is none,
 * it is created, with mode 0600. One that is there must belong to dwell's own user or the one who
 * invoked dwell, and have no other name. Devices are opened as by new_file__open_device(). Returns
 * 0 or -errno, with a message.
 */
int new_file__open_own(const struct new_file *file, const char *path, int *fd);

/* Closes it. Without a name, it is removed. */
void new_file__free(struct new_file *file);
