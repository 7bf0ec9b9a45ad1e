// SPDX-License-Identifier: BSD-2-Clause
#include "collect/latency/call_scanner.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/cycles.h"
#include "base/aging_map.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "collect/latency/shadow_memory_map.h"
#include "collect/latency/shadow_scan.h"
#include "collect/latency/shadow_scan_rest.h"

#define MS	1000000ULL
#define PAIR_NS 100 /* between two looks of a pair */
/*
 * A pair in which the scanner lost its CPU is none, as calls would have begun and ended in it. Its
 * second look counts as the first one of another.
 */
#define MAX_PAIR_NS	 (10 * SHADOW_SCAN_LATE_NS)
#define PUBLISH_NS	 (5 * MS)   /* what was seen is passed on so often */
#define REPORT_NS	 (100 * MS) /* and short calls, and the scanner's own doings */
#define SEARCH_NS	 MS	    /* new processes and stacks are looked for so often */
#define SEARCH_SELDOM_NS (128 * MS)
#define SEARCH_DELAY	 8 /* of the time that it took to start, at most: the part that is missed */
#define MANY_THREADS	 65536 /* then those not looked up since last time are forgotten */
/*
 * So long without a change, it rests between looks. That is much longer than the time between two
 * requests of a server with little load: what comes first after a wait would hardly ever be seen.
 */
#define RESTS_AFTER_NS (20 * MS)
/*
 * Where the kernel shares CPUs between groups (sessions, control groups), the program is mostly in
 * dwell's own: the scanner's weight is taken from the program's, on whichever CPU that is.
 */
#define NICE	       (-5)
#define MIN_LONG_NS    2000
#define UNLOOKED_SHARE 20      /* more than this share of the program's run time is told */
#define MAX_CALLS      4000000 /* kept until they are drained */

struct scanned_process {
	struct shadow_memory_map map;
	uint64_t next_update;
	uint64_t added;	  /* since then, it has no memory */
	uint64_t dropped; /* until then, its stacks were looked at and reported; 0: never */
	bool ended;	  /* or its memory cannot be read */
};

struct numbered_thread {
	uint32_t tid;
	uint32_t number;
};

typedef ARRAY(struct observed_call) observed_calls;
typedef ARRAY(struct short_calls) short_call_counts;
typedef ARRAY(struct scan_report) scan_reports;

struct clock_pair {
	uint64_t ns;	/* CLOCK_MONOTONIC */
	uint64_t ticks; /* of the time stamp counter */
};

struct call_scanner {
	uint64_t period_ns;
	pthread_t thread;
	bool stop;
	uint64_t random;
	struct clock_pair start;

	/* Of the thread: */
	cpu_set_t cpus; /* that it may have */
	ARRAY(struct scanned_process) processes;
	ARRAY(struct shadow_scan) scans;
	struct aging_map numbers; /* of threads, by tid */
	observed_calls calls;
	struct map64 short_index; /* hash to 1 + index in shorts */
	short_call_counts shorts;
	struct scan_report report;
	scan_reports scan_reports; /* of stacks */
	uint64_t changed;	   /* when a stack changed last */
	uint64_t ran_ns;	   /* threads, and in gaps of class SCAN_GAP_UNLOOKED or more */
	uint64_t unlooked_ns;

	/* Of both, under the lock: */
	pthread_mutex_t lock;
	ARRAY(uint32_t) added;
	ARRAY(struct numbered_thread) threads; /* new ones */
	const struct thread_run *runs;	       /* NULL: unknown */
	observed_calls published;
	short_call_counts published_shorts;
	scan_reports reports;
	bool found;	  /* a process had shadow stacks */
	uint64_t refused; /* processes, built by another version */
};

static void on_call(void *arg, const struct observed_call *call)
{
	struct call_scanner *scanner = arg;

	scanner->report.lost += array__push(&scanner->calls, *call) != 0;
}

static bool is_of(const struct short_calls *calls, const struct short_calls *key)
{
	return calls->pid == key->pid && calls->tid == key->tid &&
	       calls->function == key->function && calls->caller == key->caller &&
	       calls->site == key->site;
}

