/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases of `causal`, each defined below its threads. */
#pragma once

#include "tests/programs/causal/run.h"

#define TARGETS_MAX 6

struct known_case {
	const char *name;
	void (*run)(void); /* starts the threads, or takes part until the run is over */
	const char *point;
	const char *latency; /* name of the begin and end points; NULL: none */
	struct target *targets[TARGETS_MAX];
	const char *note;
	int seconds; /* that a curve needs; 0: 3 */
	bool disk;   /* its work depends on the cost of disk operations */
};

/* rounds.c */
extern const struct known_case coz_figure1_case;
extern const struct known_case bs_figure1_1_case;
extern const struct known_case bs_figure1_2_case;
extern const struct known_case barrier_case;
extern const struct known_case usleep_barrier_case;
extern const struct known_case phases_case;
extern const struct known_case spin_case;

/* flow.c */
extern const struct known_case pipeline_case;
extern const struct known_case semaphores_case;
extern const struct known_case futex_case;
extern const struct known_case pipes_case;
extern const struct known_case tcp_case;
extern const struct known_case epoll_case;

/* locks.c */
extern const struct known_case critical_section_case;
extern const struct known_case contention_case;
extern const struct known_case rwlock_case;
extern const struct known_case oversubscribed_case;
extern const struct known_case pool_case;
extern const struct known_case errands_case;
extern const struct known_case cores_case;
extern const struct known_case cores_4_case;

/* tasks.c */
extern const struct known_case forks_case;
extern const struct known_case threads_case;
extern const struct known_case latency_case;
extern const struct known_case latency_two_case;
extern const struct known_case latency_clock_case;
