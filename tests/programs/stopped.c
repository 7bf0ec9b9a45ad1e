// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process that is not allowed to run at times: "worker", which computes, or sleeps in short
 * naps. Its parent stops it some times, and measures for how long at least, and at most.
 *
 *   stopped signal|trace|freeze FILE|quota FILE|memory FILE|deadline|realtime  [naps|moves]
 *
 * freeze: FILE is freezer.state or cgroup.freeze of a control group, in which the worker is.
 * quota: FILE is cgroup.procs of one that has a limit; the worker computes for a second. It is
 * called "counted" then, and reads how long it waited. moves: see be_moved(). memory: FILE is
 * cgroup.procs of one that has a memory.high; the worker fills memory, for two seconds at least,
 * and measures how long it did not run. deadline, realtime: the worker computes for a second, and
 * measures when it did not run.
 */
#include <libgen.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "tests/programs/common/program.h"

#define ROUNDS	 4
#define STOP_NS	 120000000
#define APART_NS 30000000
#define LONG_NS	 1000000000
#define GAP_NS	 100000	    /* a shorter time without a CPU is not counted */
#define LONG_GAP 20000000   /* no interrupt takes that long */
#define FILLED	 (18 << 20) /* bytes that are more than memory.high */

static uint64_t least, most; /* ns that the worker was stopped */
static uint64_t long_gaps;   /* sum, in the worker */

/* For @ns, or until it is killed; returns the sum of the times in which it had no CPU. */
KEEP uint64_t compute(uint64_t ns)
{
	uint64_t begin = wall_ns(), last = begin, gaps = 0;

	while (last - begin < ns) {
		uint64_t now = wall_ns();

		if (now - last > GAP_NS)
			gaps += now - last;
		if (now - last > LONG_GAP)
			long_gaps += now - last;
		last = now;
	}
	return gaps;
}

/*
 * Writes to new memory for @ns, or until it was FILLED, and gives it back: whoever has too much is
 * stopped when it returns from a system call or a page fault, so also after this. Returns how long
 * the thread had no CPU.
 */
KEEP uint64_t fill(uint64_t ns)
{
	const size_t size = 1 << 28, page = 4096;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t begin = wall_ns(), ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE))
		return 0;
	for (size_t at = 0; at < size && (at < FILLED || wall_ns() - begin < ns); at += page)
		memory[at] = 1;
	munmap(memory, size);
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
	return wall_ns() - begin - ran;
}

/* ns that the quotas of the group of @directory, and of the one around it, have stopped its
 * threads. */
