/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread for every way to wait, named after it. Each waits about 10 ms at a time, or as
 * long as the disk takes, again and again.
 *
 *   waits [--seconds N] [--only NAME] [--dir DIR] [--ready FILE]
 *
 * True by construction: a thread blocks only in its own kind of wait. All but the disk waits
 * are ended by the thread "driver", by a helper thread or child, in whose context the wakeup
 * happens, or by a timer.
 *
 * Truth, per thread: class, object (file, peer, ...) if it has one, and blocked time: wall time
 * less on-CPU time and run-queue time. The CPUs are kept from going idle.
 */
#include "tests/programs/common/keep_cpus_busy.h"
#include "tests/programs/waits/kinds.h"

#include <getopt.h>

static struct {
	uint64_t seconds;
	const char *only;
	const char *ready;
} options = {
	.seconds = 3,
};

static struct wait_slot slots[WAIT_SLOTS_MAX];
static int slot_count;

static volatile bool over;

static void *run_waiter(void *arg)
{
	struct wait_slot *slot = arg;
	struct thread_times first, last;
	struct switch_log log;

	set_name(slot->kind->name);
	slot->tid = thread_id();
	switch_log__open(&log);
	first = thread_times__now(&log);
	while (!over) {
		slot->kind->wait(slot);
		switch_log__read(&log); /* before its buffers are full */
		slot->rounds++;
	}
	last = thread_times__now(&log);
	phase_times__add(&slot->times, &first, &last);
	__atomic_store_n(&slot->finished, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool has_finished(const struct wait_slot *slot)
{
	return __atomic_load_n(&slot->finished, __ATOMIC_ACQUIRE);
}

/* Not threads that have finished: what wakes them would wait for them. */
static void wake_all(void)
{
	sleep_ns(WAIT_NS);
	for (int i = 0; i < slot_count; i++)
		if (slots[i].kind->wake && !has_finished(&slots[i]))
			slots[i].kind->wake(&slots[i]);
}

/* Goes on until all threads have finished. */
static void *run_driver(void *arg)
{
	bool waiting = true;

	set_name("driver");
	while (waiting) {
		wake_all();
		waiting = false;
		for (int i = 0; i < slot_count; i++)
			waiting |= !has_finished(&slots[i]);
	}
	return NULL;
}

static void print_slot(const struct wait_slot *slot, const char *end)
{
	printf("  \"%s\": {\"tid\": %d, \"class\": \"%s\", \"object\": \"%s\", \"rounds\": %" PRIu64
	       ",\n    \"lifetime_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
	       ", \"runqueue_ns\": %" PRIu64 ", \"blocked_ns\": %" PRIu64 "}%s\n",
	       slot->kind->name, slot->tid, slot->kind->class, slot->object, slot->rounds,
	       slot->times.wall, slot->times.cpu, slot->times.runqueue,
	       phase_times__blocked(&slot->times), end);
}

static void parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"only", required_argument, NULL, 'o'},
		{"dir", required_argument, NULL, 'd'},
		{"ready", required_argument, NULL, 'R'},
		{},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 's')
			options.seconds = strtoull(optarg, NULL, 10);
		else if (opt == 'o')
			options.only = optarg;
		else if (opt == 'd')
			waits_dir = optarg;
		else if (opt == 'R')
			options.ready = optarg;
		else
			exit(2);
	}
}

static void add_slot(const struct wait_kind *kind)
{
	struct wait_slot *slot = &slots[slot_count++];

	slot->kind = kind;
	if (kind->prepare)
		kind->prepare(slot);
}

static void prepare(void)
{
	static const struct wait_kind *const groups[] = {disk_waits, descriptor_waits, timer_waits,
							 lock_waits};
	sigset_t set;

	/* For sigtimedwait() only. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct wait_kind *kind = groups[i]; kind->name; kind++)
			if (!options.only || !strcmp(options.only, kind->name))
				add_slot(kind);
}

int main(int argc, char **argv)
{
	struct busy_cpus busy = {};
	pthread_t driver;

	parse(argc, argv);
	prepare();
	switch_log__prepare();
	busy_cpus__start(&busy);
	ready(options.ready);
	for (int i = 0; i < slot_count; i++)
		slots[i].thread = start_thread(run_waiter, &slots[i]);
	driver = start_thread(run_driver, NULL);
	sleep_ns(options.seconds * NS_PER_S);
	over = true;
	for (int i = 0; i < slot_count; i++)
		pthread_join(slots[i].thread, NULL);
	pthread_join(driver, NULL);
	busy_cpus__stop(&busy);

	printf("{\"program\": \"waits\", \"pid\": %d, \"threads\": {\n", getpid());
	for (int i = 0; i < slot_count; i++) {
		if (slots[i].kind->finish)
			slots[i].kind->finish(&slots[i]);
		print_slot(&slots[i], i + 1 < slot_count ? "," : "");
	}
	printf("}}\n");
	return 0;
}
