/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a profiler must not change: signals, exit status, interrupted system calls.
 *
 *   signals --exit N        exits with N
 *   signals --kill SIGNAL   raises that signal
 *   signals --wait          waits for SIGINT, SIGTERM, SIGHUP, SIGUSR1 or
 *                           SIGUSR2 (after --ready FILE) and prints which it got
 *   signals --seconds S     sleeps in restartable and in unrestartable calls
 *                           and computes, for S seconds, and counts EINTR
 *
 * True by construction: only the process itself and its caller send it signals. With --seconds
 * "interrupted" is 0; with --alarm as well, "alarms" counts the signals of its own timer, 10 a
 * second, and at most as many calls are interrupted. It also prints the number of descriptors
 * above 2 and of blocked and ignored signals that it inherited: the same with and without a
 * profiler.
 */
#include "tests/programs/common/program.h"

#include <dirent.h>
#include <getopt.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms += signal == SIGALRM;
}

static int inherited_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) > 2 &&
		    atoi(entry->d_name) != dirfd(dir))
			count++;
	if (dir)
		closedir(dir);
	return count;
}

static void print_inherited(void)
{
	sigset_t mask;
	int blocked = 0, ignored = 0;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i < 32; i++) {
		struct sigaction action;

		blocked += sigismember(&mask, i) == 1;
		ignored += !sigaction(i, NULL, &action) && action.sa_handler == SIG_IGN;
	}
	printf("\"descriptors\": %d, \"blocked\": %d, \"ignored\": %d", inherited_descriptors(),
	       blocked, ignored);
}

static int wait_for_signal(const char *ready_path)
{
	static const int awaited[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	siginfo_t info;
	sigset_t set;
	int signal;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(awaited) / sizeof(awaited[0]); i++)
		sigaddset(&set, awaited[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ready(ready_path);
	signal = sigwaitinfo(&set, &info);
	printf("{\"program\": \"signals\", \"pid\": %d, \"signal\": %d, \"name\": \"%s\"}\n",
	       getpid(), signal, sigabbrev_np(signal));
	return 0;
}

/* One 1 ms sleep and 1 ms of computing; true when the sleep was interrupted. */
KEEP bool one_round(uint64_t loops)
{
	const struct timespec brief = {0, 1000000};
	bool interrupted = nanosleep(&brief, NULL) && errno == EINTR;

	BURN(loops);
	return interrupted;
}

static int count_interrupts(uint64_t seconds, bool with_alarm, const char *ready_path)
{
	const struct itimerval often = {{0, 100000}, {0, 100000}}, never = {};
	const struct sigaction action = {.sa_handler = on_alarm};
	uint64_t loops = loops_per_ms(), rounds = 0, interrupted = 0, begin;

	ready(ready_path);
	sigaction(SIGALRM, &action, NULL);
	if (with_alarm)
		setitimer(ITIMER_REAL, &often, NULL);
	begin = wall_ns();
	for (; wall_ns() - begin < seconds * NS_PER_S; rounds++)
		interrupted += one_round(loops);
	setitimer(ITIMER_REAL, &never, NULL);

	printf("{\"program\": \"signals\", \"pid\": %d, \"rounds\": %" PRIu64
	       ", \"interrupted\": %" PRIu64 ", \"alarms\": %d, ",
	       getpid(), rounds, interrupted, (int)alarms);
	print_inherited();
	printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"exit", required_argument, NULL, 'e'},
		{"kill", required_argument, NULL, 'k'},
		{"seconds", required_argument, NULL, 's'},
		{"ready", required_argument, NULL, 'R'},
		{"alarm", no_argument, NULL, 'a'},
		{"wait", no_argument, NULL, 'w'},
		{},
	};
	bool with_alarm = false, awaiting = false;
	const char *ready_path = NULL;
	uint64_t seconds = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 'e')
			return atoi(optarg);
		else if (opt == 'k')
			raise(atoi(optarg));
		else if (opt == 's')
			seconds = strtoull(optarg, NULL, 10);
		else if (opt == 'a')
			with_alarm = true;
		else if (opt == 'w')
			awaiting = true;
		else if (opt == 'R')
			ready_path = optarg;
		else
			return 2;
	}
	return awaiting ? wait_for_signal(ready_path)
			: count_interrupts(seconds, with_alarm, ready_path);
}
