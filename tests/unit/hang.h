/* SPDX-License-Identifier: BSD-2-Clause */
/* A test that computes without an end is ended. */
#pragma once

#include <stddef.h>
#include <sys/time.h>

/*
 * SIGPROF ends the program when it has used @seconds more of CPU time; 0: never. Not of real time:
 * unit tests get what other tests leave of the CPUs. (Where a test may wait without an end:
 * alarm().)
 */
static inline void hang__limit(unsigned int seconds)
{
	const struct itimerval limit = {.it_value.tv_sec = seconds};

	setitimer(ITIMER_PROF, &limit, NULL);
}
