/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/common/switch_log.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#define SWITCH_PAGES 64 /* powers of two */
#define WAKEUP_PAGES 8

struct ring_record {
	struct perf_event_header header;
	uint64_t time;
};

/* How long a switch takes: runs begin earlier by that time. 0: not measured. */
static uint64_t switch_ns;

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_TIME;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Closes @fd: the mapping keeps the event open. */
static struct event_ring event_ring_map(int fd, size_t pages)
{
	size_t size = (1 + pages) * sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		die("mmap of a perf event");
	close(fd);
	return (struct event_ring){page, pages};
}

/*
 * Reads the next record; false: there is none up to @until. All records have 16 bytes, so none
 * wraps around the end of the buffer.
 */
static bool event_ring_take(struct event_ring *ring, uint64_t until, struct ring_record *record)
{
	const size_t page = sysconf(_SC_PAGESIZE), size = ring->pages * page;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	if (head == tail)
		return false;
	memcpy(record, (const char *)ring->page + page + tail % size, sizeof(*record));
	if (head - tail >= size || record->header.size != sizeof(*record)) {
		errno = EOVERFLOW;
		die("too many switches or wakeups between two reads of the log");
	}
	if (record->time > until)
		return false;
	__atomic_store_n(&ring->page->data_tail, tail + sizeof(*record), __ATOMIC_RELEASE);
	return true;
}

/* The id of the tracepoint, from a private mount of tracefs. */
static uint64_t read_sched_waking_id(void)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), mounted, fd;
	char text[32] = "";

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		die("tracefs");
	mounted = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	fd = openat(mounted, "events/sched/sched_waking/id", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die("sched_waking");
	close(fd);
	close(mounted);
	close(fs);
	return strtoull(text, NULL, 10);
}

/* On every CPU: the event occurs on the waker's. */
static void open_wakeups(struct switch_log *log)
{
	static uint64_t id;
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .sample_period = 1};
	int cpus = sysconf(_SC_NPROCESSORS_CONF);
	char filter[32];

	if (!__atomic_load_n(&id, __ATOMIC_RELAXED))
		__atomic_store_n(&id, read_sched_waking_id(), __ATOMIC_RELAXED);
	attr.config = __atomic_load_n(&id, __ATOMIC_RELAXED);
	snprintf(filter, sizeof(filter), "pid == %d", thread_id());
	for (int cpu = 0; cpu < cpus && log->cpus < SWITCH_LOG_CPUS; cpu++) {
		int fd = open_event(&attr, -1, cpu);

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
			die("perf_event_open, for wakeups of a thread");
		log->wakeups[log->cpus++] = event_ring_map(fd, WAKEUP_PAGES);
	}
}

void switch_log__open_switches(struct switch_log *log)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.context_switch = 1,
		.exclude_kernel = 1,
	};
	int fd = open_event(&attr, 0, -1);

	if (fd < 0)
		die("perf_event_open, for a thread's own switches");
	*log = (struct switch_log){.switches = event_ring_map(fd, SWITCH_PAGES)};
	log->switch_in = wall_ns();
}

void switch_log__open(struct switch_log *log)
{
	switch_log__open_switches(log);
	open_wakeups(log);
}

void switch_log__prepare(void)
{
	static struct switch_log kept; /* what is set up for it stays */

	switch_log__open(&kept);
}

void switch_log__close(struct switch_log *log)
{
	size_t page = sysconf(_SC_PAGESIZE);

	munmap(log->switches.page, (1 + log->switches.pages) * page);
	for (int i = 0; i < log->cpus; i++)
		munmap(log->wakeups[i].page, (1 + WAKEUP_PAGES) * page);
	*log = (struct switch_log){};
}

/* The time of the last wakeup up to @until, since the last call; 0: none was logged. */
static uint64_t take_wakeups(struct switch_log *log, uint64_t until)
{
	uint64_t woken = 0;
	struct ring_record record;

	for (int i = 0; i < log->cpus; i++)
		while (event_ring_take(&log->wakeups[i], until, &record))
			if (record.time > woken)
				woken = record.time;
	return woken;
}

