/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which threads had a CPU while a thread waited for it: the CPU on which that thread ran after the
 * wait. Runs of recorded threads are known from their intervals. Runs of other threads are recorded
 * (struct model_cpu_run) only while a recorded thread waits for that CPU. If all runs of a wait
 * were recorded (INTERVAL_CPU_SEEN), the CPU was idle for the rest of it. Recordings before
 * format 1.8 name only the last thread that ran during the wait.
 */
#pragma once

#include "model/model.h"

enum occupant_type {
	OCCUPANT_UNKNOWN = 0,
	OCCUPANT_RUN,	/* a run of a recorded thread */
	OCCUPANT_OTHER, /* a thread that is not recorded */
	OCCUPANT_IDLE,	/* no thread */
};

struct cpu_occupant {
	enum occupant_type type;
	uint32_t thread; /* RUN, OTHER */
	uint32_t next;	 /* RUN: number of the interval that ends the run; if none does, the number
			    of intervals of the thread */
	uint64_t until;
};

struct cpu_occupants;

/* 0 or -ENOMEM. @model must outlive it. */
int cpu_occupants__new(const struct model *model, struct cpu_occupants **out);
void cpu_occupants__free(struct cpu_occupants *occupants);

/*
 * Sets *@found to the thread that had the CPU at @at, and to the time until which it is known to
 * have had it: @at < found->until <= @until. @at and @until lie in the run-queue part of interval
 * @number of @thread. 0 or -ENOMEM.
 */
int cpu_occupants__at(struct cpu_occupants *occupants, uint32_t thread, size_t number, uint64_t at,
		      uint64_t until, struct cpu_occupant *found);
