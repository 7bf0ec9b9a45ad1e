// SPDX-License-Identifier: BSD-2-Clause
#include "recording/loss_causes.h"

#include <stddef.h>
#include <string.h>

static const char *const causes[LOSS_COUNT] = {
	[LOSS_RING_FULL] = "events, ring buffer full",
	[LOSS_THREAD_STATE] = "threads, no memory for their state",
	[LOSS_WAKE_SKIPPED] = "stacks of wakers, ring buffer full",
	[LOSS_HIDDEN_SWITCH] = "switches, hidden from tracing by the kernel",
	[LOSS_DEFERRED_SKIPPED] = "stacks of new programs, ring buffer full",
	[LOSS_HIDDEN_WAKE] = "wakers, hidden from tracing by the kernel",
	[LOSS_PROGRAM_SKIPPED] =
		"switches or wakeups, skipped by the kernel within a running BPF program",
	[LOSS_UNSEEN] = "times, hidden between switches of a thread that were not traced",
	[LOSS_REQUEST] = "requests to disks, more in flight than are kept",
};

const char *loss_cause__text(enum loss loss)
{
	return causes[loss];
}

bool loss_cause__hides_waits(const char *cause)
{
	static const enum loss hiding[] = {LOSS_RING_FULL, LOSS_THREAD_STATE, LOSS_PROGRAM_SKIPPED};

	for (size_t i = 0; i < sizeof(hiding) / sizeof(*hiding); i++)
		if (!strcmp(cause, causes[hiding[i]]))
			return true;
	return false;
}