static void begin_run(struct switch_log *log, uint64_t switch_in)
{
	uint64_t woken = take_wakeups(log, switch_in), runnable = woken;

	if (!log->preempted && !woken) {
		log->unknown += switch_in - log->switch_out;
		runnable = switch_in;
	} else if (log->preempted || woken < log->switch_out) {
		runnable = log->switch_out; /* it can be woken before its switch is over */
	}
	log->switch_in = switch_in - switch_ns < runnable ? runnable : switch_in - switch_ns;
	log->runqueue += log->switch_in - runnable;
}

/* As the calling thread runs, the last record is that of its switch-in. */
void switch_log__read(struct switch_log *log)
{
	struct ring_record record;

	while (event_ring_take(&log->switches, UINT64_MAX, &record)) {
		if (!(record.header.misc & PERF_RECORD_MISC_SWITCH_OUT)) {
			if (log->switch_out)
				begin_run(log, record.time);
			continue;
		}
		log->cpu += record.time - log->switch_in;
		log->switch_out = record.time;
		log->preempted = record.header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	}
}

uint64_t switch_log__cpu(struct switch_log *log, uint64_t *wall)
{
	do {
		*wall = wall_ns();
		if (!log->switches.page)
			return clock_ns(CLOCK_THREAD_CPUTIME_ID);
		switch_log__read(log);
	} while (log->switch_in > *wall);
	return log->cpu + *wall - log->switch_in;
}

#define TURNS 400

/* One of two threads that take turns on a CPU, and its switches. */
struct turn_taker {
	int from;
	int to;
	uint64_t switch_in[TURNS];
	uint64_t switch_out[TURNS];
};

static void *take_turns(void *arg)
{
	struct turn_taker *self = arg;
	struct switch_log log;
	char byte = 0;

	switch_log__open(&log);
	for (int i = 0; i < TURNS; i++) {
		if (write(self->to, &byte, 1) != 1 || read(self->from, &byte, 1) != 1)
			die("pipe");
		switch_log__read(&log);
		self->switch_in[i] = log.switch_in;
		self->switch_out[i] = log.switch_out;
	}
	switch_log__close(&log);
	return NULL;
}

/* The median time from a switch-out of @two to the next switch-in of @one. */
static uint64_t median_switch(const struct turn_taker *one, const struct turn_taker *two)
{
	uint64_t length[TURNS];
	int n = 0;

	for (int i = 0, k = 0; i < TURNS; i++) {
		while (k + 1 < TURNS && two->switch_out[k + 1] < one->switch_in[i])
			k++;
		if (two->switch_out[k] && two->switch_out[k] < one->switch_in[i])
			length[n++] = one->switch_in[i] - two->switch_out[k];
	}
	qsort(length, n, sizeof(length[0]), compare_numbers);
	return n ? length[n / 2] : 0;
}

static uint64_t measure_once(void)
{
	static struct turn_taker one, two;
	pthread_t first, second;
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		die("pipe");
	one = (struct turn_taker){.from = back[0], .to = there[1]};
	two = (struct turn_taker){.from = there[0], .to = back[1]};
	first = start_thread(take_turns, &one);
	second = start_thread(take_turns, &two);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return median_switch(&one, &two);
}

/* The shortest of several measurements: other processes use the CPU, too. */
void switch_log__measure_switch(void)
{
	uint64_t shortest = UINT64_MAX;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	stay_on(sched_getcpu());
	for (int i = 0; i < 8; i++) {
		uint64_t length = measure_once();

		shortest = length < shortest ? length : shortest;
		sleep_ns(20 * NS_PER_MS);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	switch_ns = shortest;
}

struct thread_times thread_times__now(struct switch_log *log)
{
	struct thread_times now;

	now.cpu = switch_log__cpu(log, &now.wall);
	now.runqueue = log->runqueue;
	now.unknown = log->unknown;
	return now;
}

void phase_times__add(struct phase_times *sum, const struct thread_times *begin,
		      const struct thread_times *end)
{
	sum->count++;
	sum->wall += end->wall - begin->wall;
	sum->cpu += end->cpu - begin->cpu;
	sum->runqueue += end->runqueue - begin->runqueue;
	sum->unknown += end->unknown - begin->unknown;
}

uint64_t phase_times__blocked(const struct phase_times *sum)
{
	return sum->wall - sum->cpu - sum->runqueue;
}
