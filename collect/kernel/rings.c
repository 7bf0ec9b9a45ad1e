// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/error.h"
#include "collect/kernel/kernel.h"
#include "collect/kernel/refusal.h"

#define MAX_RINGS 64
#define TURNS	  8 /* that a full ring is read in, so that the others do not fill up meanwhile */

struct ring {
	struct rings *rings;
	struct ring_buffer *consumer;
	size_t taken; /* in this turn */
	size_t left;  /* to take in this rings__consume() */
};

struct rings {
	event_fn on_event;
	void *arg;
	size_t bytes; /* of each */
	int epoll;    /* polls readable after a wakeup, that of libbpf while a ring has any event */
	uint32_t n;
	struct ring ring[MAX_RINGS];
	int maps[MAX_RINGS];
};

static uint32_t rings_for(int cpus)
{
	uint32_t n = 1;

	while ((int)n < cpus && n < MAX_RINGS)
		n *= 2;
	return n;
}

/* Negative, after the event has been read: the turn is over. */
static int on_ring_event(void *arg, void *data, size_t size)
{
	struct ring *ring = arg;

	if (size >= sizeof(struct event_header))
		ring->rings->on_event(ring->rings->arg, data, size);
	ring->taken += BPF_RINGBUF_HDR_SZ + (size + 7) / 8 * 8;
	return ring->taken < ring->rings->bytes / TURNS ? 0 : -EAGAIN;
}

/* Each has a consumer of its own: libbpf reads all rings of one, each until it is empty. */
static int add_ring(struct rings *rings)
{
	struct ring *ring = &rings->ring[rings->n];
	struct epoll_event wakeup = {.events = EPOLLIN | EPOLLET};
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dwell_ring", 0, 0, (uint32_t)rings->bytes,
				NULL);

	if (fd < 0)
		return refusal__error(-errno, "create the buffers between kernel and dwell");
	rings->maps[rings->n++] = fd;
	ring->rings = rings;
	ring->consumer = ring_buffer__new(fd, on_ring_event, ring, NULL);
	if (!ring->consumer || epoll_ctl(rings->epoll, EPOLL_CTL_ADD, fd, &wakeup))
		return error__errno(-errno, "cannot map the ring buffers");
	return 0;
}

int rings__new(size_t bytes, event_fn on_event, void *arg, struct rings **out)
{
	_cleanup_(rings__freep) struct rings *rings = calloc(1, sizeof(*rings));
	int cpus = kernel__cpus();
	uint32_t wanted = rings_for(cpus);

	if (!rings)
		return -ENOMEM;
	rings->epoll = -1;
	if (cpus < 0)
		return cpus;
	rings->on_event = on_event;
	rings->arg = arg;
	rings->bytes = bytes;
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rings->epoll < 0)
		return error__errno(-errno, "cannot wait for the ring buffers");
	while (rings->n < wanted) {
		int err = add_ring(rings);

		if (err)
			return err;
	}
	*out = TAKE_PTR(rings);
	return 0;
}

const int *rings__maps(const struct rings *rings, uint32_t *n)
{
	*n = rings->n;
	return rings->maps;
}

int rings__fd(const struct rings *rings)
{
	return rings->epoll;
}

/* A turn of one ring. Whether more may be there, of what rings__consume() takes. */
static bool take_turn(struct ring *ring)
{
	int n;

	ring->taken = 0;
	n = ring_buffer__consume(ring->consumer);
	ring->left -= ring->taken < ring->left ? ring->taken : ring->left;
	return n == -EAGAIN && ring->left;
}

void rings__consume(struct rings *rings)
{
	struct epoll_event wakeups[MAX_RINGS];
	bool more = true;

	/* Takes the wakeups, which poll() does not; before the events, so that none is missed. */
	(void)epoll_wait(rings->epoll, wakeups, MAX_RINGS, 0);
	for (uint32_t i = 0; i < rings->n; i++)
		rings->ring[i].left = rings->bytes; /* it cannot have had more */
	while (more) {
		more = false;
		for (uint32_t i = 0; i < rings->n; i++)
			if (rings->ring[i].left)
				more |= take_turn(&rings->ring[i]);
	}
}

void rings__free(struct rings *rings)
{
	for (uint32_t i = 0; i < rings->n; i++) {
		ring_buffer__free(rings->ring[i].consumer);
		close(rings->maps[i]);
	}
	if (rings->epoll >= 0)
		close(rings->epoll);
	free(rings);
}
