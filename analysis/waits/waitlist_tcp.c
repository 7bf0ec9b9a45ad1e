// SPDX-License-Identifier: BSD-2-Clause
/*
 * The waits of TCP, which is a vertex of the graph: it is active while a thread waits for data that
 * it holds back. In between it waits for the thread that writes the data that it holds back next,
 * as an idle device waits for the thread that submits its next request. Likewise those of the queue
 * of a network device: it is active while a thread waits for space in it.
 */
#include <errno.h>

#include "analysis/waits/waitlist.h"

/* A time in which a thread waited for data that TCP held back, and that @writer had written. */
struct hold {
	uint64_t begin;
	uint64_t end;
	uint32_t node;
	uint32_t writer; /* thread; 0: unknown */
};

static int hold_order(const void *a, const void *b)
{
	const struct hold *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/*
 * The thread that wrote the data that wait @i is for: of a wait for space in a send buffer, or for
 * a connection, the waiter itself. 0: unknown.
 */
static uint32_t writer_of(const struct waitlist *list, size_t i)
{
	const struct model_thread *waiter = &list->model->threads.data[list->waits.data[i].waiter];
	const struct model_interval *interval =
		&waiter->intervals.data[list->sources.data[i].index];

	const struct model_segment *segment =
		interval->segment ? &waiter->segments.data[interval->segment - 1] : NULL;

	if (segment ? segment->role != SEGMENT_DATA
		    : list->nodes.data[list->waits.data[i].waker].type == CAUSE_QUEUE)
		return list->waits.data[i].waiter;
	return segment ? segment->writer : 0;
}

/* TCP, as @node, waits for @waker in [@begin, @end). */
static int add_idle(struct waitlist *list, uint32_t node, uint64_t begin, uint64_t end,
		    uint32_t waker)
{
	struct wait_source source = {.origin = WAIT_TCP_IDLE,
				     .spacing = (uint8_t)list->model->spacing};
	struct wait wait = {.begin = begin, .end = end, .waiter = node, .waker = waker};

	return begin < end ? waitlist__add(list, wait, source) : 0;
}

int waitlist__add_tcp(struct waitlist *list)
{
	ARRAY(struct hold) holds = {};
	uint64_t done = list->from;
	int err = 0;

	for (size_t i = 0; i < list->waits.n && !err; i++) {
		const struct wait *wait = &list->waits.data[i];

		if (list->nodes.data[wait->waker].type == CAUSE_TCP ||
		    list->nodes.data[wait->waker].type == CAUSE_QUEUE)
			err = array__push(&holds, ((struct hold){wait->begin, wait->end,
								 wait->waker, writer_of(list, i)}));
	}
	array__sort(&holds, hold_order);
	for (size_t i = 0; i < holds.n && !err; i++) {
		const struct hold *hold = &holds.data[i];
		bool last = i + 1 == holds.n || holds.data[i + 1].node != hold->node;

		err = add_idle(list, hold->node, done, hold->begin, hold->writer);
		done = hold->end > done ? hold->end : done;
		if (!last || err)
			continue;
		err = add_idle(list, hold->node, done, list->until,
			       waitlist__node(list, (struct wait_cause){CAUSE_UNFINISHED, 0}));
		done = list->from;
	}
	array__free(&holds);
	return err;
}
