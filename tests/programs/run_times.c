// SPDX-License-Identifier: BSD-2-Clause
/*
 * run_times --log FILE [--ready FILE] [--children N [--pause MS]] [--seconds S]: threads that
 * compute all the time, in short bursts, answer each other or sleep all the time, until S seconds
 * have passed (60) or SIGTERM comes. Then it writes to FILE, for each thread, when how much CPU
 * time it had used, by its own clock: lines "TID WALL_NS CPU_NS". The CPU time at any other time
 * lies between bounds that the readings before and after it give. They are at least 8 ms apart,
 * because reading its clock brings the kernel's count of a thread up to date.
 *
 * With --children it ends when N children, one after the other, were born and reaped; FILE has
 * lines "PID child CPU_NS BEGIN_NS END_NS THREADS": CPU time from their rusage, begin and end as in
 * dwell's recordings (CLOCK_MONOTONIC). They differ in what they do.
 */
#include "tests/programs/common/program.h"

#define LOG_NS	 (8 * NS_PER_MS)
#define READINGS (1 << 14) /* that are kept: the first half, and at least the last quarter */
#define PAIRS	 2
#define HOGS	 1
#define NAPPERS	 4
#define PAIRED	 (HOGS + NAPPERS) /* the first thread of a pair */
#define THREADS	 (PAIRED + 2 * PAIRS + 1)

struct reading {
	uint64_t wall;
	uint64_t cpu;
};

struct thread_log {
	pthread_t thread;
	pid_t tid;
	size_t n;
	int in, out; /* of a pair */
	uint64_t number;
	struct reading *readings;
};

static volatile sig_atomic_t ending;
static struct thread_log logs[THREADS];
static int end_pipe[2];
static uint64_t per_ms;

static void on_term(int signal)
{
	(void)signal;
	ending = 1;
}

static void read_clocks(struct thread_log *log)
{
	const size_t quarter = READINGS / 4;

	if (log->n == READINGS) {
		memcpy(log->readings + 2 * quarter, log->readings + 3 * quarter,
		       quarter * sizeof(*log->readings));
		log->n -= quarter;
	}
	log->readings[log->n++] = (struct reading){wall_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID)};
}

/* Reads them if it is time to. */
static void note(struct thread_log *log)
{
	if (!log->n || wall_ns() - log->readings[log->n - 1].wall >= LOG_NS)
		read_clocks(log);
}

static void begin(struct thread_log *log, const char *name)
{
	set_name(name);
	log->tid = thread_id();
	read_clocks(log);
}

static void *compute(void *arg)
{
	struct thread_log *log = arg;

	begin(log, "hog");
	for (; !ending; note(log))
		BURN(per_ms / 4);
	read_clocks(log);
	return NULL;
}

static void *nap(void *arg)
{
	struct thread_log *log = arg;

	begin(log, "napper");
	for (; !ending; note(log)) {
		sleep_ns((log->number + 1) * NS_PER_MS / 2);
		BURN(per_ms / 10);
	}
	read_clocks(log);
	return NULL;
}

static void *answer(void *arg)
{
	struct thread_log *log = arg;
	char byte = 0;

	begin(log, "answerer");
	for (; !ending && read(log->in, &byte, 1) == 1; note(log)) {
		BURN(per_ms / 20);
		if (write(log->out, &byte, 1) != 1)
			break;
	}
	read_clocks(log);
	close(log->out); /* ends the other one */
	return NULL;
}

static void *sleep_on(void *arg)
{
	struct thread_log *log = arg;
	char byte;

	begin(log, "sleeper");
	if (read(end_pipe[0], &byte, 1) < 0)
		die("read");
	read_clocks(log);
	return NULL;
}

static void make_pair(struct thread_log *one, struct thread_log *other)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back) || write(there[1], "", 1) != 1)
		die("pipe");
	one->in = there[0];
	one->out = back[1];
	other->in = back[0];
	other->out = there[1];
}

