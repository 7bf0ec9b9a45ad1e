// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/annotations.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"

#define PREFIX "dwell-annotations-"

/* How far a stripe has been read. */
struct position {
	uint64_t at;   /* the next index to read */
	uint64_t seen; /* `next` at the last drain: older events should be finished by now */
};

struct annotations {
	char *path;
	int fd;
	const struct dwell_area *area;
	int points_fd; /* -1: points are not traced */
	struct dwell_points *points;
	uint64_t lost;
	struct position positions[DWELL_STRIPES];
};

enum outcome { PUBLISHED, UNFINISHED, OVERWRITTEN };

/*
 * A program that writes to a page that the file system cannot allocate gets SIGBUS: so there must
 * be room for the whole area, of which most programs use little.
 */
static bool has_room(int fd)
{
	struct statvfs fs;

	return !fstatvfs(fd, &fs) && fs.f_bavail > sizeof(struct dwell_area) / fs.f_frsize;
}

/* Initializes and maps the empty file. Returns 0 or -errno. */
static int prepare(struct annotations *annotations)
{
	const struct dwell_header header = {
		.magic = DWELL_AREA_MAGIC,
		.version = DWELL_AREA_VERSION,
		.size = sizeof(struct dwell_area),
	};
	void *area;

	if (!has_room(annotations->fd))
		return -ENOSPC;
	if (ftruncate(annotations->fd, sizeof(struct dwell_area)))
		return -errno;
	if (pwrite(annotations->fd, &header, sizeof(header), 0) != sizeof(header))
		return -EIO;
	area = mmap(NULL, sizeof(struct dwell_area), PROT_READ, MAP_SHARED, annotations->fd, 0);
	if (area == MAP_FAILED)
		return -errno;
	annotations->area = area;
	return 0;
}

/*
 * Whether the file at @fd is no longer in use: a recorder keeps its file locked. Those of root
 * belong to whom annotations__allow() gave them.
 */
static bool is_stale(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (!geteuid() || st.st_uid == geteuid()) &&
	       st.st_size == (off_t)sizeof(struct dwell_area) && !flock(fd, LOCK_EX | LOCK_NB);
}

/* Removes the files of recorders that were killed. */
static void remove_stale(const char *directory)
{
	DIR *all = opendir(directory);
	const struct dirent *entry;

	while (all && (entry = readdir(all))) {
		int fd = -1;

		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			fd = openat(dirfd(all), entry->d_name,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_stale(fd))
			unlinkat(dirfd(all), entry->d_name, 0);
		close(fd);
	}
	if (all)
		closedir(all);
}

static int create_in(const char *directory, struct annotations **out)
{
	_cleanup_(annotations__freep) struct annotations *annotations =
		calloc(1, sizeof(*annotations));
	char *path;
	int err;

	if (!annotations)
		return -ENOMEM;
	annotations->fd = annotations->points_fd = -1;
	remove_stale(directory);
	if (asprintf(&path, "%s/" PREFIX "XXXXXX", directory) < 0)
		return -ENOMEM;
	annotations->path = path;
	annotations->fd = mkostemp(path, O_CLOEXEC);
	if (annotations->fd < 0 || flock(annotations->fd, LOCK_EX | LOCK_NB))
		return -errno;
	err = prepare(annotations);
	if (err)
		return err;
	*out = TAKE_PTR(annotations);
	return 0;
}

int annotations__new(struct annotations **out)
{
	/* tmpfs first: on a disk, the kernel would write back pages that are overwritten soon. */
	const char *const directories[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		/* The program's working directory may be another one. */
		if (!directories[i] || directories[i][0] != '/')
			continue;
		err = create_in(directories[i], out);
		if (!err)
			return 0;
	}
	return error__errno(err,
			    "cannot create a file for annotations in /dev/shm, $TMPDIR or /tmp");
}

int annotations__allow(struct annotations *annotations, const char *name)
{
	const struct passwd *user = getpwnam(name);

	if (!user)
		return -ENOENT;
	return fchown(annotations->fd, user->pw_uid, (gid_t)-1) ? -errno : 0;
}

/* Programs close low descriptors, and those that they do not know. */
#define POINTS_DESCRIPTOR 999

