/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests/unit/field_values.bpf.c reads of current. */
#pragma once

#include <linux/types.h>

/* X(field, number), of integers of task_struct. */
#define FIELD_VALUES(X)                                                                            \
	X(pid, 0)                                                                                  \
	X(tgid, 1)                                                                                 \
	X(flags, 2)                                                                                \
	X(on_cpu, 3)                                                                               \
	X(on_rq, 4)                                                                                \
	X(nr_cpus_allowed, 5)                                                                      \
	X(start_boottime, 6)                                                                       \
	X(self_exec_id, 7)                                                                         \
	X(nvcsw, 8)                                                                                \
	X(thread_info.status, 9)                                                                   \
	X(thread_info.cpu, 10)
#define N_FIELD_VALUES 11

struct field_values {
	__u64 direct[N_FIELD_VALUES];
	__u64 probed[N_FIELD_VALUES];
	__u64 in_iowait;
	__u64 leader_tgid;
	__u64 mask[1];
	char comm[16];
	unsigned char bytes[8192]; /* of the task_struct, which may end sooner */
};
