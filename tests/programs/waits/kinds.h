/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways to wait of `waits`, in arrays that end with an entry without a name. prepare() runs
 * once in the main thread, wait() again and again in a thread of its own, wake() every 10 ms in
 * the driver's thread, finish() at the end in the main thread. All but wait() may be NULL.
 */
#pragma once

#include "tests/programs/common/disk_file.h"
#include "tests/programs/common/switch_log.h"

#include <netinet/in.h>
#include <semaphore.h>

#define WAIT_NS	       (10 * NS_PER_MS)
#define WAIT_SLOTS_MAX 32

struct wait_slot;

struct wait_kind {
	const char *name;  /* of the thread: 15 characters at most */
	const char *class; /* io, lock or other; several, by "|", if it depends on the kernel */
	void (*prepare)(struct wait_slot *slot);
	void (*wait)(struct wait_slot *slot);
	void (*wake)(struct wait_slot *slot);
	void (*finish)(struct wait_slot *slot);
};

/* A thread that waits. */
struct wait_slot {
	const struct wait_kind *kind;
	pthread_t thread;
	pid_t tid;
	uint64_t rounds;
	struct phase_times times;
	char object[512]; /* what it waits for, as the system names it; or empty */
	bool finished;

	/* For the functions of the kind. */
	int fd;
	int other_fd;
	pid_t child;
	struct disk_file file;
	char *memory;
	uint64_t turn;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t go;
	sem_t held;
	struct sockaddr_in address;
};

extern const struct wait_kind disk_waits[], descriptor_waits[], timer_waits[], lock_waits[];

/* Where files are created. */
extern const char *waits_dir;

/* disk.c: creates slot->file, and opens it through the page cache as slot->fd. */
void prepare_cached_file(struct wait_slot *slot);
void finish_file(struct wait_slot *slot);

/* descriptors.c: writes or reads a byte, or a count of one. */
void put_one(int fd);
void take_one(int fd);
void wait_read(struct wait_slot *slot);

/* descriptors.c: ends slot->child. */
void finish_child(struct wait_slot *slot);
