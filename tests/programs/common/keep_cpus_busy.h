/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps CPUs from going idle. On an idle CPU a woken thread runs after 10 to 60 us, in virtual
 * machines later; on a CPU that is not idle, after 1 to 2 us.
 */
#pragma once

#include "tests/programs/common/program.h"

#define BUSY_CPUS_MAX 64

struct busy_cpus {
	pid_t pids[BUSY_CPUS_MAX];
	int count;
};

/* Starts a child that computes at idle priority on every CPU that this process may use. */
void busy_cpus__start(struct busy_cpus *busy);

/* Ends the children. */
void busy_cpus__stop(struct busy_cpus *busy);
