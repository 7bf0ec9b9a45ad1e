/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept of each block device: in a map that user space reads at the end. */
#pragma once

#include "abi/event.h"

struct device_state {
	__u64 idle_since;
	__u64 checked; /* when its requests were last checked for unseen completions */
	__s32 in_flight;
	__u32 reserved;
	struct event_device totals;
};

_Static_assert(sizeof(struct device_state) == 120, "device_state");
