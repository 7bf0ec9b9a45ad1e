// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/error.h"
#include "collect/core/loader.h"

#define MAX_RINGS 64

struct rings {
	event_fn on_event;
	void *arg;
	struct ring_buffer *consumer;
	int epoll; /* polls readable after a wakeup, that of libbpf while a ring has any event */
	uint32_t n;
	int maps[MAX_RINGS];
};

static uint32_t rings_for(int cpus)
{
	uint32_t n = 1;

	while ((int)n < cpus && n < MAX_RINGS)
		n *= 2;
	return n;
}

static int on_ring_event(void *arg, void *data, size_t size)
{
	const struct rings *rings = arg;

	if (size >= sizeof(struct event_header))
		rings->on_event(rings->arg, data, size);
	return 0;
}

static int add_ring(struct rings *rings, size_t bytes)
{
	struct epoll_event wakeup = {.events = EPOLLIN | EPOLLET};
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dwell_ring", 0, 0, (uint32_t)bytes, NULL);
	int err = 0;

	if (fd < 0)
		return loader__refused(-errno, "create the buffers between kernel and dwell");
	rings->maps[rings->n++] = fd;
	if (!rings->consumer) {
		rings->consumer = ring_buffer__new(fd, on_ring_event, rings, NULL);
		err = rings->consumer ? 0 : -errno;
	} else {
		err = ring_buffer__add(rings->consumer, fd, on_ring_event, rings);
	}
	if (!err && epoll_ctl(rings->epoll, EPOLL_CTL_ADD, fd, &wakeup))
		err = -errno;
	return err ? error__errno(err, "cannot map the ring buffers") : 0;
}

int rings__new(size_t bytes, event_fn on_event, void *arg, struct rings **out)
{
	_cleanup_(rings__freep) struct rings *rings = calloc(1, sizeof(*rings));
	uint32_t wanted = rings_for(libbpf_num_possible_cpus());

	if (!rings)
		return -ENOMEM;
	rings->on_event = on_event;
	rings->arg = arg;
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rings->epoll < 0)
		return error__errno(-errno, "cannot wait for the ring buffers");
	while (rings->n < wanted) {
		int err = add_ring(rings, bytes);

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

int rings__consume(struct rings *rings)
{
	struct epoll_event wakeups[MAX_RINGS];
	int n;

	/* Takes the wakeups, which poll() does not; before the events, so that none is missed. */
	(void)epoll_wait(rings->epoll, wakeups, MAX_RINGS, 0);
	n = ring_buffer__consume(rings->consumer);
	return n < 0 ? error__errno(n, "cannot read the ring buffers") : 0;
}

void rings__free(struct rings *rings)
{
	ring_buffer__free(rings->consumer);
	for (uint32_t i = 0; i < rings->n; i++)
		close(rings->maps[i]);
	if (rings->epoll >= 0)
		close(rings->epoll);
	free(rings);
}