int annotations__trace_points(struct annotations *annotations)
{
	_cleanup_close_ int fd = memfd_create("dwell-points", MFD_ALLOW_SEALING);
	struct dwell_points *points;

	/* The program must not take away what is mapped here. */
	if (fd < 0 || ftruncate(fd, sizeof(*points)) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	annotations->points_fd = fcntl(fd, F_DUPFD, POINTS_DESCRIPTOR);
	if (annotations->points_fd < 0)
		annotations->points_fd = TAKE_FD(fd);
	points = mmap(NULL, sizeof(*points), PROT_READ | PROT_WRITE, MAP_SHARED,
		      annotations->points_fd, 0);
	if (points == MAP_FAILED)
		return -errno;
	points->magic = DWELL_POINTS_MAGIC;
	points->version = DWELL_POINTS_VERSION;
	points->size = sizeof(*points);
	points->traced = 1;
	annotations->points = points;
	return annotations->points_fd;
}

bool annotations__point_name(const struct annotations *annotations, uint64_t address,
			     char name[DWELL_POINT_NAME])
{
	const struct dwell_point *point;

	if (!annotations->points || address >= DWELL_POINTS)
		return false;
	point = &annotations->points->point[address];
	if (!__atomic_load_n(&point->named, __ATOMIC_ACQUIRE))
		return false;
	memcpy(name, point->name, DWELL_POINT_NAME);
	name[DWELL_POINT_NAME - 1] = '\0';
	return true;
}

const char *annotations__path(const struct annotations *annotations)
{
	return annotations->path;
}

static void add_lost(struct annotations *annotations, uint64_t n)
{
	/* The program can write any numbers: saturate. */
	if (__builtin_add_overflow(annotations->lost, n, &annotations->lost))
		annotations->lost = UINT64_MAX;
}

/*
 * Copies the event of @index. A seqlock read: the loads are acquires, so that if the copy has any
 * part of a later event, the second load of seq sees that writer's claim of the slot.
 */
static enum outcome read_slot(const struct dwell_slot *slot, uint64_t index,
			      struct annotation *event)
{
	const uint64_t published = DWELL_SEQ_PUBLISHED(index);
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE);

	if (seq < published)
		return UNFINISHED;
	event->time = __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE);
	event->address = __atomic_load_n(&slot->address, __ATOMIC_ACQUIRE);
	event->value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
	event->tid = __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE);
	event->type = __atomic_load_n(&slot->type, __ATOMIC_ACQUIRE);
	if (seq != published || __atomic_load_n(&slot->seq, __ATOMIC_RELAXED) != seq)
		return OVERWRITTEN;
	return PUBLISHED;
}

/* Reads at most DWELL_SLOTS events; the position never goes back. */
static void drain_stripe(struct annotations *annotations, size_t n, bool last, annotation_fn each,
			 void *context)
{
	const struct dwell_stripe *stripe = &annotations->area->stripe[n];
	struct position *position = &annotations->positions[n];
	uint64_t next = __atomic_load_n(&stripe->next, __ATOMIC_RELAXED);
	struct annotation event;

	if (next > position->at && next - position->at > DWELL_SLOTS) {
		add_lost(annotations, next - DWELL_SLOTS - position->at);
		position->at = next - DWELL_SLOTS;
	}
	for (; position->at < next; position->at++) {
		enum outcome outcome =
			read_slot(&stripe->slot[position->at % DWELL_SLOTS], position->at, &event);

		if (outcome == UNFINISHED && !last && position->at >= position->seen)
			break;
		if (outcome == PUBLISHED)
			each(context, &event);
		else
			add_lost(annotations, 1);
	}
	position->seen = next;
}

/* What annotations__drain() reads at present, and where it goes on if a part of that is gone. */
static const struct dwell_area *drained;
static sigjmp_buf truncated;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr, begin = (uintptr_t)drained;

	if (at >= begin && at < begin + sizeof(*drained))
		siglongjmp(truncated, 1);
	(void)signal(number, SIG_DFL); /* the access, which is repeated, ends the process */
}

/*
 * False: the program has truncated the file. It can do so at any time: an access to a page behind
 * its end raises SIGBUS.
 */
static bool drain_stripes(struct annotations *annotations, bool last, annotation_fn each,
			  void *context)
{
	struct stat st;

	if (sigsetjmp(truncated, 1))
		return false;
	if (fstat(annotations->fd, &st) || st.st_size < (off_t)sizeof(struct dwell_area))
		return false;
	for (size_t n = 0; n < DWELL_STRIPES; n++)
		drain_stripe(annotations, n, last, each, context);
	return true;
}

int annotations__drain(struct annotations *annotations, bool last, annotation_fn each,
		       void *context)
{
	const struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	struct sigaction before;
	bool complete;

	drained = annotations->area;
	sigaction(SIGBUS, &action, &before);
	complete = drain_stripes(annotations, last, each, context);
	sigaction(SIGBUS, &before, NULL);
	return complete ? 0
			: error__set(-EIO, "the annotation file '%s' was truncated",
				     annotations->path);
}

uint64_t annotations__lost(const struct annotations *annotations)
{
	return annotations->lost;
}

void annotations__free(struct annotations *annotations)
{
	const uint32_t ended = 1;

	if (annotations->area) {
		/* Optional: without a reader, programs need not write events. */
		(void)!pwrite(annotations->fd, &ended, sizeof(ended),
			      offsetof(struct dwell_area, header.ended));
		munmap((void *)annotations->area, sizeof(struct dwell_area));
	}
	if (annotations->points)
		munmap(annotations->points, sizeof(*annotations->points));
	if (annotations->points_fd >= 0)
		close(annotations->points_fd);
	if (annotations->fd >= 0) {
		close(annotations->fd);
		unlink(annotations->path);
	}
	free(annotations->path);
	free(annotations);
}