/* The counts of calls like @key, which has no counts. NULL without memory. */
static struct short_calls *find_short_calls(struct call_scanner *scanner,
					    const struct short_calls *key)
{
	uint64_t code = hash__add(hash__add(key->function, key->caller), key->site);
	uint64_t hash = hash__add(hash__add(key->pid, key->tid), code);
	uint64_t *index = map64__put(&scanner->short_index, hash, 0);

	while (index && *index && !is_of(&scanner->shorts.data[*index - 1], key))
		index = map64__put(&scanner->short_index, ++hash, 0);
	if (!index || (!*index && array__push(&scanner->shorts, *key)))
		return NULL;
	if (!*index)
		*index = scanner->shorts.n;
	return &scanner->shorts.data[*index - 1];
}

static void on_short_call(void *arg, const struct observed_call *call, unsigned looks)
{
	struct call_scanner *scanner = arg;
	const struct short_calls key = {.pid = call->pid,
					.tid = call->tid,
					.function = call->function,
					.caller = call->caller,
					.site = call->site};
	struct short_calls *calls = find_short_calls(scanner, &key);

	if (!calls) {
		scanner->report.lost++;
		return;
	}
	calls->looks += looks;
	calls->ended += (call->flags & OBSERVED_CALL_IN_PAIR) != 0;
	calls->seen++;
	calls->ns += call->end - call->begin;
	calls->nested_ns += call->flags & OBSERVED_CALL_NESTED ? call->end - call->begin : 0;
}

static const struct thread_run *run_of(struct call_scanner *scanner, uint32_t tid)
{
	const uint64_t *number = tid ? aging_map__get(&scanner->numbers, tid) : NULL;

	return scanner->runs && number && *number < THREAD_RUNS ? &scanner->runs[*number] : NULL;
}

/* Passes on what was done with a stack. */
static void report_scan(struct call_scanner *scanner, struct shadow_scan *scan)
{
	struct scan_report *report = &scan->report;

	report->pid = scan->pid;
	report->tid = scan->tid;
	report->time = scan->seen;
	if (report->ns)
		(void)array__push(&scanner->scan_reports, *report);
	scanner->ran_ns += report->ns;
	for (int i = SCAN_GAP_UNLOOKED; i < SCAN_GAPS; i++)
		scanner->unlooked_ns += report->gap_ns[i];
	*report = (struct scan_report){};
}

/* The same moment by two clocks: the shortest of some attempts, as this may lose its CPU. */
static struct clock_pair read_clocks(void)
{
	struct clock_pair best = {};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = read_cycles(), ns = now_ns(CLOCK_MONOTONIC),
			 length = read_cycles() - before;

		if (length >= shortest)
			continue;
		shortest = length;
		best = (struct clock_pair){.ns = ns, .ticks = before + length / 2};
	}
	return best;
}

/* If the stack's thread has begun to push since the scanner runs, and no look at it was reported.
 */
static void know_begin(const struct call_scanner *scanner, const struct scanned_process *process,
		       struct shadow_scan *scan)
{
	uint64_t begun = __atomic_load_n(&scan->stack->begun, __ATOMIC_ACQUIRE), ns;
	struct clock_pair start = scanner->start, now = read_clocks();
	double share = ((double)begun - (double)start.ticks) / (double)(now.ticks - start.ticks);

	if (!begun || share <= 0 || share > 1)
		return;
	ns = start.ns + (uint64_t)(share * (double)(now.ns - start.ns));
	if (ns <= process->dropped)
		return;
	scan->goes_on = false;
	shadow_scan__know_begin(scan, ns);
}

static void on_thread(void *arg, struct shadow_scan *scan)
{
	struct call_scanner *scanner = arg;

	report_scan(scanner, scan);
	for (size_t i = 0; i < scanner->processes.n; i++) {
		const struct scanned_process *process = &scanner->processes.data[i];

		if (process->map.pid != scan->pid)
			continue;
		scan->tid = shadow_memory_map__tid(&process->map, scan->own_tid);
		scan->goes_on = process->dropped != 0;
		if (scan->tid)
			know_begin(scanner, process, scan);
	}
	scan->run = run_of(scanner, scan->tid);
}

static struct scan_sink sink_of(struct call_scanner *scanner)
{
	return (struct scan_sink){.on_thread = on_thread,
				  .on_call = on_call,
				  .on_short_call = on_short_call,
				  .arg = scanner};
}

/* Scans stacks that came into use: they do so in the order of their places. */
static void add_stacks(struct call_scanner *scanner, struct scanned_process *process)
{
	for (size_t m = 0; m < process->map.mappings.n; m++) {
		struct shadow_mapping *mapping = &process->map.mappings.data[m];
		const struct shadow_stack *stacks = (const struct shadow_stack *)mapping->memory;

		while (mapping->n_used < SHADOW_STACKS - 2 &&
		       stacks[mapping->n_used + 1].state != SHADOW_FREE) {
			struct shadow_scan *scan = array__add(&scanner->scans);

			if (!scan)
				return;
			scan->stack = &stacks[++mapping->n_used];
			scan->pid = process->map.pid;
			scan->long_ns = scanner->period_ns > MIN_LONG_NS / 4
						? 4 * scanner->period_ns
						: MIN_LONG_NS;
		}
	}
}

