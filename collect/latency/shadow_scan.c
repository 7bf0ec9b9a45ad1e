// SPDX-License-Identifier: BSD-2-Clause
#include "collect/latency/shadow_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

/* Attempts to look at a stack that changes meanwhile. */
#define ATTEMPTS 4
/* A thread that does not run is looked at so often. */
#define RELOOK_NS 100000

#define load(word) ((uint64_t)__atomic_load_n(word, __ATOMIC_ACQUIRE))

/* Entries that are read at once: those that most likely have changed. */
#define BELOW 10
#define ABOVE 2

/*
 * What the program has written arrives from its CPU a cache line at a time, which takes longer than
 * a short call. All lines are asked for at once, so that all are as they were at about the same
 * time.
 */
static void fetch(const struct shadow_scan *scan)
{
	size_t first = scan->calls.n > BELOW ? scan->calls.n - BELOW : 0;

	for (size_t i = first; i < scan->calls.n + ABOVE && i < SHADOW_DEPTH; i += 2)
		__builtin_prefetch(&scan->stack->entries[i].generation);
}

/* The number of calls that are as they were at the last look. */
static size_t count_unchanged(const struct shadow_scan *scan)
{
	size_t n = scan->calls.n;

	while (n &&
	       load(&scan->stack->entries[n - 1].generation) != scan->calls.data[n - 1].generation)
		n--;
	return n;
}

/* Whether the @n calls from @first on, which were just read behind the others, are still there. */
static bool are_valid(const struct shadow_entry *entries, size_t first,
		      const struct shadow_entry *read, size_t n, uint64_t below)
{
	for (size_t i = n; i-- > 0;)
		if (load(&entries[first + i].generation) != read[i].generation)
			return false;
	return !first || load(&entries[first - 1].generation) == below;
}

/* Reads the calls above the @unchanged ones into @read. Returns their number, or -EAGAIN. */
static int read_new(const struct shadow_scan *scan, size_t unchanged, struct shadow_entry *read)
{
	const struct shadow_entry *entries = scan->stack->entries;
	uint64_t first_below = unchanged ? scan->calls.data[unchanged - 1].generation : 0;
	uint64_t below = first_below;
	size_t n = 0;

	for (; unchanged + n < SHADOW_DEPTH; n++) {
		const struct shadow_entry *entry = &entries[unchanged + n];
		uint64_t generation = load(&entry->generation);

		if (!(generation & 1) || generation < below)
			break;
		read[n] = (struct shadow_entry){.function = load(&entry->function),
						.generation = generation,
						.site = load(&entry->site)};
		if (load(&entry->generation) != generation)
			return -EAGAIN;
		below = generation;
	}
	return are_valid(entries, unchanged, read, n, first_below) ? (int)n : -EAGAIN;
}

static void tell_end(const struct shadow_scan *scan, size_t depth, uint64_t end, uint32_t slack,
		     unsigned flags, const struct scan_sink *sink)
{
	const struct seen_call *call = &scan->calls.data[depth];
	uint64_t caller = depth ? scan->calls.data[depth - 1].function : 0;
	struct observed_call told = {
		.pid = scan->pid,
		.tid = scan->tid,
		.function = call->function,
		.caller = caller,
		.site = call->site,
		.begin = call->begin,
		.end = end,
		.begin_slack = call->begin_slack,
		.end_slack = slack,
		.depth = (uint16_t)depth,
		.flags = (uint16_t)(call->flags | flags),
	};

	if (call->is_long || end + slack - call->begin > scan->long_ns)
		sink->on_call(sink->arg, &told);
	else
		sink->on_short_call(sink->arg, &told, call->looks);
}

/* The calls above the @unchanged ones have ended since the last look. */
static void end_calls(struct shadow_scan *scan, size_t unchanged, uint64_t time, bool second,
		      const struct scan_sink *sink)
{
	uint64_t slack = (time - scan->seen) / 2;

	for (; scan->calls.n > unchanged; scan->calls.n--)
		tell_end(scan, scan->calls.n - 1, time - slack, (uint32_t)slack,
			 second ? OBSERVED_CALL_IN_PAIR : 0, sink);
}

/* The topmost calls that are not known to be long, before the new ones. */
static void note_look(struct shadow_scan *scan, size_t unchanged, bool second)
{
	for (size_t i = unchanged; !second && i && !scan->calls.data[i - 1].is_long; i--) {
		scan->calls.data[i - 1].is_long = true;
		scan->calls.data[i - 1].looks++;
	}
}

/* Whether the topmost call is within another one of its function by its caller. */
static bool is_nested(const struct shadow_scan *scan)
{
	const struct seen_call *calls = scan->calls.data;
	size_t top = scan->calls.n - 1;
	uint64_t caller = top ? calls[top - 1].function : 0;

	for (size_t i = top; i-- > 0;)
		if (calls[i].function == calls[top].function &&
		    (i ? calls[i - 1].function : 0) == caller)
			return true;
	return false;
}

