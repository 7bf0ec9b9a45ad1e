// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library of 6 KB that has what is read of programs: functions, inlined calls, a PLT, variables
 * with members, and USDT probes.
 */
#include "tests/programs/common/probe.h"

PROBE_SEMAPHORE(met);

struct settings {
	int level;
	struct {
		long lock;
		char text[8];
	} parts[3];
};

struct settings settings;
static struct settings *current = &settings;

int foreign(int n);
int entry(int n);

static inline __attribute__((always_inline)) int twice(int n)
{
	current->level = n;
	return foreign(n) * 2;
}

static inline __attribute__((always_inline)) int thrice(int n)
{
	return twice(n) + foreign(n + 1);
}

static __attribute__((noinline)) int local(int n)
{
	settings.parts[n & 1].lock = n;
	PROBE(dwell, met);
	return thrice(n);
}

int entry(int n)
{
	if (__builtin_expect(n > 7, 0))
		return foreign(local(n)) + twice(n);
	return local(n + 1);
}
