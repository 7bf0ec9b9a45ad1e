/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What a recording keeps of each thread and each CPU, see bpf/core/state.bpf.h. */
#pragma once

#include <linux/types.h>

#define CLASS_SLOTS 8 /* a power of two: a masked index needs no other check */

struct product_thread {
	__u32 waker;
	__u32 device; /* that completed a request last where the wakeup came */
	__u64 ns[CLASS_SLOTS];
	/* Of the interval that is pending. */
	__u32 pending_waker;
	__u32 pending_device;
	__u8 pending_context;
	__u64 kernel_hash; /* with stack_at_switch_out */
	__u64 user_hash;
};

struct product_cpu {
	__u32 device; /* that completed a request here last */
};
