/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/common/keep_cpus_busy.h"

void busy_cpus__start(struct busy_cpus *busy)
{
	const struct sched_param param = {};
	pid_t parent = getpid();
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && busy->count < BUSY_CPUS_MAX; cpu++) {
		pid_t pid;

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		pid = fork();
		if (pid < 0)
			die("fork");
		if (pid) {
			busy->pids[busy->count++] = pid;
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "busy");
		stay_on(cpu);
		sched_setscheduler(0, SCHED_IDLE, &param);
		/* Whatever else runs at idle priority keeps the CPU busy as well. */
		while (getppid() == parent) {
			BURN(100000);
			sched_yield();
		}
		_exit(0);
	}
}

void busy_cpus__stop(struct busy_cpus *busy)
{
	const struct sched_param param = {};

	/* At idle priority they would get no CPU to exit while the machine is busy. */
	set_name("ending");
	for (int i = 0; i < busy->count; i++) {
		sched_setscheduler(busy->pids[i], SCHED_OTHER, &param);
		kill(busy->pids[i], SIGKILL);
		waitpid(busy->pids[i], NULL, 0);
	}
	busy->count = 0;
}
