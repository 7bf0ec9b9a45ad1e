// SPDX-License-Identifier: BSD-2-Clause
/* Looks at shadow stacks of threads that get and lose the CPU. */
#include "tests/unit/shadow_scan_support.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A thread without a CPU is looked at once, as it was when it lost it. */
static void threads_that_do_not_run_are_left_alone(void **state)
{
	struct thread_run run = {};
	uint64_t now = later();
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	assert_true(look_if_needed(&f, now, false)); /* nothing is known of it */
	assert_true(look_if_needed(&f, now + 100, true));
	run.in = now + 150;
	push(&f, 1);
	assert_true(look_if_needed(&f, now + 200, true)); /* at that time */
	pop(&f);
	push(&f, 2);
	run.out = now + 220;
	assert_true(look_if_needed(&f, now + 5000, true));
	assert_int_equal(f.scan.calls.data[0].begin, now + 210);
	assert_int_equal(f.scan.calls.data[0].begin_slack, 10);
	assert_false(look_if_needed(&f, now + 6000, false));
	assert_false(look_if_needed(&f, now + 6100, true));
	pop(&f);
	push(&f, 3);
	run.in = now + 9000;
	/* Within a pair: what changed did so since it got the CPU. */
	assert_false(f.scan.calls.data[0].function == 3);
	look_if_needed(&f, now + 9004, true);
	assert_int_equal(f.scan.calls.data[0].function, 3);
	assert_in_range(f.scan.calls.data[0].begin, now + 9000, now + 9004);
	assert_in_range(f.scan.calls.data[0].begin_slack, 0, 2);
	tear_down(&f);
}

/*
 * It gets the CPU back after the scanner saw that it had none, and before the stack is read: what
 * changed did so by now, not before it had lost the CPU.
 */
static void runs_that_begin_before_the_read_are_seen(void **state)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC) - 50000000, time = now + 3000000;
	struct thread_run run = {.in = now};
	bool second = false;
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	look(&f, now + 10, false);
	f.scan.calls.data[0].begin = f.scan.seen = f.scan.looked = now + 10;
	run.out = now + 1000000;
	assert_true(shadow_scan__is_needed(&f.scan, &time));
	assert_int_equal(time, run.out);
	run.in = now + 2000000;
	pop(&f);
	assert_int_equal(shadow_scan__look(&f.scan, time, &second, &f.sink), 0);
	assert_int_equal(f.told.calls.n, 1);
	assert_true(f.told.calls.data[0].end + f.told.calls.data[0].end_slack >= run.in);
	tear_down(&f);
}

/* Number of runs of the child @pid, as soon as it sleeps for good. */
static uint64_t arrivals_of(pid_t pid)
{
	unsigned long long arrivals = 0, before;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	do {
		before = arrivals;
		usleep(20000);
		file = fopen(path, "re");
		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*u %*u %llu", &arrivals), 1);
		fclose(file);
	} while (arrivals < 3 || arrivals != before);
	return arrivals;
}

/*
 * A late look at a thread that has lost its CPU at @out, after which its stack changed; @arrivals:
 * how often it had got one by then. Returns when the call is said to have ended at the latest.
 */
static uint64_t end_by_late_look(pid_t pid, uint64_t out, uint64_t arrivals)
{
	struct thread_run run = {.in = out - 1000000, .arrivals = arrivals - 1};
	uint64_t time = out + 3000000, end;
	bool second = false;
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	f.scan.pid = f.stack->tid = (uint32_t)pid;
	push(&f, 1);
	look(&f, out - 500000, false);
	f.scan.calls.data[0].begin = f.scan.seen = f.scan.looked = out - 500000;
	run.out = out;
	run.arrivals = arrivals;
	assert_true(shadow_scan__is_needed(&f.scan, &time));
	assert_int_equal(time, out);
	pop(&f);
	assert_int_equal(shadow_scan__look(&f.scan, time, &second, &f.sink), 0);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.calls.n, 1);
	end = f.told.calls.data[0].end + f.told.calls.data[0].end_slack;
	tear_down(&f);
	return end;
}

/* No switch-in was traced, but the scheduler's statistics count one more run of the thread. */
static void hidden_runs_are_seen(void **state)
{
	uint64_t out = now_ns(CLOCK_MONOTONIC) - 50000000, arrivals;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++) /* gets a CPU some times */
			usleep(1000);
		for (;;)
			pause();
	}
	arrivals = arrivals_of(pid);
	assert_true(end_by_late_look(pid, out, arrivals) <= out);
	assert_true(end_by_late_look(pid, out, arrivals - 1) >= out + 3000000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(end_by_late_look(pid, out, arrivals) >= out + 3000000); /* it has ended since */
}

/* It ran at the last look, went on, lost the CPU and got it once more: both runs are unknown. */
static void runs_go_on_after_looks(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now, .out = now - 10, .arrivals = 7};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	assert_true(look_if_needed(&f, now + 100, false));
	push(&f, 1);
	run.out = now + 2000;
	run.ran += 2000;
	run.arrivals++;
	run.in = now + 3000;
	run.out = now + 3100;
	run.ran += 100;
	run.arrivals++;
	assert_true(look_if_needed(&f, now + 4000, false));
	assert_int_equal(f.scan.calls.data[0].begin, now + 1600); /* 100 to 3100 */
	assert_int_equal(f.scan.calls.data[0].begin_slack, 1500);
	tear_down(&f);
}

