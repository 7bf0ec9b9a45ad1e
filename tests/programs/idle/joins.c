/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases with threads that main joins, see cases.h. */
#include "tests/programs/idle/cases.h"

/*
 * join: worker0 to worker3 sleep for 5 ms, compute for 0.5 ms, and so on; worker0 ends after a
 * quarter of the time, worker1 after half of it, ... Main waits for their ends in this order.
 * join-reversed: worker3 ends first. join-late: as join-reversed, but main computes for the first
 * half of the time.
 *
 * True by construction: main cannot go on until all have ended, whichever it names first, so none
 * of them is idle in nap.
 */
#define JOINED 4

static bool ends_in_order;

COMPUTE(carve)
COMPUTE(plan)

static void run_joined(void)
{
	uint64_t between = 5 * NS_PER_MS, all;
	int rank = ends_in_order ? thread__number() : JOINED - 1 - thread__number();

	do /* until the time has begun */
		nap(NOT_IDLE, by_sleep, &between);
	while ((all = time_left()) > UINT64_MAX / 2);
	while (time_left() > all / JOINED * (JOINED - 1 - rank)) {
		nap(NOT_IDLE, by_sleep, &between);
		carve(500);
	}
}

static void start_joined(void)
{
	for (int i = 0; i < JOINED; i++)
		thread__start(run_joined, "worker%d", i);
	threads__await_begin();
}

static void case_join(void)
{
	ends_in_order = true;
	start_joined();
}

static void case_join_reversed(void)
{
	start_joined();
}

static void case_join_late(void)
{
	uint64_t half;

	start_joined();
	half = time_left() / 2;
	while (time_left() > half)
		plan(1000);
}

const struct idle_case join_cases[] = {
	{"join", case_join},
	{"join-reversed", case_join_reversed},
	{"join-late", case_join_late},
	{},
};
