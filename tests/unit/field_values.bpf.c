// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Reads fields of current by bpf/core/field.bpf.h, and its bytes: test_field_values.c. */
#pragma clang diagnostic ignored "-Wunused-function" /* only a part of the headers is used */

#include "bpf/core/kernel.bpf.h"
#include "tests/unit/field_values.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct field_values values;

#define TAKE(field, n)                                                                             \
	values.direct[n] = (__u64)FIELD(task, field);                                              \
	values.probed[n] = (__u64)READ(task, field);

SEC("raw_tp")
int read_values(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	bpf_probe_read_kernel(values.bytes, sizeof(values.bytes), task);
	FIELD_VALUES(TAKE)
	values.in_iowait = BIT_FIELD(task, in_iowait);
	values.leader_tgid = READ(task, group_leader, tgid);
	READ_STRING(values.comm, task, comm);
	READ_BYTES(values.mask, task, blocked.sig);
	return 0;
}
