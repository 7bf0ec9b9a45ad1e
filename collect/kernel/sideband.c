// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Of each CPU, powers of two: 512 KiB, or less where less memory may be locked. */
#define DATA_PAGES  128
#define LEAST_PAGES 8

struct cpu_ring {
	int fd;
	size_t pages; /* of data */
	struct perf_event_mmap_page *page;
};

struct sideband {
	int epoll;
	ARRAY(struct cpu_ring) rings;
	size_t page_size;
	uint8_t record[65536]; /* a copy of a record that wraps around the end of a ring */
};

DEFINE_CLEANUP(struct sideband *, sideband__free)

/* struct sample_id, at the end of each record, with the fields that sample_type selects. */
struct record_tail {
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct { /* with PERF_RECORD_MISC_MMAP_BUILD_ID */
			uint8_t build_id_size;
			uint8_t reserved[3];
			uint8_t build_id[20];
		};
		struct { /* without */
			uint32_t major, minor;
			uint64_t inode, generation;
		};
	};
	uint32_t prot, flags;
	char filename[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1, /* wake up at once: stack walks need the mappings */
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* perf counts its buffers of a user on all CPUs, and what is beyond its own limit as locked. */
static int refuse_memory(int err, int cpu)
{
	error__errno(err, "cannot map %d KiB for the mapping events of CPU %d",
		     (LEAST_PAGES + 1) * (int)sysconf(_SC_PAGESIZE) / 1024, cpu);
	if (err == -EPERM)
		error__hint("perf's buffers of this user may not be larger in all. Run with sudo, "
			    "or raise "
			    "a limit:\n"
			    "sysctl kernel.perf_event_mlock_kb, or ulimit -l (locked memory)");
	return err;
}

static int map_ring(struct sideband *sideband, int cpu, int fd)
{
	struct cpu_ring ring = {.fd = fd, .pages = DATA_PAGES};
	int err;

	for (;; ring.pages /= 2) {
		ring.page = mmap(NULL, (ring.pages + 1) * sideband->page_size,
				 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (ring.page != MAP_FAILED)
			break;
		err = -errno;
		if (err != -EPERM || ring.pages <= LEAST_PAGES)
			return refuse_memory(err, cpu);
	}
	epoll_ctl(sideband->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN});
	if (array__push(&sideband->rings, ring)) {
		munmap(ring.page, (ring.pages + 1) * sideband->page_size);
		return -ENOMEM;
	}
	return 0;
}

int sideband__open(struct sideband **out)
{
	_cleanup_(sideband__freep) struct sideband *sideband = calloc(1, sizeof(*sideband));
	int cpus = libbpf_num_possible_cpus();

	if (!sideband)
		return -ENOMEM;
	sideband->page_size = (size_t)sysconf(_SC_PAGESIZE);
	sideband->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sideband->epoll < 0)
		return error__errno(-errno, "cannot wait for new mappings");
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = open_event(cpu);
		int err;

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0) {
			err = error__errno(-errno, "cannot watch for new mappings");
			error__hint("this needs CAP_PERFMON, or sudo");
			return err;
		}
		err = map_ring(sideband, cpu, fd);
		if (err) {
			close(fd);
			return err;
		}
	}
	*out = TAKE_PTR(sideband);
	return 0;
}

int sideband__fd(const struct sideband *sideband)
{
	return sideband->epoll;
}

static void hex(char *to, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sprintf(to + 2 * i, "%02x", bytes[i]);
	to[2 * n] = '\0';
}

static void hand_out(const struct mmap2_record *record, sideband_fn on_mapping, void *arg)
{
	const char *end = (const char *)record + record->header.size - sizeof(struct record_tail);
	struct mapping_event event = {
		.pid = (pid_t)record->pid,
		.start = record->addr,
		.size = record->len,
		.offset = record->pgoff,
		.path = record->filename,
	};
	struct record_tail tail;

	if (record->header.size < sizeof(*record) + sizeof(tail) ||
	    !memchr(record->filename, '\0', (size_t)(end - record->filename)))
		return;
	memcpy(&tail, end, sizeof(tail));
	event.time = tail.time;
	if (!(record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		event.inode = record->inode;
	else if (record->build_id_size <= sizeof(record->build_id))
		hex(event.build_id, record->build_id, record->build_id_size);
	on_mapping(arg, &event);
}

/* The record at @at of the ring, contiguous. */
static const struct perf_event_header *whole_record(struct sideband *sideband, const uint8_t *data,
						    size_t mask, uint64_t at)
{
	const struct perf_event_header *header = (const void *)(data + (at & mask));
	size_t first = mask + 1 - (at & mask);

	if (header->size <= first)
		return header;
	memcpy(sideband->record, data + (at & mask), first);
	memcpy(sideband->record + first, data, header->size - first);
	return (const void *)sideband->record;
}

static uint64_t drain_ring(struct sideband *sideband, struct cpu_ring *ring, sideband_fn on_mapping,
			   void *arg)
{
	const uint8_t *data = (const uint8_t *)ring->page + sideband->page_size;
	size_t mask = ring->pages * sideband->page_size - 1;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail;
	uint64_t lost = 0;

	while (at < head) {
		const struct perf_event_header *header = whole_record(sideband, data, mask, at);

		if (header->type == PERF_RECORD_MMAP2)
			hand_out((const void *)header, on_mapping, arg);
		else if (header->type == PERF_RECORD_LOST)
			lost += ((const struct lost_record *)header)->lost;
		at += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
	return lost;
}

uint64_t sideband__drain(struct sideband *sideband, sideband_fn on_mapping, void *arg)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < sideband->rings.n; i++)
		lost += drain_ring(sideband, &sideband->rings.data[i], on_mapping, arg);
	return lost;
}

void sideband__free(struct sideband *sideband)
{
	for (size_t i = 0; i < sideband->rings.n; i++) {
		const struct cpu_ring *ring = &sideband->rings.data[i];

		munmap(ring->page, (ring->pages + 1) * sideband->page_size);
		close(ring->fd);
	}
	array__free(&sideband->rings);
	if (sideband->epoll >= 0)
		close(sideband->epoll);
	free(sideband);
}