static int begin_calls(struct shadow_scan *scan, const struct shadow_entry *read, size_t n,
		       uint64_t time, bool second)
{
	uint64_t slack = scan->seen ? (time - scan->seen) / 2 : 0;
	int err = array__reserve(&scan->calls, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		/* The thread's first call, or in a child process those of its parent. */
		bool is_first = scan->first && read[i].generation <= scan->first + 2;
		bool is_earlier = !scan->seen || read[i].generation <= scan->first;

		scan->calls.data[scan->calls.n++] = (struct seen_call){
			.function = read[i].function,
			.generation = read[i].generation,
			.site = read[i].site ? read[i].site - 1 : 0,
			.begin = is_first ? scan->seen : time - slack,
			.begin_slack = is_first		    ? 0
				       : slack > UINT32_MAX ? UINT32_MAX
							    : (uint32_t)slack,
			.looks = !second,
			.flags = is_earlier ? OBSERVED_CALL_EARLIER : 0,
		};
		if (is_nested(scan))
			scan->calls.data[scan->calls.n - 1].flags |= OBSERVED_CALL_NESTED;
	}
	return 0;
}

/*
 * When the stack was read, about. What the program has written since the last look takes a while to
 * arrive from its CPU; in the second look of a pair, an end that came later than @time is not
 * seen, as the line that was read just before is still in the cache. If the scanner lost its CPU
 * before it read the stack, what changed may have done so until now.
 */
static uint64_t time_of_read(uint64_t time, bool *second)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), late = now > time ? now - time : 0;

	if (late > SHADOW_SCAN_LATE_NS) {
		*second = false;
		return now;
	}
	return *second ? time : time + late / 2;
}

/*
 * Number of runs of the stack's thread, by the scheduler's statistics; 0: it has ended, or its
 * /proc cannot be read.
 */
static uint64_t read_arrivals(const struct shadow_scan *scan)
{
	unsigned long long arrivals = 0;
	char path[64], text[128];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", scan->pid, scan->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return sscanf(text, "%*u %*u %llu", &arrivals) == 1 ? arrivals : 0;
}

/*
 * Whether the stack, which was just read, is as it was when its thread lost the CPU: the thread may
 * have got it back before the stack was read. If much time has passed, the scheduler's statistics
 * are read, too, as tracing does not see all switches.
 */
static bool is_past(const struct shadow_scan *scan)
{
	const struct thread_run *run = scan->run;
	uint64_t arrivals;

	if (!scan->past || !run)
		return false;
	arrivals = load(&run->arrivals);
	if (arrivals && now_ns(CLOCK_MONOTONIC) > scan->past + RELOOK_NS &&
	    read_arrivals(scan) != arrivals)
		return false;
	return load(&run->in) == scan->past_in && load(&run->out) == scan->past;
}

/* Another thread has taken over the stack: the calls of the one that ended were never left. */
static void follow_thread(struct shadow_scan *scan, const struct scan_sink *sink)
{
	uint32_t tid = __atomic_load_n(&scan->stack->tid, __ATOMIC_RELAXED);

	if (tid == scan->own_tid)
		return;
	shadow_scan__finish(scan, sink);
	scan->own_tid = tid;
	scan->first = scan->newest = 0;
	scan->ran = scan->counted_until = scan->uncounted_ns = scan->looked = 0;
	scan->counted = NULL;
	scan->goes_on = false;
	sink->on_thread(sink->arg, scan);
}

/* Whether the thread was off the CPU at the last look, and has run once since: run @arrivals. */
static bool has_run_once(const struct shadow_scan *scan, uint64_t arrivals)
{
	return scan->arrivals && scan->counted == scan->run && arrivals == scan->arrivals + 1;
}

/* Whether the thread has ended: nothing is known of its runs any more. */
static bool has_ended(const struct shadow_scan *scan)
{
	return scan->run && scan->counted == scan->run && !load(&scan->run->in) &&
	       !load(&scan->run->out);
}

bool shadow_scan__is_needed(struct shadow_scan *scan, uint64_t *time)
{
	/*
	 * Arrivals first: if the thread gets a CPU between these loads, they are too old rather
	 * than too new, so a run may be missed as the only one, but never be taken for it.
	 */
	uint64_t arrivals = scan->run ? load(&scan->run->arrivals) : 0;
	uint64_t in = scan->run ? load(&scan->run->in) : 0;
	uint64_t out = scan->run ? load(&scan->run->out) : 0;

	scan->past = 0;
	scan->arrivals_now = in > out ? 0 : arrivals;
	/* Another one may have its stack already. */
	if (has_ended(scan) &&
	    __atomic_load_n(&scan->stack->tid, __ATOMIC_RELAXED) == scan->own_tid)
		return false;
	if ((!in && !out) || !scan->seen ||
	    __atomic_load_n(&scan->stack->tid, __ATOMIC_RELAXED) != scan->own_tid)
		return true;
	if (in > out) {
		if (scan->seen >= out && scan->seen < in)
			scan->seen = in;
		return true;
	}
	if (scan->seen < out) {
		if (scan->seen < in && has_run_once(scan, arrivals))
			scan->seen = in;
		scan->past = *time = out;
		scan->past_in = in;
		return true;
	}
	if (*time > scan->looked + RELOOK_NS) {
		scan->seen = scan->looked;
		return true;
	}
	scan->seen = *time;
	return false;
}

