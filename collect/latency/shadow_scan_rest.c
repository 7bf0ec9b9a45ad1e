// SPDX-License-Identifier: BSD-2-Clause
#include "collect/latency/shadow_scan_rest.h"

#include <unistd.h>

#define REST_NS	 50000
#define SHARE_NS 200000 /* so long, a thread gets the scanner's CPU if there is no other */

/* What becomes of the scanner's CPU until the next look. */
enum pause { KEEPS_CPU, RESTS, SHARES_CPU };

/*
 * Threads that wait for a CPU while none of them has one must get it: at its priority, the scanner
 * would keep the one that they share with it for nearly all the time, and see nothing.
 */
static enum pause find_pause(const struct shadow_scan *scans, size_t n, bool idle)
{
	unsigned here = (unsigned)sched_getcpu();
	enum pause pause = idle || !n ? RESTS : KEEPS_CPU;

	for (size_t i = 0; i < n; i++) {
		const struct shadow_scan *scan = &scans[i];

		if (shadow_scan__has_cpu(scan))
			return idle ? RESTS : KEEPS_CPU;
		if (!shadow_scan__waits_for_cpu(scan))
			continue;
		if (scan->run->cpu == here)
			return SHARES_CPU;
		pause = RESTS;
	}
	return pause;
}

/* Leaves the CPUs to the threads that have or had them last, if there is another one. */
static bool change_cpu(const struct shadow_scan *scans, size_t n, const cpu_set_t *cpus)
{
	cpu_set_t others = *cpus;
	bool moves;

	for (size_t i = 0; i < n; i++) {
		const struct shadow_scan *scan = &scans[i];

		if (shadow_scan__waits_for_cpu(scan))
			CPU_CLR(scan->run->cpu, &others);
	}
	moves = CPU_COUNT(&others) != 0;
	sched_setaffinity(0, sizeof(others), moves ? &others : cpus);
	return moves;
}

void shadow_scan__rest(const struct shadow_scan *scans, size_t n, const cpu_set_t *cpus, bool idle)
{
	enum pause pause = find_pause(scans, n, idle);

	if (pause == SHARES_CPU && !change_cpu(scans, n, cpus))
		usleep(SHARE_NS / 1000);
	else if (pause == RESTS)
		usleep(REST_NS / 1000);
}
