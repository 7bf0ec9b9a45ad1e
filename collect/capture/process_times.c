// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/process_times.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

/* Sets *@ns by the clock of the process. False: it has ended, maybe just now. */
static bool read_cpu_time(uint32_t pid, uint64_t *ns)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &time))
		return false;
	*ns = timespec_ns(&time);
	return true;
}

void process_times__add(struct process_times *times, uint32_t pid)
{
	struct process_time process = {.pid = pid};
	size_t at = 0;

	if (!read_cpu_time(pid, &process.cpu_ns))
		return;
	while (at < times->processes.n && times->processes.data[at].pid != pid)
		at++;
	if (at < times->processes.n)
		times->processes.data[at] = process;
	else
		(void)array__push(&times->processes, process);
}

uint64_t process_times__take(struct process_times *times)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < times->processes.n;) {
		struct process_time *process = &times->processes.data[i];
		uint64_t now;

		if (!read_cpu_time(process->pid, &now)) {
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
