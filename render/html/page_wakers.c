// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include "render/html/page_recording.h"

/* Values of column `context`. */
enum page_waker_context {
	PAGE_WAKER_UNKNOWN = 0,
	PAGE_WAKER_THREAD = 1,
	PAGE_WAKER_INTERRUPT = 2,
	PAGE_WAKER_END = 3,
};

/* What tells rows apart. Compared as bytes: it has no padding. */
struct waker_key {
	uint32_t type; /* enum cause_type */
	uint32_t id;   /* of the cause */
	uint32_t running;
};

/* What ended the wait, if no thread did. */
static int64_t about(struct page_recording *page, const struct wait_cause *cause)
{
	const struct model *model = page->model;

	switch (cause->type) {
	case CAUSE_DEVICE:
		return page_strings__id(&page->strings,
					model__string(model, model->devices.data[cause->id].name));
	case CAUSE_PEER:
	case CAUSE_LIMIT:
	case CAUSE_TCP:
	case CAUSE_QUEUE:
		return page_strings__id(
			&page->strings,
			cause->id ? own_strings__text(page->from->strings, cause->id) : "network");
	case CAUSE_TIMER:
	case CAUSE_INTERRUPT:
		return page_strings__id(&page->strings, cause_type__name(cause->type));
	default:
		return 0;
	}
}

static uint64_t context_of(enum cause_type type)
{
	switch (type) {
	case CAUSE_THREAD:
		return PAGE_WAKER_THREAD;
	case CAUSE_UNKNOWN:
		return PAGE_WAKER_UNKNOWN;
	case CAUSE_UNFINISHED:
		return PAGE_WAKER_END;
	default:
		return PAGE_WAKER_INTERRUPT;
	}
}

/* The stack of the waker at the wakeup, if it was recorded and is that of the cause. */
static int64_t stack_of(struct page_recording *page, const struct model_thread *thread,
			const struct model_interval *interval, uint64_t cause)
{
	const struct model_wake *wake;

	if (!interval->wake)
		return 0;
	wake = &thread->wakes.data[interval->wake - 1];
	if (wake->waker != cause)
		return 0;
	return page__stack(page, wake->kernel, wake->user, false);
}

/* Adds a row. Returns 0 or -ENOMEM. */
static int put_row(struct page_recording *page, const struct wait_cause *cause, uint32_t running)
{
	int64_t text = about(page, cause);

	table__put(&page->wakers, 0, cause->type == CAUSE_THREAD ? cause->id : running);
	table__put(&page->wakers, 1, context_of(cause->type));
	table__put(&page->wakers, 2, running);
	table__put(&page->wakers, 3, text < 0 ? 0 : (uint64_t)text);
	return text < 0 ? -ENOMEM : 0;
}

int page_wakers__begin(struct page_recording *page)
{
	const struct waker_key unknown = {.type = CAUSE_UNKNOWN};
	const struct wait_cause cause = {.type = CAUSE_UNKNOWN};

	return intern__id(&page->wakers_seen, &unknown, sizeof(unknown), NULL) < 0
		       ? -ENOMEM
		       : put_row(page, &cause, 0);
}

int64_t page_wakers__row(struct page_recording *page, uint32_t thread,
			 const struct model_interval *interval, int64_t *stack)
{
	struct wait_cause cause;
	struct waker_key key;
	int64_t id;
	bool fresh;

	*stack = 0;
	if (!interval->blocked_ns)
		return 0;
	cause = wait_causes__of(page->from->causes, thread, interval);
	*stack = stack_of(page, &page->model->threads.data[thread], interval,
			  cause.type == CAUSE_THREAD ? cause.id : interval->waker);
	if (*stack < 0)
		return -ENOMEM;
	key = (struct waker_key){(uint32_t)cause.type, cause.id, interval->waker};
	id = intern__id(&page->wakers_seen, &key, sizeof(key), &fresh);
	return id >= 0 && fresh && put_row(page, &cause, interval->waker) ? -ENOMEM : id;
}