static void drop_process(struct call_scanner *scanner, struct scanned_process *process)
{
	const struct scan_sink sink = sink_of(scanner);

	for (size_t i = scanner->scans.n; i-- > 0;) {
		if (scanner->scans.data[i].pid != process->map.pid)
			continue;
		shadow_scan__finish(&scanner->scans.data[i], &sink);
		report_scan(scanner, &scanner->scans.data[i]);
		shadow_scan__free(&scanner->scans.data[i]);
		scanner->scans.data[i] = scanner->scans.data[--scanner->scans.n];
	}
	shadow_memory_map__free(&process->map);
}

static void add_process(struct call_scanner *scanner, uint32_t pid, uint64_t now)
{
	struct scanned_process *process = NULL;

	for (size_t i = 0; i < scanner->processes.n && !process; i++)
		if (scanner->processes.data[i].map.pid == pid)
			process = &scanner->processes.data[i];
	if (process) {
		process->dropped = process->map.mappings.n ? now : process->dropped;
		drop_process(scanner, process);
	} else {
		process = array__add(&scanner->processes);
	}
	if (!process)
		return;
	process->map.pid = pid;
	process->next_update = now;
	process->added = now;
	process->ended = false;
}

/*
 * Maps what the process has. One that has nothing yet is asked less and less often: it may be
 * starting, or may not have been built by dwell-cc.
 */
static void update(struct call_scanner *scanner, struct scanned_process *process, uint64_t now)
{
	uint64_t wait = (now - process->added) / SEARCH_DELAY;
	int result = shadow_memory_map__update(&process->map);

	process->ended = result < 0;
	process->next_update = now + (wait < SEARCH_NS		? SEARCH_NS
				      : wait > SEARCH_SELDOM_NS ? SEARCH_SELDOM_NS
								: wait);
	scanner->refused += result == -EPROTO;
}

static void search_process(struct call_scanner *scanner, struct scanned_process *process,
			   uint64_t now)
{
	bool is_mapped = process->map.mappings.n != 0;

	if (now < process->next_update)
		return;
	if (!is_mapped || shadow_memory_map__has_grown(&process->map))
		update(scanner, process, now);
	add_stacks(scanner, process);
	scanner->found |= process->map.mappings.n != 0;
	if (is_mapped && kill((pid_t)process->map.pid, 0) && errno == ESRCH)
		process->ended = true;
	if (process->ended)
		drop_process(scanner, process);
}

/* A tid may be that of another thread now. */
static void add_thread(struct call_scanner *scanner, const struct numbered_thread *thread)
{
	uint64_t *number = aging_map__put(&scanner->numbers, thread->tid, thread->number);

	if (number)
		*number = thread->number;
	if (aging_map__young(&scanner->numbers) >= MANY_THREADS)
		aging_map__age(&scanner->numbers);
	for (size_t i = 0; i < scanner->scans.n; i++)
		if (scanner->scans.data[i].tid == thread->tid)
			scanner->scans.data[i].run = run_of(scanner, thread->tid);
}

/* Looks for memory and stacks that came into being. */
static void search(struct call_scanner *scanner, uint64_t now)
{
	pthread_mutex_lock(&scanner->lock);
	for (size_t i = 0; i < scanner->threads.n; i++)
		add_thread(scanner, &scanner->threads.data[i]);
	scanner->threads.n = 0;
	for (size_t i = 0; i < scanner->added.n; i++)
		add_process(scanner, scanner->added.data[i], now);
	scanner->added.n = 0;
	pthread_mutex_unlock(&scanner->lock);
	for (size_t i = 0; i < scanner->processes.n;) {
		search_process(scanner, &scanner->processes.data[i], now);
		if (scanner->processes.data[i].ended)
			scanner->processes.data[i] =
				scanner->processes.data[--scanner->processes.n];
		else
			i++;
	}
}

