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

struct waker_row {
	uint64_t thread;
	uint64_t context;
	uint64_t running;
	uint64_t about;
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

int64_t page_wakers__row(struct page_recording *page, uint32_t thread,
			 const struct model_interval *interval, int64_t *stack)
{
	struct wait_cause cause;
	struct waker_row row = {};
	int64_t text, id;
	bool fresh;

	*stack = 0;
	if (!interval->blocked_ns)
		return 0;
	cause = wait_causes__of(page->from->causes, thread, interval);
	text = about(page, &cause);
	row.thread = cause.type == CAUSE_THREAD ? cause.id : interval->waker;
	*stack = stack_of(page, &page->model->threads.data[thread], interval, row.thread);
	if (text < 0 || *stack < 0)
		return -ENOMEM;
	row.context = context_of(cause.type);
	row.running = interval->waker;
	row.about = (uint64_t)text;
	id = intern__id(&page->wakers_seen, &row, sizeof(row), &fresh);
	if (id >= 0 && fresh) {
		table__put(&page->wakers, 0, row.thread);
		table__put(&page->wakers, 1, row.context);
		table__put(&page->wakers, 2, row.running);
		table__put(&page->wakers, 3, row.about);
	}
	return id;
}
