// SPDX-License-Identifier: BSD-2-Clause
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/invoking_user.h"
#include "base/safe_directory.h"

#define TRIES 100

int new_file__find(const char *path, struct new_file *file, struct stat *there)
{
	int err;

	*file = NEW_FILE_NONE;
	err = safe_directory__of(path, &file->directory, file->name);
	if (err == -EISDIR) {
		error__set(err, "cannot create '%s': it is a directory", path);
		error__hint("Name a file: -o FILE");
		return err;
	}
	if (err == -ELOOP) {
		error__set(err,
			   "cannot create '%s': its path leads through a symbolic link that "
			   "another user can choose",
			   path);
		error__hint("Name the folder itself, without the link.");
		return err;
	}
	if (!err && !fstatat(file->directory, file->name, there, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!err && errno == ENOENT) {
		*there = (struct stat){};
		return 0;
	}
	err = error__errno(err ? err : -errno, "cannot create '%s'", path);
	error__hint("Name a file elsewhere: -o FILE");
	new_file__free(file);
	return err;
}

/* A name that nobody can guess. 0 or -errno. */
static int make_name(char name[NAME_MAX + 1])
{
	uint64_t number[2];

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(name, NAME_MAX + 1, ".dwell-%016" PRIx64 "%016" PRIx64, number[0], number[1]);
	return 0;
}

static void path_of_descriptor(int fd, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

static bool create_unnamed(struct new_file *file)
{
	char path[32];

	file->fd = openat(file->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return false;
	path_of_descriptor(file->fd, path);
	if (!access(path, F_OK))
		return true;
	closep(&file->fd); /* without /proc it could not be given a name */
	file->fd = -1;
	return false;
}

int new_file__create(struct new_file *file)
{
	int err = 0;

	if (create_unnamed(file))
		return 0;
	for (int i = 0; i < TRIES && !err; i++) {
		err = make_name(file->temporary);
		if (err)
			break;
		file->fd = openat(file->directory, file->temporary,
				  O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
		if (file->fd >= 0)
			return 0;
		err = errno == EEXIST ? 0 : -errno;
	}
	file->temporary[0] = '\0';
	return err ? err : -EEXIST;
}

/* Gives a file without a name a random one. */
static int name_it(struct new_file *file)
{
	char path[32];
	int err;

	path_of_descriptor(file->fd, path);
	for (int i = 0; i < TRIES; i++) {
		err = make_name(file->temporary);
		if (!err &&
		    !linkat(AT_FDCWD, path, file->directory, file->temporary, AT_SYMLINK_FOLLOW))
			return 0;
		err = err ? err : -errno;
		if (err != -EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return err;
}

static bool is_worth_keeping(const struct new_file *file)
{
	struct stat there;

	return !fstatat(file->directory, file->name, &there, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(there.st_mode) && there.st_size;
}

/* What had the name becomes NAME@kept; *@moved: it did. */
static int keep_old(const struct new_file *file, const char *kept, char old[NAME_MAX + 1],
		    bool *moved)
{
	*moved = false;
	if (!kept || !is_worth_keeping(file))
		return 0;
	if (snprintf(old, NAME_MAX + 1, "%s%s", file->name, kept) > NAME_MAX)
		return -ENAMETOOLONG;
	if (renameat(file->directory, file->name, file->directory, old))
		return errno == ENOENT ? 0 : -errno;
	*moved = true;
	return 0;
}

int new_file__take_place(struct new_file *file, const char *kept)
{
	char old[NAME_MAX + 1];
	bool moved;
	int err = *file->temporary ? 0 : name_it(file);

	if (err)
		return err;
	(void)invoking_user__chown(file->fd); /* root can read it in any case */
	err = keep_old(file, kept, old, &moved);
	if (err)
		return err;
	if (!renameat(file->directory, file->temporary, file->directory, file->name)) {
		file->temporary[0] = '\0';
		return 0;
	}
	err = -errno;
	if (moved)
		renameat(file->directory, old, file->directory, file->name);
	return err;
}

bool new_file__place_is_free(const struct new_file *file)
{
	struct stat there;

	if (fstatat(file->directory, file->name, &there, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	return S_ISREG(there.st_mode) && !there.st_size;
}

/* Opens what O_PATH descriptor @fd refers to, however its names change meanwhile. */
static int reopen(int fd, int flags)
{
	char path[32];
	int opened;

	path_of_descriptor(fd, path);
	opened = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return opened < 0 ? -errno : opened;
}

static int refuse_type(const char *path, mode_t mode)
{
	if (S_ISDIR(mode)) {
		error__set(-EISDIR, "cannot write '%s': it is a directory", path);
		error__hint("Name a file in it: -o %s/FILE", path);
		return -EISDIR;
	}
	if (S_ISLNK(mode)) {
		error__set(-ELOOP, "cannot write '%s': it is a symbolic link", path);
		error__hint("Name the file that it points to, or remove it.");
		return -ELOOP;
	}
	error__set(-EINVAL, "cannot write '%s': it is a pipe, socket or device", path);
	error__hint("Name a file, or use - for standard output where that is possible.");
	return -EINVAL;
}

static int refuse_owner(const char *path)
{
	error__set(-EPERM,
		   "cannot write '%s': it is a pipe or device that another user can have put "
		   "there",
		   path);
	error__hint("Name a file, or remove it.");
	return -EPERM;
}

/* The pipe or device open at O_PATH descriptor @at. */
static int open_trusted(const struct new_file *file, const char *path, int at,
			const struct stat *there, int flags, int *fd)
{
	struct stat directory;

	if (!S_ISCHR(there->st_mode) && !S_ISFIFO(there->st_mode))
		return refuse_type(path, there->st_mode);
	if (fstat(file->directory, &directory) || !safe_directory__trusts(&directory, there))
		return refuse_owner(path);
	*fd = reopen(at, flags | (S_ISFIFO(there->st_mode) ? O_NONBLOCK : 0));
	if (*fd == -ENXIO && S_ISFIFO(there->st_mode)) {
		error__set(-ENXIO, "cannot write '%s': no process reads from this pipe", path);
		error__hint("Start the reader first.");
		return -ENXIO;
	}
	if (*fd < 0)
		return error__errno(*fd, "cannot write '%s'", path);
	if (S_ISFIFO(there->st_mode))
		fcntl(*fd, F_SETFL, flags);
	return 0;
}

static int look(const struct new_file *file, struct stat *there)
{
	int at = openat(file->directory, file->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (at < 0)
		return -errno;
	if (!fstat(at, there))
		return at;
	close(at);
	return -EIO;
}

int new_file__open_device(const struct new_file *file, const char *path, int *fd)
{
	struct stat there = {};
	_cleanup_close_ int at = look(file, &there);

	if (at < 0)
		return error__errno(at, "cannot write '%s'", path);
	return open_trusted(file, path, at, &there, O_WRONLY, fd);
}

/* The existing file or device open at O_PATH descriptor @at. */
static int open_existing(const struct new_file *file, const char *path, int at,
			 const struct stat *there, int *fd)
{
	if (!S_ISREG(there->st_mode)) {
		if (S_ISCHR(there->st_mode))
			return open_trusted(file, path, at, there, O_WRONLY | O_APPEND, fd);
		return refuse_type(path, there->st_mode);
	}
	if (there->st_uid != geteuid() && !invoking_user__is(there->st_uid)) {
		error__set(-EPERM, "cannot add to '%s': it belongs to another user", path);
		error__hint("Name a file of your own: -o FILE");
		return -EPERM;
	}
	if (there->st_nlink != 1) {
		error__set(-EMLINK,
			   "cannot add to '%s': the file has other names, too (hard links)", path);
		error__hint("Name another file: -o FILE");
		return -EMLINK;
	}
	*fd = reopen(at, O_RDWR | O_APPEND);
	return *fd < 0 ? error__errno(*fd, "cannot write to '%s'", path) : 0;
}

int new_file__open_own(const struct new_file *file, const char *path, int *fd)
{
	struct stat there = {};
	_cleanup_close_ int at = -1;

	*fd = openat(file->directory, file->name,
		     O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd >= 0) {
		(void)invoking_user__chown(*fd); /* root can write to it in any case */
		return 0;
	}
	at = errno == EEXIST ? look(file, &there) : -errno;
	if (at >= 0)
		return open_existing(file, path, at, &there, fd);
	error__errno(at, "cannot write to '%s'", path);
	error__hint("Name a file elsewhere: -o FILE");
	return at;
}

void new_file__free(struct new_file *file)
{
	if (*file->temporary)
		unlinkat(file->directory, file->temporary, 0);
	closep(&file->fd);
	closep(&file->directory);
	*file = NEW_FILE_NONE;
}
