/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A made-up program with known answers, for the tests of profile and views.
 *
 * worker (tid 101), 100 points from 0 to 100 ms:
 *	[0, 40)   runs: 30 points in compute <- work <- main, 10 in work <- main
 *	[40, 60)  pread in disk I/O: 18 points blocked, 2 points runnable
 *	[60, 90)  a condition variable: 30 points blocked
 *	[90, 95)  preempted in compute
 *	[95, 100) runs in the kernel: 5 points in copy_page <- pread <- work <- main
 * then it is called "late" and sleeps in nanosleep from 100 to 110 ms.
 * kworker (tid 7), a kernel thread: idle for 10 points from 0 to 10 ms.
 */
#pragma once

#include "tests/unit/synthetic.h"

struct workload {
	uint32_t program;
	uint32_t libc;
	uint32_t compute, work, read, cond, sleep; /* user stacks */
	uint32_t k_read, k_futex, k_preempt, k_copy, k_sleep, k_idle;
};

#define PROGRAM_AT 0x400000
#define LIBC_AT	   0x700000
#define KERNEL_AT  0xffffffff81000000

/* An address within the @i-th function of each file. */
#define IN_PROGRAM(i) (PROGRAM_AT + 16 * (i) + 8)
#define IN_LIBC(i)    (LIBC_AT + 16 * (i) + 8)
#define IN_KERNEL(i)  (KERNEL_AT + 16 * (i) + 8)

static inline void workload__symbols(struct synthetic *made, struct workload *w)
{
	static const char *const program[] = {"main", "work", "compute"};
	static const char *const libc[] = {"__libc_pread64", "pthread_cond_wait",
					   "__futex_abstimed_wait_common64", "clock_nanosleep"};
	static const char *const kernel[] = {
		"__schedule",	 "schedule",  "io_schedule",  "filemap_read",  "entry",
		"futex_do_wait", "copy_page", "do_nanosleep", "worker_thread", "irqentry_exit"};

	w->program = synthetic__dso(made, "/usr/bin/prog");
	w->libc = synthetic__dso(made, "/usr/lib/libc.so.6");
	for (size_t i = 0; i < ARRAY_SIZE(program); i++)
		synthetic__symbol(made, w->program, 16 * i, program[i], "prog.c",
				  (uint32_t)(10 * (i + 1)));
	for (size_t i = 0; i < ARRAY_SIZE(libc); i++)
		synthetic__symbol(made, w->libc, 16 * i, libc[i], NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(kernel); i++)
		synthetic__symbol(made, made->kernel_dso, KERNEL_AT + 16 * i, kernel[i], NULL, 0);
}

static inline void workload__stacks(struct synthetic *made, struct workload *w)
{
	w->work = USER_STACK(made, IN_PROGRAM(1), IN_PROGRAM(0));
	w->compute = USER_STACK(made, IN_PROGRAM(2), IN_PROGRAM(1), IN_PROGRAM(0));
	w->read = USER_STACK(made, IN_LIBC(0), IN_PROGRAM(1), IN_PROGRAM(0));
	w->cond = USER_STACK(made, IN_LIBC(2), IN_LIBC(1), IN_PROGRAM(0));
	w->sleep = USER_STACK(made, IN_LIBC(3), IN_PROGRAM(0));
	w->k_read = KERNEL_STACK(made, IN_KERNEL(0), IN_KERNEL(1), IN_KERNEL(2), IN_KERNEL(3),
				 IN_KERNEL(4));
	w->k_futex = KERNEL_STACK(made, IN_KERNEL(0), IN_KERNEL(1), IN_KERNEL(5), IN_KERNEL(4));
	w->k_preempt = KERNEL_STACK(made, IN_KERNEL(0), IN_KERNEL(1), IN_KERNEL(9));
	w->k_copy = KERNEL_STACK(made, IN_KERNEL(6), IN_KERNEL(3), IN_KERNEL(4));
	w->k_sleep = KERNEL_STACK(made, IN_KERNEL(0), IN_KERNEL(1), IN_KERNEL(7), IN_KERNEL(4));
	w->k_idle = KERNEL_STACK(made, IN_KERNEL(0), IN_KERNEL(1), IN_KERNEL(8));
}

