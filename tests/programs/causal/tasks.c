/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases whose tasks begin and end: processes, threads, requests in a queue. */
#include "tests/programs/causal/case.h"

#include <math.h>
#include <sys/timerfd.h>

/*
 * forks: a process for every task. The parent sleeps meanwhile, then waits for it. (If the
 * parent computed, a child on the same CPU would wait for the CPU.)
 *
 * Expected: prepare by its share of 22 %; child_task (2.6 ms) by 22 % as well, until meanwhile
 * (about 1.9 ms) is slower; meanwhile nothing.
 */
COMPUTE(prepare)
COMPUTE_AND_NAP(meanwhile)
COMPUTE(child_task)

static void case_forks(void)
{
	while (!run__over()) {
		pid_t pid;

		prepare(800);
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid) {
			child_task(2600);
			_exit(0);
		}
		meanwhile(100, 4);
		if (waitpid(pid, NULL, 0) != pid)
			die("waitpid");
		PROGRESS("task");
	}
}

const struct known_case forks_case = {
	.name = "forks",
	.run = case_forks,
	.point = "task",
	.targets = {&prepare_target, &meanwhile_target, &child_task_target},
	.note = "a process for every task: prepare, and child_task until meanwhile is "
		"slower",
};

/*
 * threads: a thread begins every task, creates a second thread that finishes it, and ends.
 *
 * Expected: task_begin (1.2 ms) and task_finish (1.6 ms) about 30 %, until plan (about 1.9 ms)
 * is slower; plan nothing.
 */
static sem_t finished;

COMPUTE_AND_NAP(plan)
COMPUTE(task_begin)
COMPUTE(task_finish)

static void start_detached(void *(*body)(void *arg))
{
	pthread_detach(start_thread(body, NULL));
}

static void *run_task_finish(void *arg)
{
	task_finish(1600);
	sem_post(&finished);
	return arg;
}

static void *run_task_begin(void *arg)
{
	task_begin(1200);
	start_detached(run_task_finish);
	return arg;
}

static void case_threads(void)
{
	sem_init(&finished, false, 0);
	while (!run__over()) {
		start_detached(run_task_begin);
		plan(100, 4);
		while (sem_wait(&finished))
			;
		PROGRESS("task");
	}
}

const struct known_case threads_case = {
	.name = "threads",
	.run = case_threads,
	.point = "task",
	.targets = {&plan_target, &task_begin_target, &task_finish_target},
	.note = "two threads for every task",
};

/*
 * latency: an open queue. Requests arrive at random, every 2 ms on average, also while others
 * wait; one server takes 1.2 ms on average.
 *
 * Expected: serve_request shortens the latency by more than its own time, because of the
 * queue: at 50 % by nearly two thirds. receive by its share. Throughput does not change:
 * requests do not arrive faster.
 *
 * latency-two: two servers, which take 2 ms each and mostly sleep.
 *
 * latency-clock: requests arrive at absolute times, whatever delays the program.
 */
#define REQUESTS_MAX 8192

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty;
	uint64_t came[REQUESTS_MAX]; /* ns; a ring buffer */
	uint64_t put, taken;
	uint64_t mean_ns;
} requests = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
};

COMPUTE(receive)
COMPUTE(serve_request)
COMPUTE_AND_NAP(ask_elsewhere)

KEEP void put_request(uint64_t came)
{
	pthread_mutex_lock(&requests.mutex);
	requests.came[requests.put++ % REQUESTS_MAX] = came;
	pthread_mutex_unlock(&requests.mutex);
	pthread_cond_signal(&requests.not_empty);
	NO_TAIL_CALL();
}

KEEP uint64_t take_request(uint64_t *number)
{
	uint64_t came;

	pthread_mutex_lock(&requests.mutex);
	while (requests.taken == requests.put)
		pthread_cond_wait(&requests.not_empty, &requests.mutex);
	*number = requests.taken++;
	came = requests.came[*number % REQUESTS_MAX];
	pthread_mutex_unlock(&requests.mutex);
	NO_TAIL_CALL();
	return came;
}

static void answer(uint64_t came)
{
	POINT_END("request");
	run__count_latency(came);
	PROGRESS("reply");
}

static void *run_answering(void *arg)
{
	for (;;) {
		uint64_t number;
		uint64_t came = take_request(&number);

		serve_request(number % 3 ? 1000 : 1600);
		answer(came);
	}
	return arg;
}

static void *run_asking(void *arg)
{
	for (;;) {
		uint64_t number;
		uint64_t came = take_request(&number);

		ask_elsewhere(200, 4);
		answer(came);
	}
	return arg;
}

/*
 * Exponentially distributed: requests are independent. All runs, and all scales of a cycle,
 * have the same sequence, so that their difference is not chance.
 */
static uint64_t draw_gap(void)
{
	static uint64_t random = 88172645463325252ull;
	static int n_blocks;
	int now = __atomic_load_n(&run->n_blocks, __ATOMIC_RELAXED);
	double uniform;

	if (n_blocks != now)
		random = 88172645463325252ull * (2 * run->cycle + 1);
	n_blocks = now;
	uniform = draw(&random, 1, 1 << 20) / (double)(1 << 20);
	return -log(uniform) * requests.mean_ns;
}

/* The time it takes shortens the gap to the next request. */
static void accept_request(void)
{
	uint64_t came = wall_ns();

	POINT_BEGIN("request");
	receive(100);
	put_request(came);
}

static void *run_arrivals(void *arg)
{
	for (;;) {
		sleep_ns(draw_gap());
		accept_request();
	}
	return arg;
}

static void *run_timed_arrivals(void *arg)
{
	uint64_t next = wall_ns(), expired;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	for (;;) {
		struct itimerspec when = {};

		next += draw_gap();
		when.it_value.tv_sec = next / NS_PER_S;
		when.it_value.tv_nsec = next % NS_PER_S;
		if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
			die("timerfd_settime");
		while (read(fd, &expired, sizeof(expired)) != sizeof(expired))
			if (errno != EINTR)
				die("timerfd");
		accept_request();
	}
	return arg;
}

static void case_latency(void)
{
	requests.mean_ns = 1860 * NS_PER_US; /* with the timer's delay and receive: 2 ms */
	start_thread(run_answering, NULL);
	start_thread(run_arrivals, NULL);
}

const struct known_case latency_case = {
	.name = "latency",
	.run = case_latency,
	.point = "reply",
	.latency = "request",
	.targets = {&serve_request_target, &receive_target},
	.note = "an open queue, 0.6 busy: latency shrinks, throughput stays",
	.seconds = 10,
};

static void case_latency_two(void)
{
	requests.mean_ns = 1530 * NS_PER_US;
	start_thread(run_asking, NULL);
	start_thread(run_asking, NULL);
	start_thread(run_arrivals, NULL);
}

const struct known_case latency_two_case = {
	.name = "latency-two",
	.run = case_latency_two,
	.point = "reply",
	.latency = "request",
	.targets = {&ask_elsewhere_target, &receive_target},
	.note = "the same with two servers",
	.seconds = 10,
};

static void case_latency_clock(void)
{
	requests.mean_ns = 2000 * NS_PER_US;
	start_thread(run_answering, NULL);
	start_thread(run_timed_arrivals, NULL);
}

const struct known_case latency_clock_case = {
	.name = "latency-clock",
	.run = case_latency_clock,
	.point = "reply",
	.latency = "request",
	.targets = {&serve_request_target, &receive_target},
	.note = "the same with requests at fixed times, whether or not the server keeps up",
	.seconds = 10,
};
