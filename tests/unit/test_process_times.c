// SPDX-License-Identifier: BSD-2-Clause
/* The CPU time of processes: of new ones, and of those that end at any time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/capture/process_times.h"

/* In place of the C library's: a process with PID has this clock. */
#define PID   4711
#define CLOCK 1000

static uint64_t cpu_ns;
static bool is_there, is_reaped_meanwhile;

int clock_getcpuclockid(pid_t pid, clockid_t *clock)
{
	assert_int_equal(pid, PID);
	*clock = CLOCK;
	return is_there ? 0 : ESRCH;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK)
		return (int)syscall(SYS_clock_gettime, clock, time);
	if (!is_there || is_reaped_meanwhile) {
		errno = EINVAL;
		return -1;
	}
	*time = (struct timespec){(time_t)(cpu_ns / 1000000000), (long)(cpu_ns % 1000000000)};
	return 0;
}

static struct process_times begin(uint64_t ns)
{
	struct process_times times = {};

	is_there = true;
	is_reaped_meanwhile = false;
	cpu_ns = ns;
	process_times__add(&times, PID);
	return times;
}

static void times_since_the_last_call(void **state)
{
	struct process_times times = begin(5);

	cpu_ns = 3000000007;
	assert_int_equal(process_times__take(&times), 3000000002);
	assert_int_equal(process_times__take(&times), 0);
	cpu_ns -= 2; /* a clock may step back */
	assert_int_equal(process_times__take(&times), 0);
	cpu_ns += 3;
	assert_int_equal(process_times__take(&times), 1);
	process_times__free(&times);
}

static void a_new_process_has_none(void **state)
{
	struct process_times times = begin(0);

	assert_int_equal(process_times__take(&times), 0);
	cpu_ns = 10;
	assert_int_equal(process_times__take(&times), 10);
	process_times__free(&times);
}

static void a_process_is_counted_once(void **state)
{
	struct process_times times = begin(50);

	cpu_ns = 5; /* of a new process with the pid */
	process_times__add(&times, PID);
	cpu_ns = 7;
	assert_int_equal(process_times__take(&times), 2);
	process_times__free(&times);
}

static void a_process_that_ends_is_forgotten(void **state)
{
	struct process_times times = begin(5);

	is_there = false;
	assert_int_equal(process_times__take(&times), 0);
	assert_int_equal(times.processes.n, 0);
	process_times__free(&times);
}

static void a_process_ends_between_two_calls(void **state)
{
	struct process_times times = begin(5);

	is_reaped_meanwhile = true;
	assert_int_equal(process_times__take(&times), 0);
	assert_int_equal(times.processes.n, 0);
	process_times__add(&times, PID);
	assert_int_equal(times.processes.n, 0);
	process_times__free(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_since_the_last_call),
		cmocka_unit_test(a_new_process_has_none),
		cmocka_unit_test(a_process_is_counted_once),
		cmocka_unit_test(a_process_that_ends_is_forgotten),
		cmocka_unit_test(a_process_ends_between_two_calls),
	};

	return cmocka_run_group_tests_name("process times", tests, NULL, NULL);
}