static inline void workload__waits(struct synthetic *made, const struct workload *w)
{
	struct record_object file = {.type = OBJECT_FILE, .id = 5, .mode = S_IFREG};

	file.name = synthetic__string(made, "/var/lib/x.sst");
	synthetic__interval(made, (struct record_interval){
					  .thread = 1,
					  .class = CLASS_IO,
					  .syscall = 17, /* pread64 on x86_64 */
					  .t_out = 40 * MS,
					  .blocked_ns = 18 * MS,
					  .runq_ns = 2 * MS,
					  .blocked_points = 18,
					  .runq_points = 2,
					  .kernel_stack = w->k_read,
					  .user_stack = w->read,
					  .object = record_stream__object(
						  recording_writer__stream(made->writer), &file)});
	synthetic__interval(made, (struct record_interval){.thread = 1,
							   .class = CLASS_LOCK,
							   .syscall = 202, /* futex */
							   .t_out = 60 * MS,
							   .blocked_ns = 30 * MS,
							   .blocked_points = 30,
							   .kernel_stack = w->k_futex,
							   .user_stack = w->cond});
	synthetic__interval(made, (struct record_interval){.thread = 1,
							   .class = CLASS_SCHED,
							   .flags = INTERVAL_PREEMPTED,
							   .syscall = -1,
							   .t_out = 90 * MS,
							   .runq_ns = 5 * MS,
							   .runq_points = 5,
							   .kernel_stack = w->k_preempt,
							   .user_stack = w->compute});
	synthetic__interval(made, (struct record_interval){.thread = 1,
							   .class = CLASS_OTHER,
							   .syscall = 230, /* clock_nanosleep */
							   .t_out = 100 * MS,
							   .blocked_ns = 10 * MS,
							   .blocked_points = 10,
							   .kernel_stack = w->k_sleep,
							   .user_stack = w->sleep});
	synthetic__interval(made, (struct record_interval){.thread = 2,
							   .class = CLASS_OTHER,
							   .syscall = -1,
							   .blocked_ns = 10 * MS,
							   .blocked_points = 10,
							   .kernel_stack = w->k_idle});
}

/* 120 points in all: cpu 45, io 18, lock 30, sched 7, other 20. */
static inline struct model *workload__load(bool trace)
{
	struct synthetic made = synthetic__begin();
	struct workload w = {};
	struct record lost = {.type = RECORD_LOST, .lost = {.count = 3}};

	if (trace)
		record_stream__meta(recording_writer__stream(made.writer), "mode", "trace");
	lost.lost.cause = synthetic__string(&made, "ring buffer full");
	synthetic__put(&made, lost);
	workload__symbols(&made, &w);
	workload__stacks(&made, &w);
	synthetic__thread(&made, 1, 100, 101, 0, 0, "worker");
	synthetic__thread(&made, 2, 7, 7, 0, 0, "kworker/0:1");
	synthetic__map(&made, 100, w.program, 0, PROGRAM_AT, 0x1000, 0);
	synthetic__map(&made, 100, w.libc, 0, LIBC_AT, 0x1000, 0);
	synthetic__sample(&made, 1, 95 * MS, 5, w.k_copy, w.read);
	for (uint64_t i = 0; i < 30; i++)
		synthetic__sample(&made, 1, i * MS, 1, 0, w.compute);
	synthetic__sample(&made, 1, 30 * MS, 10, 0, w.work);
	synthetic__comm(&made, 1, 100 * MS, "late");
	workload__waits(&made, &w);
	synthetic__totals(&made, 1, 110 * MS, true, 45 * MS, 18 * MS, 30 * MS, 7 * MS, 10 * MS);
	synthetic__totals(&made, 2, 110 * MS, false, 100 * MS, 0, 0, 0, 10 * MS);
	return synthetic__load(&made, 110 * MS);
}