/* Looks at a stack, if that is needed at @time. Returns whether it was. */
static bool look_at(struct call_scanner *scanner, struct shadow_scan *scan, uint64_t time,
		    bool second)
{
	const struct scan_sink sink = sink_of(scanner);
	bool in_pair = second && time < scan->seen + MAX_PAIR_NS;
	int err;

	if (!shadow_scan__is_needed(scan, &time))
		return false;
	in_pair = in_pair && time < scan->seen + MAX_PAIR_NS;
	err = shadow_scan__look(scan, time, &in_pair, &sink);
	scanner->report.torn += err == -EAGAIN;
	scanner->report.lost += err == -ENOMEM;
	return true;
}

/* Looks at the stacks that may have changed. Returns whether there are some. */
static bool look(struct call_scanner *scanner, bool second)
{
	uint64_t time = now_ns(CLOCK_MONOTONIC);
	bool any = false;

	for (size_t i = 0; i < scanner->scans.n; i++) {
		if (!look_at(scanner, &scanner->scans.data[i], time, second))
			continue;
		any = true;
		if (scanner->scans.data[i].changed)
			scanner->changed = time = now_ns(CLOCK_MONOTONIC);
	}
	return any;
}

static void publish(struct call_scanner *scanner)
{
	pthread_mutex_lock(&scanner->lock);
	if (scanner->published.n > MAX_CALLS ||
	    array__reserve(&scanner->published, scanner->calls.n)) {
		scanner->report.lost += scanner->calls.n;
	} else if (scanner->calls.n) {
		memcpy(scanner->published.data + scanner->published.n, scanner->calls.data,
		       scanner->calls.n * sizeof(*scanner->calls.data));
		scanner->published.n += scanner->calls.n;
	}
	scanner->calls.n = 0;
	pthread_mutex_unlock(&scanner->lock);
}

static void publish_report(struct call_scanner *scanner, uint64_t now)
{
	scanner->report.time = now;
	for (size_t i = 0; i < scanner->scans.n; i++) {
		scanner->report.missed += scanner->scans.data[i].stack->missed;
		report_scan(scanner, &scanner->scans.data[i]);
	}
	pthread_mutex_lock(&scanner->lock);
	for (size_t i = 0; i < scanner->shorts.n; i++)
		scanner->report.lost +=
			array__push(&scanner->published_shorts, scanner->shorts.data[i]) != 0;
	for (size_t i = 0; i < scanner->scan_reports.n; i++)
		(void)array__push(&scanner->reports, scanner->scan_reports.data[i]);
	(void)array__push(&scanner->reports, scanner->report);
	pthread_mutex_unlock(&scanner->lock);
	scanner->scan_reports.n = 0;
	scanner->shorts.n = 0;
	map64__free(&scanner->short_index);
	scanner->short_index = (struct map64){};
	scanner->report = (struct scan_report){.time = now};
}

/* Until @time, without touching the stacks' memory. */
static uint64_t pause_until(uint64_t time)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	for (; now < time; now = now_ns(CLOCK_MONOTONIC))
		for (int i = 0; i < 4; i++)
			relax_cpu();
	return now;
}

/* The next pair begins half a period to one and a half after the last one. */
static uint64_t next_pair(struct call_scanner *scanner, uint64_t now)
{
	if (!scanner->period_ns)
		return now;
	scanner->random = hash__mix(scanner->random + now);
	return now + scanner->period_ns / 2 + scanner->random % scanner->period_ns;
}

static void *scan(void *arg)
{
	struct call_scanner *scanner = arg;
	uint64_t now = now_ns(CLOCK_MONOTONIC), searched = 0, published = now, last = now,
		 next = now;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_getaffinity(0, sizeof(scanner->cpus), &scanner->cpus))
		CPU_ZERO(&scanner->cpus);
	scanner->report.time = scanner->changed = now;
	while (!__atomic_load_n(&scanner->stop, __ATOMIC_RELAXED)) {
		uint64_t second, first = pause_until(next);

		if (look(scanner, false) && first - last > scanner->report.longest_ns)
			scanner->report.longest_ns = first - last;
		pause_until(now_ns(CLOCK_MONOTONIC) + PAIR_NS);
		look(scanner, true);
		last = second = now_ns(CLOCK_MONOTONIC);
		next = next_pair(scanner, second);
		if (second - searched >= SEARCH_NS) {
			search(scanner, second);
			searched = second;
		}
		if (second - published >= PUBLISH_NS) {
			publish(scanner);
			published = second;
		}
		if (second - scanner->report.time >= REPORT_NS)
			publish_report(scanner, second);
		shadow_scan__rest(scanner->scans.data, scanner->scans.n, &scanner->cpus,
				  second - scanner->changed > RESTS_AFTER_NS);
	}
	for (size_t i = 0; i < scanner->processes.n; i++)
		drop_process(scanner, &scanner->processes.data[i]);
	publish(scanner);
	publish_report(scanner, now_ns(CLOCK_MONOTONIC));
	return NULL;
}

