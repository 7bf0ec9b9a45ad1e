// SPDX-License-Identifier: BSD-2-Clause
#include "base/safe_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_LINKS 40 /* as the kernel */

/* Whose word the way relies on: see struct walk. */
#define OWN_WAY ((uid_t)-1)

struct walk {
	int fd;		    /* the directory so far */
	char *rest;	    /* of the path, malloc()ed */
	unsigned int links; /* followed so far */
	uid_t chosen_by;    /* user who may have chosen @fd, so that it has to be his; or OWN_WAY */
};

static bool is_own(uid_t uid)
{
	return !uid || uid == geteuid();
}

bool safe_directory__is_own(const struct stat *directory)
{
	mode_t others = S_IWOTH;

	/* Users often have a group of their own, and directories that it can write to. */
	if (!geteuid() && directory->st_gid)
		others |= S_IWGRP;
	return is_own(directory->st_uid) && !(directory->st_mode & others);
}

bool safe_directory__trusts(const struct stat *directory, const struct stat *entry)
{
	if (safe_directory__is_own(directory))
		return true;
	return is_own(directory->st_uid) && directory->st_mode & S_ISVTX && is_own(entry->st_uid);
}

/* From here on the way is one that @uid may have chosen. */
static int rely_on(struct walk *walk, uid_t uid)
{
	if (walk->chosen_by != OWN_WAY && walk->chosen_by != uid)
		return -ELOOP;
	walk->chosen_by = uid;
	return 0;
}

static void enter(struct walk *walk, int fd)
{
	close(walk->fd);
	walk->fd = fd;
}

static int go_up(struct walk *walk)
{
	struct stat here;
	int fd, err = 0;

	if (fstat(walk->fd, &here))
		return -errno;
	/* Its owner may have moved it elsewhere. */
	if (!is_own(here.st_uid))
		err = rely_on(walk, here.st_uid);
	fd = err ? -1 : openat(walk->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err ? err : -errno;
	enter(walk, fd);
	return 0;
}

static int check_link(struct walk *walk, const struct stat *link)
{
	struct stat here;

	if (fstat(walk->fd, &here))
		return -errno;
	if (safe_directory__trusts(&here, link))
		return 0;
	/* Somebody else may have moved it there. */
	if (is_own(link->st_uid) || (!is_own(here.st_uid) && here.st_uid != link->st_uid))
		return -ELOOP;
	return rely_on(walk, link->st_uid);
}

/* Replaces the link open at @fd, the next component, by what it points to. */
static int follow(struct walk *walk, int fd, const struct stat *link)
{
	char target[PATH_MAX];
	ssize_t n;
	char *rest;
	int err;

	if (walk->links++ >= MAX_LINKS)
		return -ELOOP;
	err = check_link(walk, link);
	if (err)
		return err;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (asprintf(&rest, "%s/%s", target, walk->rest) < 0)
		return -ENOMEM;
	free(walk->rest);
	walk->rest = rest;
	if (*target != '/')
		return 0;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	enter(walk, fd);
	return 0;
}

/* Goes into component @name of the path. */
static int step(struct walk *walk, const char *name)
{
	_cleanup_close_ int fd = -1;
	struct stat entry;

	if (!*name || !strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		return go_up(walk);
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &entry))
		return -errno;
	if (S_ISLNK(entry.st_mode))
		return follow(walk, fd, &entry);
	if (!S_ISDIR(entry.st_mode))
		return -ENOTDIR;
	enter(walk, TAKE_FD(fd));
	return 0;
}

static int walk_all(struct walk *walk)
{
	char name[NAME_MAX + 1];
	struct stat here;
	int err = 0;

	while (*walk->rest && !err) {
		size_t n = strcspn(walk->rest, "/");

		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, walk->rest, n);
		name[n] = '\0';
		n += walk->rest[n] == '/';
		memmove(walk->rest, walk->rest + n, strlen(walk->rest + n) + 1);
		err = step(walk, name);
	}
	if (err || walk->chosen_by == OWN_WAY)
		return err;
	if (fstat(walk->fd, &here))
		return -errno;
	return here.st_uid == walk->chosen_by ? 0 : -ELOOP;
}

int safe_directory__of(const char *path, int *directory, char name[NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	struct walk walk = {.fd = -1, .chosen_by = OWN_WAY};
	int err;

	if (!*path)
		return -ENOENT;
	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return -EISDIR;
	if (strlen(last) > NAME_MAX)
		return -ENAMETOOLONG;
	walk.rest = strndup(path, (size_t)(last - path));
	if (!walk.rest)
		return -ENOMEM;
	walk.fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = walk.fd < 0 ? -errno : walk_all(&walk);
	free(walk.rest);
	if (err) {
		closep(&walk.fd);
		return err;
	}
	memcpy(name, last, strlen(last) + 1);
	*directory = walk.fd;
	return 0;
}