/* It ran between two looks, and lost the CPU again. */
static void runs_between_looks_are_seen(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now, .out = now + 10, .arrivals = 7};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	assert_true(look_if_needed(&f, now + 1000, false));
	assert_false(look_if_needed(&f, now + 2000, false));
	run.in = now + 2500;
	pop(&f);
	push(&f, 2);
	run.out = now + 2600;
	run.ran += 100;
	run.arrivals++;
	assert_true(look_if_needed(&f, now + 3000, false));
	assert_int_equal(f.scan.calls.data[0].function, 2);
	assert_int_equal(f.scan.calls.data[0].begin, now + 2550); /* 2500 to 2600 */
	assert_false(look_if_needed(&f, now + 3500, false));
	/* Twice: only the last time is known. */
	run.in = now + 3800;
	pop(&f);
	push(&f, 3);
	run.out = now + 3900;
	run.ran += 150;
	run.arrivals += 2;
	assert_true(look_if_needed(&f, now + 3950, false));
	assert_int_equal(f.scan.calls.data[0].begin, now + 3700); /* 3500 to 3900 */
	assert_false(look_if_needed(&f, now + 4000, false));
	/* It has ended, and another thread has the stack. */
	run.in = run.out = 0;
	pop(&f);
	f.stack->tid = 300;
	assert_true(look_if_needed(&f, now + 5000, false));
	assert_int_equal(f.scan.calls.n, 0);
	tear_down(&f);
}

/* A stack that is found again: its run time until then was reported. */
static void run_time_is_reported_once(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	f.scan.goes_on = true;
	push(&f, 1);
	look(&f, now + 9000, false);
	assert_int_equal(f.scan.report.ns, 0);
	push(&f, 2);
	look(&f, now + 10000, false);
	assert_int_equal(f.scan.report.ns, 1000);
	assert_int_equal(f.scan.report.pushes, 1);
	assert_int_equal(f.scan.report.pushes_ns, 1000);
	tear_down(&f);
}

/* A thread that was woken, or that lost its CPU to another one, waits for one until it has got it.
 */
static void waiting_for_a_cpu_is_seen(void **state)
{
	struct thread_run run = {};
	struct shadow_scan scan = {.run = &run};

	assert_false(shadow_scan__has_cpu(&scan) || shadow_scan__waits_for_cpu(&scan));
	run.in = 1000;
	assert_true(shadow_scan__has_cpu(&scan) && !shadow_scan__waits_for_cpu(&scan));
	run.runnable = run.out = 2000; /* preempted */
	assert_true(!shadow_scan__has_cpu(&scan) && shadow_scan__waits_for_cpu(&scan));
	run.in = 3000;
	assert_true(shadow_scan__has_cpu(&scan) && !shadow_scan__waits_for_cpu(&scan));
	run.out = 4000; /* sleeps */
	assert_false(shadow_scan__has_cpu(&scan) || shadow_scan__waits_for_cpu(&scan));
	run.runnable = 5000;
	assert_true(!shadow_scan__has_cpu(&scan) && shadow_scan__waits_for_cpu(&scan));
	run.in = run.out = 0; /* ended */
	assert_false(shadow_scan__has_cpu(&scan) || shadow_scan__waits_for_cpu(&scan));
}

/* What the kernel says of a thread that has ended is not that it runs. */
static void ended_threads_do_not_run(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	assert_true(look_if_needed(&f, now + 100, false));
	assert_true(look_if_needed(&f, now + 300, false));
	assert_int_equal(f.scan.report.ns, 300);
	run = (struct thread_run){};
	assert_false(look_if_needed(&f, now + 50000000, false));
	assert_int_equal(f.scan.report.ns, 300);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.calls.data[0].end, now + 300);
	tear_down(&f);
}

/* A run whose end comes while its times are read seems to be there twice. */
static void runs_do_not_count_twice(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now, .ran = 0};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	look(&f, now + 1000, false);
	run.ran = 5000; /* it ends at now + 5000, which is not to be seen yet */
	look(&f, now + 5000, false);
	run.out = now + 5000;
	look(&f, now + 5000, false);
	run.in = now + 7000;
	look(&f, now + 9000, false);
	run.out = now + 20000;
	run.ran += 13000;
	look(&f, now + 20000, false);
	assert_in_range(f.scan.report.ns, 18000 - 1, 18000 + 1); /* 0 to 5000, 7000 to 20000 */
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_do_not_run_are_left_alone),
		cmocka_unit_test(runs_that_begin_before_the_read_are_seen),
		cmocka_unit_test(hidden_runs_are_seen),
		cmocka_unit_test(runs_go_on_after_looks),
		cmocka_unit_test(runs_between_looks_are_seen),
		cmocka_unit_test(run_time_is_reported_once),
		cmocka_unit_test(waiting_for_a_cpu_is_seen),
		cmocka_unit_test(ended_threads_do_not_run),
		cmocka_unit_test(runs_do_not_count_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