static uint64_t throttled_ns(const char *directory)
{
	static const char *const in[] = {"", "/.."};
	uint64_t sum = 0;

	for (int i = 0; i < 2; i++) {
		char path[600], text[1024] = "";
		const char *ns, *us;
		int fd;

		snprintf(path, sizeof(path), "%s%s/cpu.stat", directory, in[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
			text[0] = 0;
		close(fd);
		ns = strstr(text, "throttled_time ");
		us = strstr(text, "throttled_usec ");
		sum += ns   ? strtoull(ns + 15, NULL, 10)
		       : us ? 1000 * strtoull(us + 15, NULL, 10)
			    : 0;
	}
	return sum;
}

struct counts {
	uint64_t waited, throttled;
};

static struct counts read_counts(const char *directory)
{
	return (struct counts){run_queue_ns(), throttled_ns(directory)};
}

static void print_difference(const char *what, const struct counts *from, const struct counts *to)
{
	printf("\"waited_%s_ns\": %" PRIu64 ", \"throttled_%s_ns\": %" PRIu64, what,
	       to->waited - from->waited, what, to->throttled - from->throttled);
}

/*
 * Computes as "counted", and prints how long it waited for a CPU then, and how long its quota
 * stopped it, at least and at most, as the kernel counts both. (When a thread sleeps or exits, the
 * kernel goes on counting what its quota stops.)
 */
static void compute_and_count(uint64_t ns, const char *file)
{
	struct counts outer[2], inner[2];
	char copy[512];
	const char *directory;

	snprintf(copy, sizeof(copy), "%s", file);
	directory = dirname(copy);
	outer[0] = read_counts(directory);
	set_name("counted");
	inner[0] = read_counts(directory);
	compute(ns);
	inner[1] = read_counts(directory);
	set_name("worker");
	outer[1] = read_counts(directory);
	printf("{");
	print_difference("least", &inner[0], &inner[1]);
	printf(", ");
	print_difference("most", &outer[0], &outer[1]);
	printf("}\n");
}

KEEP void take_naps(void)
{
	for (;;)
		usleep(2000);
}

static void fail(const char *what)
{
	fprintf(stderr, "stopped: %s: %s\n", what, strerror(errno));
	_exit(errno == EPERM || errno == EBUSY || errno == EINVAL ? 77 : 1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

/* Whether the file says @text now. */
static bool says(const char *path, const char *text)
{
	char got[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, got, sizeof(got) - 1) < 0)
		fail(path);
	close(fd);
	return strstr(got, text);
}

struct stopping {
	const char *file;
	char events[512]; /* cgroup.events beside it */
	bool v2;
};

static void begin_stop(pid_t worker, const char *how, const struct stopping *with)
{
	int status;

	if (!strcmp(how, "signal")) {
		kill(worker, SIGSTOP);
		if (waitpid(worker, &status, WUNTRACED) < 0)
			fail("waitpid");
	} else if (!strcmp(how, "trace")) {
		if (ptrace(PTRACE_INTERRUPT, worker, 0, 0) || waitpid(worker, &status, 0) < 0)
			fail("ptrace");
	} else {
		put(with->file, with->v2 ? "1" : "FROZEN");
		while (!says(with->v2 ? with->events : with->file,
			     with->v2 ? "frozen 1" : "FROZEN"))
			usleep(100);
	}
}

static void end_stop(pid_t worker, const char *how, const struct stopping *with)
{
	if (!strcmp(how, "signal"))
		kill(worker, SIGCONT);
	else if (!strcmp(how, "trace"))
		ptrace(PTRACE_CONT, worker, 0, 0);
	else
		put(with->file, with->v2 ? "0" : "THAWED");
}

static void stop_rounds(pid_t worker, const char *how, const struct stopping *with)
{
	if (!strcmp(how, "trace") && ptrace(PTRACE_SEIZE, worker, 0, 0))
		fail("ptrace");
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before, stopped, released;

		sleep_ns(APART_NS);
		before = wall_ns();
		begin_stop(worker, how, with);
		stopped = wall_ns();
		sleep_ns(STOP_NS);
		released = wall_ns();
		end_stop(worker, how, with);
		least += released - stopped;
		most += wall_ns() - before;
	}
	sleep_ns(APART_NS);
}

/* The group of the file: the calling process enters it. */
static void enter_group(const char *file)
{
	char copy[512], procs[600];

	snprintf(copy, sizeof(copy), "%s", file);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dirname(copy));
	put(procs, "0");
}

struct deadline_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void set_policy(const char *how)
{
	struct deadline_attributes deadline = {.size = sizeof(deadline),
					       .policy = 6,
					       .runtime = 20000000,
					       .deadline = 100000000,
					       .period = 100000000};
	struct sched_param realtime = {.sched_priority = 10};

	if (!strcmp(how, "deadline")) {
		if (syscall(SYS_sched_setattr, 0, &deadline, 0))
			fail("sched_setattr");
	} else if (sched_setscheduler(0, SCHED_FIFO, &realtime)) {
		fail("sched_setscheduler");
	}
}

/* An ordinary thread again: so that it is not stopped when it does not measure. */
static void reset_policy(void)
{
	const struct sched_param none = {};

	if (sched_setscheduler(0, SCHED_OTHER, &none))
		fail("sched_setscheduler");
}

static void only_on(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

/* What the parent tells the worker that it has moved. */
struct move {
	uint64_t busy;	       /* of the second CPU, when the worker came there */
	_Atomic uint64_t time; /* after that; 0: the worker has come before this was known */
	int pipe[2];
};

static struct move *move;

/* Takes the first CPU whenever the worker asks for it, which waits then, and moves it. */
static void move_worker(pid_t worker)
{
	const struct sched_param first = {.sched_priority = 10};
	char byte;

	close(move->pipe[1]);
	busy_ns(1);
	only_on(0, 0);
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		fail("sched_setscheduler");
	while (read(move->pipe[0], &byte, 1) > 0) {
		only_on(worker, 1);
		move->busy = busy_ns(1);
		move->time = wall_ns();
	}
}

/*
 * Is moved while it waits for the first CPU, to the second one, where a process of the same group
 * has used up the quota. As long as the second CPU is idle then, it is the quota that stops it.
 * Prints that, and all that it waited.
 */
static void be_moved(void)
{
	int64_t idle = 0;
	uint64_t gaps = 0;
	pid_t burner = fork();

	if (!burner) {
		set_name("burner");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		only_on(0, 1);
		compute(UINT64_MAX);
	}
	for (int i = 0; i < 2 * ROUNDS; i++) {
		uint64_t from, now;

		only_on(0, 0);
		busy_ns(1);
		sleep_ns(APART_NS);
		move->time = 0;
		from = wall_ns();
		set_name("counted");
		if (write(move->pipe[1], "", 1) != 1)
			die("write");
		now = wall_ns();
		if (move->time)
			idle += now - move->time - (busy_ns(1) - move->busy);
		set_name("worker");
		gaps += wall_ns() - from;
	}
	kill(burner, SIGKILL);
	printf("{\"idle_ns\": %" PRIi64 ", \"gaps_ns\": %" PRIu64 "}\n", idle, gaps);
}

static void work(const char *how, const char *file, bool naps, int ready)
{
	uint64_t gaps;

	set_name("worker");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (file)
		enter_group(file);
	if (!strcmp(how, "deadline") || !strcmp(how, "realtime"))
		set_policy(how);
	close(ready);
	if (naps)
		take_naps();
	if (move) {
		be_moved();
		return;
	}
	if (!strcmp(how, "quota")) {
		compute_and_count(LONG_NS, file);
		return;
	}
	gaps = !strcmp(how, "memory")
		       ? fill(2 * LONG_NS)
		       : compute(strcmp(how, "deadline") && strcmp(how, "realtime") ? UINT64_MAX
										    : LONG_NS);
	reset_policy();
	printf("{\"gaps_ns\": %llu, \"long_gaps_ns\": %llu}\n", (unsigned long long)gaps,
	       (unsigned long long)long_gaps);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "signal";
	bool naps = argc > 2 && !strcmp(argv[argc - 1], "naps");
	bool moves = argc > 2 && !strcmp(argv[argc - 1], "moves");
	struct stopping with = {.file = argc > 2 && argv[2][0] == '/' ? argv[2] : NULL};
	bool alone = !strcmp(how, "quota") || !strcmp(how, "memory") || !strcmp(how, "deadline") ||
		     !strcmp(how, "realtime");
	char copy[400];
	int status, ready[2];
	pid_t worker;

	if (moves)
		move = mmap(NULL, sizeof(*move), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	if (pipe(ready) || (moves && (move == MAP_FAILED || pipe(move->pipe))))
		fail("pipe");
	worker = fork();
	if (!worker) {
		close(ready[0]);
		work(how, with.file, naps, ready[1]);
		return 0;
	}
	close(ready[1]);
	while (read(ready[0], copy, 1) > 0) /* until it has its name and its policy */
		;
	if (with.file) {
		snprintf(copy, sizeof(copy), "%s", with.file);
		with.v2 = !strcmp(basename(copy), "cgroup.freeze");
		snprintf(copy, sizeof(copy), "%s", with.file);
		snprintf(with.events, sizeof(with.events), "%s/cgroup.events", dirname(copy));
	}
	if (move)
		move_worker(worker);
	if (!alone) {
		sleep_ns(APART_NS);
		stop_rounds(worker, how, &with);
		kill(worker, SIGKILL);
		printf("{\"worker\": %d, \"rounds\": %d, \"least_ns\": %llu, \"most_ns\": %llu}\n",
		       worker, ROUNDS, (unsigned long long)least, (unsigned long long)most);
	}
	waitpid(worker, &status, 0);
	return alone && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
