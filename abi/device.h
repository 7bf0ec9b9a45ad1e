/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a block device, in a map that user space reads at the end. */
#pragma once

#include "abi/event.h"

struct device_state {
	__u64 idle_since; /* valid while in_flight is 0 */
	__u64 checked;	  /* when its requests were last checked for missed completions */
	__s32 in_flight;
	__u32 reserved;
	struct event_device totals;
};

_Static_assert(sizeof(struct device_state) == 120, "device_state");