static void run_threads(const char *ready_path, uint64_t seconds)
{
	uint64_t end = wall_ns() + seconds * NS_PER_S;
	struct thread_log *log = logs;

	if (pipe(end_pipe))
		die("pipe");
	for (int i = 0; i < PAIRS; i++)
		make_pair(&logs[PAIRED + 2 * i], &logs[PAIRED + 2 * i + 1]);
	for (uint64_t i = 0; i < THREADS; i++, log++) {
		log->number = i;
		log->readings = calloc(READINGS, sizeof(*log->readings));
		if (!log->readings)
			die("calloc");
		log->thread = start_thread(i < HOGS		    ? compute
					   : i < PAIRED		    ? nap
					   : i < PAIRED + 2 * PAIRS ? answer
								    : sleep_on,
					   log);
	}
	sleep_ns(20 * NS_PER_MS);
	ready(ready_path);
	while (!ending && wall_ns() < end)
		usleep(20000);
	ending = 1;
	close(end_pipe[1]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(logs[i].thread, NULL);
}

static void *burn_some(void *arg)
{
	BURN(5 * per_ms);
	return arg;
}

/* What child @i does. Its CPU time is that of all its threads. */
static void child(int i)
{
	pthread_t threads[3];
	int pipes[2];
	char byte = 0;

	switch (i % 5) {
	case 0: /* nothing */
		break;
	case 1:
		BURN(20 * per_ms);
		break;
	case 2:
		for (int n = 0; n < 50; n++) {
			BURN(per_ms / 20);
			sleep_ns(NS_PER_MS / 5);
		}
		break;
	case 3:
		if (pipe(pipes))
			die("pipe");
		for (int n = 0; n < 5000; n++)
			if (write(pipes[1], &byte, 1) != 1 || read(pipes[0], &byte, 1) != 1)
				die("pipe");
		break;
	default:
		for (int n = 0; n < 3; n++)
			threads[n] = start_thread(burn_some, NULL);
		for (int n = 0; n < 3; n++)
			pthread_join(threads[n], NULL);
		execlp("true", "true", (char *)NULL);
	}
	_exit(0);
}

static void run_children(FILE *out, int count, uint64_t pause_ms)
{
	for (int i = 0; i < count; i++) {
		uint64_t begin = wall_ns();
		struct rusage used;
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid)
			child(i);
		if (wait4(pid, NULL, 0, &used) != pid)
			die("wait4");
		fprintf(out, "%d child %lld %" PRIu64 " %" PRIu64 " %d\n", pid,
			(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ll +
				(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ll,
			begin, wall_ns(), i % 5 == 4 ? 4 : 1);
		if (ending)
			break;
		sleep_ns(pause_ms * NS_PER_MS);
	}
}

int main(int argc, char **argv)
{
	const char *path = NULL, *ready_path = NULL;
	uint64_t seconds = 60, pause_ms = 0;
	int children = 0;
	FILE *out;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--log"))
			path = argv[i + 1];
		else if (!strcmp(argv[i], "--ready"))
			ready_path = argv[i + 1];
		else if (!strcmp(argv[i], "--children"))
			children = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--pause"))
			pause_ms = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seconds"))
			seconds = strtoull(argv[i + 1], NULL, 10);
	}
	out = path ? fopen(path, "we") : NULL;
	if (!out)
		die("usage: run_times --log FILE [--ready FILE] [--children N] [--seconds S]");
	signal(SIGTERM, on_term);
	signal(SIGPIPE, SIG_IGN);
	per_ms = loops_per_ms();
	if (children)
		run_children(out, children, pause_ms);
	else
		run_threads(ready_path, seconds);
	for (int t = 0; t < THREADS; t++)
		for (size_t i = 0; i < logs[t].n; i++)
			fprintf(out, "%d %" PRIu64 " %" PRIu64 "\n", logs[t].tid,
				logs[t].readings[i].wall, logs[t].readings[i].cpu);
	return fclose(out) ? 2 : 0;
}