int call_scanner__new(uint64_t resolution_ns, struct call_scanner **out)
{
	struct call_scanner *scanner = calloc(1, sizeof(*scanner));
	int err;

	if (!scanner)
		return -ENOMEM;
	scanner->period_ns = resolution_ns;
	scanner->start = read_clocks();
	pthread_mutex_init(&scanner->lock, NULL);
	err = thread__start(&scanner->thread, scan, scanner);
	if (err) {
		free(scanner);
		return error__set(err, "cannot create the thread that scans calls");
	}
	*out = scanner;
	return 0;
}

void call_scanner__add(struct call_scanner *scanner, uint32_t pid)
{
	pthread_mutex_lock(&scanner->lock);
	(void)array__push(&scanner->added, pid);
	pthread_mutex_unlock(&scanner->lock);
}

void call_scanner__set_runs(struct call_scanner *scanner, const struct thread_run *runs)
{
	pthread_mutex_lock(&scanner->lock);
	scanner->runs = runs;
	pthread_mutex_unlock(&scanner->lock);
}

void call_scanner__add_thread(struct call_scanner *scanner, uint32_t tid, uint32_t number)
{
	pthread_mutex_lock(&scanner->lock);
	(void)array__push(&scanner->threads, ((struct numbered_thread){tid, number}));
	pthread_mutex_unlock(&scanner->lock);
}

static void stop(struct call_scanner *scanner)
{
	if (!__atomic_exchange_n(&scanner->stop, true, __ATOMIC_RELAXED))
		pthread_join(scanner->thread, NULL);
}

void call_scanner__drain(struct call_scanner *scanner, int last, const struct call_sink *sink)
{
	observed_calls calls;
	short_call_counts shorts;
	scan_reports reports;

	if (last)
		stop(scanner);
	pthread_mutex_lock(&scanner->lock);
	calls = scanner->published;
	shorts = scanner->published_shorts;
	reports = scanner->reports;
	memset(&scanner->published, 0, sizeof(scanner->published));
	memset(&scanner->published_shorts, 0, sizeof(scanner->published_shorts));
	memset(&scanner->reports, 0, sizeof(scanner->reports));
	pthread_mutex_unlock(&scanner->lock);
	for (size_t i = 0; i < calls.n; i++)
		sink->on_call(sink->arg, &calls.data[i]);
	for (size_t i = 0; i < shorts.n; i++)
		sink->on_short_calls(sink->arg, &shorts.data[i]);
	for (size_t i = 0; i < reports.n; i++)
		sink->on_report(sink->arg, &reports.data[i]);
	array__free(&calls);
	array__free(&shorts);
	array__free(&reports);
}

const char *call_scanner__problem(const struct call_scanner *scanner)
{
	if (scanner->refused)
		return "a program was built by dwell-cc of another version of dwell: build it "
		       "again";
	if (!scanner->found)
		return "no program that was recorded was built by dwell-cc: make CC=dwell-cc "
		       "CXX=dwell-c++";
	if (scanner->unlooked_ns > scanner->ran_ns / UNLOOKED_SHARE)
		return "no CPU to spare for the thread that looks at stacks: it and the program "
		       "took CPUs from each other, so calls took longer, and their numbers are "
		       "less certain";
	return NULL;
}

void call_scanner__free(struct call_scanner *scanner)
{
	if (!scanner)
		return;
	stop(scanner);
	for (size_t i = 0; i < scanner->scans.n; i++)
		shadow_scan__free(&scanner->scans.data[i]);
	for (size_t i = 0; i < scanner->processes.n; i++)
		shadow_memory_map__free(&scanner->processes.data[i].map);
	array__free(&scanner->scans);
	array__free(&scanner->processes);
	array__free(&scanner->calls);
	array__free(&scanner->shorts);
	map64__free(&scanner->short_index);
	aging_map__free(&scanner->numbers);
	array__free(&scanner->added);
	array__free(&scanner->threads);
	array__free(&scanner->published);
	array__free(&scanner->published_shorts);
	array__free(&scanner->reports);
	array__free(&scanner->scan_reports);
	pthread_mutex_destroy(&scanner->lock);
	free(scanner);
}