bool shadow_scan__has_cpu(const struct shadow_scan *scan)
{
	return scan->run && load(&scan->run->in) > load(&scan->run->out);
}

bool shadow_scan__waits_for_cpu(const struct shadow_scan *scan)
{
	/* In this order: a thread that gets a CPU between these loads does not wait for one. */
	uint64_t runnable = scan->run ? load(&scan->run->runnable) : 0;
	uint64_t out = scan->run ? load(&scan->run->out) : 0;

	return out && runnable >= out && load(&scan->run->in) <= out;
}

/* How long a thread had run at @time. */
static uint64_t ran_until(const struct thread_run *run, uint64_t time)
{
	uint64_t in = load(&run->in);

	return run->ran + (in > load(&run->out) && time > in ? time - in : 0);
}

/*
 * How long the stack's thread has run since it was counted last, or since it is recorded. As long
 * as that is not known, it is taken to run all the time.
 */
static uint64_t take_ran(struct shadow_scan *scan)
{
	bool is_known = scan->run && (scan->run->in || scan->run->out);
	uint64_t until = scan->counted_until ? scan->counted_until : scan->seen;
	uint64_t ran = is_known ? ran_until(scan->run, scan->seen) : scan->ran + scan->seen - until;
	uint64_t passed = 0;

	if (scan->goes_on && is_known && !scan->counted)
		scan->ran = ran;
	/*
	 * A switch while the times are read, or an interrupt in the run, makes it appear longer
	 * than it is. What was counted too much then is not counted again.
	 */
	if (!has_ended(scan) && ran > scan->ran)
		passed = ran - scan->ran;
	scan->counted = is_known ? scan->run : NULL;
	scan->counted_until = scan->seen;
	scan->ran += passed;
	return passed;
}

static unsigned gap_class(uint64_t gap)
{
	unsigned class = 0;

	while (gap > scan_gap__limit(class))
		class ++;
	return class;
}

/*
 * Counts the calls since the newest one that was seen before, unless a push has skipped generations
 * meanwhile. @skips: of the stack, before it was read.
 */
static void count_pushes(struct shadow_scan *scan, uint64_t ran, uint64_t skips)
{
	uint64_t top = scan->calls.n ? scan->calls.data[scan->calls.n - 1].generation : 0;

	scan->uncounted_ns += ran;
	if (top <= scan->newest)
		return;
	if (scan->newest && !(skips & 1) && scan->skips == load(&scan->stack->skips)) {
		scan->report.pushes += (top - scan->newest) / 2;
		scan->report.pushes_ns += scan->uncounted_ns;
	}
	scan->newest = top;
	scan->skips = skips;
	scan->uncounted_ns = 0;
}

/* @gap: since the look before; 0: there was none. */
static void add_to_report(struct shadow_scan *scan, uint64_t gap, bool second, uint64_t skips)
{
	uint64_t ran = take_ran(scan);

	scan->report.ns += ran;
	scan->report.pair_ns += second ? ran : 0;
	scan->report.pairs += second;
	if (gap)
		scan->report.gap_ns[gap_class(gap)] += ran;
	count_pushes(scan, ran, skips);
}

int shadow_scan__look(struct shadow_scan *scan, uint64_t time, bool *second,
		      const struct scan_sink *sink)
{
	struct shadow_entry read[SHADOW_DEPTH];
	uint64_t gap, skips;
	size_t unchanged;
	int n;

	fetch(scan);
	follow_thread(scan, sink);
	if (time < scan->seen) /* it got a CPU, or began, after @time was read */
		time = scan->seen;
	skips = load(&scan->stack->skips);
	unchanged = count_unchanged(scan);
	n = read_new(scan, unchanged, read);
	scan->changed = n || unchanged != scan->calls.n;
	for (int i = 0; i < ATTEMPTS && n == -EAGAIN; i++) {
		unchanged = count_unchanged(scan);
		n = read_new(scan, unchanged, read);
	}
	if (scan->changed && !is_past(scan))
		time = time_of_read(time, second);
	if (n < 0) {
		*second = false;
		return n;
	}
	end_calls(scan, unchanged, time, *second, sink);
	note_look(scan, unchanged, *second);
	n = begin_calls(scan, read, (size_t)n, time, *second);
	gap = scan->looked ? time - scan->seen : 0;
	scan->seen = scan->looked = time;
	scan->arrivals = scan->arrivals_now;
	add_to_report(scan, gap, *second, skips);
	return n;
}

void shadow_scan__know_begin(struct shadow_scan *scan, uint64_t begun)
{
	scan->seen = scan->counted_until = begun;
	scan->first = scan->newest = scan->stack->first;
	scan->skips = scan->stack->first_skips;
}

void shadow_scan__finish(struct shadow_scan *scan, const struct scan_sink *sink)
{
	for (; scan->calls.n; scan->calls.n--)
		tell_end(scan, scan->calls.n - 1, scan->seen, 0, OBSERVED_CALL_UNFINISHED, sink);
}

void shadow_scan__free(struct shadow_scan *scan)
{
	array__free(&scan->calls);
}
