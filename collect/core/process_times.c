// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/process_times.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

/* By the clock of the process; 0: it has ended. */
static uint64_t cpu_time(uint32_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid((pid_t)pid, &clock) ? 0 : now_ns(clock);
}

void process_times__add(struct process_times *times, uint32_t pid)
{
	(void)array__push(&times->processes, ((struct process_time){pid, cpu_time(pid)}));
}

uint64_t process_times__take(struct process_times *times)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < times->processes.n;) {
		struct process_time *process = &times->processes.data[i];
		uint64_t now = cpu_time(process->pid);

		if (!now) {
			*process = times->processes.data[--times->processes.n];
			continue;
		}
		/* The clock of a process that runs on another CPU may step back a little. */
		sum += now > process->cpu_ns ? now - process->cpu_ns : 0;
		process->cpu_ns = now > process->cpu_ns ? now : process->cpu_ns;
		i++;
	}
	return sum;
}

void process_times__free(struct process_times *times)
{
	array__free(&times->processes);
}
