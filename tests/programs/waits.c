/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread for every way to wait, named after it; each waits about 10 ms at a
 * time (as long as the disk takes, for disk waits), again and again.
 *
 * True by construction: a thread blocks nowhere but in its own kind of wait; all
 * but the disk waits are ended by the thread "driver", a helper thread or child
 * (in whose context the wakeup happens), or a timer.
 *
 * Truth, per thread: class, object (file, peer, ...) where it has one, and how
 * long it was blocked: wall time less CPU time less run-queue time. (The CPUs are
 * kept from going idle.)
 */
#include "waits.h"

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
	struct moment first, last;
	struct watch watch;

	set_name(slot->kind->name);
	slot->tid = thread_id();
	watch__open(&watch);
	first = moment__now(&watch);
	while (!over) {
		slot->kind->wait(slot);
		watch__read(&watch); /* before there are too many */
		slot->rounds++;
	}
	last = moment__now(&watch);
	spent__add(&slot->spent, &first, &last);
	__atomic_store_n(&slot->finished, true, __ATOMIC_RELEASE);
	return NULL;
}

static void wake_all(void)
{
	sleep_ns(WAIT_NS);
	for (int i = 0; i < slot_count; i++)
		if (slots[i].kind->wake)
			slots[i].kind->wake(&slots[i]);
}

/* Goes on waking until all have seen that it is over. */
static void *run_driver(void *arg)
{
	bool waiting = true;

	set_name("driver");
	while (waiting) {
		wake_all();
		waiting = false;
		for (int i = 0; i < slot_count; i++)
			waiting |= !__atomic_load_n(&slots[i].finished, __ATOMIC_ACQUIRE);
	}
	return NULL;
}

static void print_slot(const struct wait_slot *slot, const char *end)
{
	printf("  \"%s\": {\"tid\": %d, \"class\": \"%s\", \"object\": \"%s\", \"rounds\": %" PRIu64
	       ",\n    \"lifetime_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
	       ", \"runqueue_ns\": %" PRIu64 ", \"blocked_ns\": %" PRIu64 "}%s\n",
	       slot->kind->name, slot->tid, slot->kind->class, slot->object, slot->rounds,
	       slot->spent.wall, slot->spent.cpu, slot->spent.runqueue,
	       spent__blocked(&slot->spent), end);
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

static void prepare(void)
{
	sigset_t set;

	/* sigtimedwait takes it; nobody else must. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	for (const struct wait_kind *kind = wait_kinds; kind->name; kind++) {
		struct wait_slot *slot = &slots[slot_count];

		if (options.only && strcmp(options.only, kind->name))
			continue;
		slot->kind = kind;
		if (kind->prepare)
			kind->prepare(slot);
		slot_count++;
	}
}

int main(int argc, char **argv)
{
	struct warmers warmers = {};
	pthread_t driver;

	parse(argc, argv);
	prepare();
	warmers__start(&warmers);
	ready(options.ready);
	for (int i = 0; i < slot_count; i++)
		slots[i].thread = start_thread(run_waiter, &slots[i]);
	driver = start_thread(run_driver, NULL);
	sleep_ns(options.seconds * NS_PER_S);
	over = true;
	for (int i = 0; i < slot_count; i++)
		pthread_join(slots[i].thread, NULL);
	pthread_join(driver, NULL);
	warmers__stop(&warmers);

	printf("{\"program\": \"waits\", \"pid\": %d, \"threads\": {\n", getpid());
	for (int i = 0; i < slot_count; i++) {
		if (slots[i].kind->finish)
			slots[i].kind->finish(&slots[i]);
		print_slot(&slots[i], i + 1 < slot_count ? "," : "");
	}
	printf("}}\n");
	return 0;
}
