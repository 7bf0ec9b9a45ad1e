// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that wait for a CPU while another one is idle that they may not use: two threads "bound"
 * that compute, both on the first CPU.
 *
 *   affinity idle|busy
 *
 * busy: a thread "other" has the second CPU meanwhile. Prints how long the two threads waited for a
 * CPU while they were called that, as the kernel counts it before and after they are renamed, and
 * two parts of it at least: while the second CPU was idle, and while "other" ran there. For in the
 * time that both compute, one of them waits.
 */
#include <sched.h>

#include "tests/programs/common/program.h"

#define LONG_NS 3000000000

/* What lies between the last begin and the first end. */
struct span {
	uint64_t begin, end;		  /* by the wall clock */
	uint64_t busy_before, busy_after; /* of the second CPU: read not later, and not earlier */
	uint64_t other_begin, other_end;  /* of the CPU time of "other": within it */
};

static pthread_barrier_t begin;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct span span = {.end = UINT64_MAX, .busy_after = UINT64_MAX, .other_end = UINT64_MAX};
static clockid_t other_clock;
static bool busy;
static uint64_t waited_least, waited_most, end;

KEEP void compute(void)
{
	while (wall_ns() < end)
		;
}

static uint64_t other_ns(void)
{
	return busy ? clock_ns(other_clock) : 0;
}

static void raise_to(uint64_t *value, uint64_t other)
{
	if (*value < other)
		*value = other;
}

static void lower_to(uint64_t *value, uint64_t other)
{
	if (*value > other)
		*value = other;
}

static void add(const struct span *mine, uint64_t least, uint64_t most)
{
	pthread_mutex_lock(&lock);
	raise_to(&span.begin, mine->begin);
	raise_to(&span.busy_before, mine->busy_before);
	raise_to(&span.other_begin, mine->other_begin);
	lower_to(&span.end, mine->end);
	lower_to(&span.busy_after, mine->busy_after);
	lower_to(&span.other_end, mine->other_end);
	waited_least += least;
	waited_most += most;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	struct span mine;
	uint64_t outer = run_queue_ns(), inner;

	set_name("bound");
	inner = run_queue_ns();
	stay_on(0);
	busy_ns(1);
	for (int i = 0; i < 3; i++) /* "other" is there; all are ready; go */
		pthread_barrier_wait(&begin);
	mine.busy_before = busy_ns(1);
	mine.begin = wall_ns();
	mine.other_begin = other_ns();
	compute();
	mine.other_end = other_ns();
	mine.end = wall_ns();
	inner = run_queue_ns() - inner;
	set_name("done");
	outer = run_queue_ns() - outer;
	stay_on(1); /* whoever ran there until now has been counted */
	mine.busy_after = busy_ns(1);
	add(&mine, inner, outer);
	return arg;
}

static void *occupy(void *arg)
{
	set_name("other");
	stay_on(1);
	pthread_getcpuclockid(pthread_self(), &other_clock);
	for (int i = 0; i < 3; i++)
		pthread_barrier_wait(&begin);
	compute();
	pause(); /* its clock is read as long as it lives */
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int n = 0;

	busy = argc > 1 && !strcmp(argv[1], "busy");
	pthread_barrier_init(&begin, NULL, busy ? 4 : 3);
	threads[n++] = start_thread(work, NULL);
	threads[n++] = start_thread(work, NULL);
	if (busy)
		threads[n++] = start_thread(occupy, NULL);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&begin);
	end = wall_ns() + LONG_NS;
	pthread_barrier_wait(&begin);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("{\"waited_least_ns\": %" PRIu64 ", \"waited_most_ns\": %" PRIu64
	       ", \"idle_ns\": %" PRIi64 ", \"occupied_ns\": %" PRIi64 "}\n",
	       waited_least, waited_most,
	       (int64_t)(span.end - span.begin - (span.busy_after - span.busy_before)),
	       (int64_t)(span.other_end - span.other_begin));
	return 0;
}
