/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The files that page faults read. A tracepoint (Linux 6.13 and later) tells of each fault that
 * enters filemap_fault(): a thread that sleeps within that function waits for the file of its last
 * such fault.
 */
#pragma once

#include "bpf/core/object.bpf.h"
#include "bpf/core/scratch.bpf.h"
#include "bpf/record/thread.bpf.h"

#define FAULT_FRAMES 32 /* of the kernel stack: filemap_fault() is one of the innermost */
#define S_IFREG	     0100000

const volatile __u64 fault_range[2]; /* filemap_fault(); 0: unknown */

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping)
{
	struct thread_state *state =
		capture.active ? target_state(bpf_get_current_task_btf()) : NULL;

	if (state)
		state->product.fault_mapping = address_in(mapping);
	return 0;
}

/* The stack that was taken last is in @scratch. */
static __always_inline bool is_in_fault(const struct scratch *scratch)
{
	for (int i = 0; i < FAULT_FRAMES && scratch->raw[i]; i++)
		if (scratch->raw[i] > fault_range[0] && scratch->raw[i] <= fault_range[1])
			return true;
	return false;
}

/*
 * If @event's thread waits for the file of a page fault, sets its object, whatever it was. The
 * fault is not over, so that the file is still there.
 */
static __always_inline void find_fault(struct event_interval *event, const struct scratch *scratch,
				       const struct thread_state *state)
{
	struct address_space *mapping = (void *)state->product.fault_mapping;
	struct inode *inode;

	if (!fault_range[0] || !mapping || event->class != CLASS_IO || !is_in_fault(scratch))
		return;
	inode = BPF_CORE_READ(mapping, host);
	__builtin_memset(&event->object, 0, sizeof(event->object));
	event->object.type = OBJECT_FILE;
	event->object.mode = S_IFREG;
	event->object.id = READ(inode, i_ino);
	event->object.extra = READ(inode, i_sb, s_dev);
	event->object.fd = NO_DESCRIPTOR;
}
