/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads and processes that begin and end in every way that Linux has:
 *
 *   --threads N     threads alive at the same time, named "many"
 *   --processes N   short-lived children, each of which computes for about 20 us
 *   --spawns N      children by vfork and exec (of this program, as "noop")
 *   --execs N       children in which a thread other than the leader, named "usurper",
 *                   execs: it gets the leader's tid
 *   --signals N     children that SIGKILL ends while they sleep
 *   --daemons N     grandchildren, named "daemon", whose parent exits first
 *   --renames N     times a thread renames itself: "first", then "second", ...
 *
 * Truth: the number of each that began and ended as expected. All children, also the daemons,
 * have ended when it is printed.
 */
#include "tests/programs/common/program.h"

#include <getopt.h>

extern char **environ;

enum part { THREADS, PROCESSES, SPAWNS, EXECS, SIGNALS, DAEMONS, RENAMES, PARTS };

static uint64_t wanted[PARTS] = {200, 500, 20, 5, 5, 5, 4};
static uint64_t done[PARTS];

static pthread_barrier_t everybody;
static uint64_t compute_loops;

KEEP void brief_compute(void)
{
	BURN(compute_loops);
	NO_TAIL_CALL();
}

static void *one_of_many(void *arg)
{
	set_name("many");
	brief_compute();
	pthread_barrier_wait(&everybody);
	return NULL;
}

static uint64_t do_threads(uint64_t count)
{
	pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t attr;

	if (!threads)
		die("calloc");
	pthread_barrier_init(&everybody, NULL, count + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (uint64_t i = 0; i < count; i++) {
		errno = pthread_create(&threads[i], &attr, one_of_many, NULL);
		if (errno)
			die("thread %" PRIu64, i);
	}
	pthread_barrier_wait(&everybody);
	for (uint64_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return count;
}

/* Waits for a child; true when it ended as expected. */
static bool reap(pid_t pid, int expected_signal)
{
	int status;

	if (pid < 0)
		die("fork");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return expected_signal ? WIFSIGNALED(status) && WTERMSIG(status) == expected_signal
			       : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Up to 16 at a time. */
static uint64_t do_processes(uint64_t count)
{
	pid_t pids[16] = {};
	uint64_t good = 0;

	for (uint64_t i = 0; i < count + 16; i++) {
		pid_t *slot = &pids[i % 16];

		if (*slot)
			good += reap(*slot, 0);
		*slot = i < count ? fork() : 0;
		if (i < count && !*slot) {
			brief_compute();
			_exit(0);
		}
	}
	return good;
}

static pid_t spawn_noop(void)
{
	char *const argv[] = {(char *)"noop", (char *)"--noop", NULL};
	pid_t pid = vfork();

	if (!pid) {
		execve("/proc/self/exe", argv, environ);
		_exit(127);
	}
	return pid;
}

static uint64_t do_spawns(uint64_t count)
{
	uint64_t good = 0;

	for (uint64_t i = 0; i < count; i++)
		good += reap(spawn_noop(), 0);
	return good;
}

static void *usurp(void *arg)
{
	char *const argv[] = {(char *)"usurped", (char *)"--noop", NULL};

	set_name("usurper");
	brief_compute();
	execve("/proc/self/exe", argv, environ);
	_exit(127);
}

static uint64_t do_execs(uint64_t count)
{
	uint64_t good = 0;

	for (uint64_t i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_join(start_thread(usurp, NULL), NULL);
			_exit(126);
		}
		good += reap(pid, 0);
	}
	return good;
}

static uint64_t do_signals(uint64_t count)
{
	uint64_t good = 0;

	for (uint64_t i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			sleep_ns(60 * NS_PER_S);
			_exit(1);
		}
		sleep_ns(10 * NS_PER_MS);
		kill(pid, SIGKILL);
		good += reap(pid, SIGKILL);
	}
	return good;
}

/* Each daemon holds the write end of a pipe until its end. */
static uint64_t do_daemons(uint64_t count)
{
	uint64_t good = 0;
	int ends[2];
	char byte;

	if (pipe(ends))
		die("pipe");
	for (uint64_t i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (fork())
				_exit(0);
			setsid();
			set_name("daemon");
			sleep_ns(20 * NS_PER_MS);
			brief_compute();
			_exit(write(ends[1], "d", 1) != 1);
		}
		reap(pid, 0);
	}
	close(ends[1]);
	while (read(ends[0], &byte, 1) == 1)
		good++;
	close(ends[0]);
	return good;
}

static void *rename_often(void *arg)
{
	static const char *const names[] = {"first", "second", "third", "fourth"};
	uint64_t *count = arg;

	for (uint64_t i = 0; i < *count; i++) {
		set_name(names[i % 4]);
		sleep_ns(20 * NS_PER_MS);
		brief_compute();
	}
	return NULL;
}

static uint64_t do_renames(uint64_t count)
{
	pthread_join(start_thread(rename_often, &count), NULL);
	return count;
}

static const struct {
	const char *name;
	uint64_t (*run)(uint64_t count);
} parts[PARTS] = {
	{"threads", do_threads}, {"processes", do_processes}, {"spawns", do_spawns},
	{"execs", do_execs},	 {"signals", do_signals},     {"daemons", do_daemons},
	{"renames", do_renames},
};

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int part;

		if (!strcmp(argv[i], "--noop"))
			exit(0);
		for (part = 0; part < PARTS; part++)
			if (!strncmp(argv[i], "--", 2) && !strcmp(argv[i] + 2, parts[part].name))
				break;
		if (part == PARTS || i + 1 == argc) {
			errno = EINVAL;
			die("%s", argv[i]);
		}
		wanted[part] = strtoull(argv[++i], NULL, 10);
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	compute_loops = loops_per_ms() / 50;
	for (int i = 0; i < PARTS; i++)
		done[i] = wanted[i] ? parts[i].run(wanted[i]) : 0;

	printf("{\"program\": \"lifecycle\", \"pid\": %d", getpid());
	for (int i = 0; i < PARTS; i++)
		printf(", \"%s\": %" PRIu64, parts[i].name, done[i]);
	printf("}\n");
	return memcmp(wanted, done, sizeof(done)) ? 1 : 0;
}
