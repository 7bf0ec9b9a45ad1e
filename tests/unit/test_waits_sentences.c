// SPDX-License-Identifier: BSD-2-Clause
/* No sentence of a verdict says what the rows of its graph deny, of random programs. */
#include "tests/unit/waits_support.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "render/waits/waits.h"

#define END	 (100 * MS)
#define PROGRAMS 4000

/* What a thread does, and how often one of ten times: what programs are like, at random. */
struct habits {
	uint64_t sleeps;
	uint64_t waits;
	uint64_t queues;
	uint64_t asks; /* who was not recorded */
	uint64_t longest_run;
};

#define PEERS 3

/* A socket whose other end is peer @number; or a client of its own, at this end of a server. */
static uint32_t put_socket(struct program *program, uint64_t number)
{
	char name[32];
	struct record_object socket = {.type = OBJECT_SOCKET,
				       .id = 1 + number,
				       .family = AF_INET,
				       .protocol = IPPROTO_TCP,
				       .side = number < PEERS ? SOCKET_SIDE_CLIENT
							      : SOCKET_SIDE_SERVER};

	snprintf(name, sizeof(name), "10.0.0.%u:5432", (unsigned int)number);
	socket.name = synthetic__string(&program->made, name);
	return record_stream__object(recording_writer__stream(program->made.writer), &socket);
}

static void put_off_cpu(struct program *program, uint32_t thread, uint32_t n,
			const struct habits *habits, uint64_t begin, uint64_t length,
			uint64_t off[CLASS_COUNT])
{
	uint32_t other = (uint32_t)(1 + random_below(n));
	uint64_t dice = random_below(10);
	struct record_interval interval = {.thread = thread, .t_out = begin, .syscall = -1};

	if (dice < habits->sleeps) {
		interval.waker_context = WAKER_HARDIRQ;
		interval.class = CLASS_OTHER;
		interval.syscall = 230; /* clock_nanosleep */
		interval.blocked_ns = length;
	} else if (dice < habits->sleeps + habits->waits && other != thread) {
		interval.waker = other;
		interval.waker_context = WAKER_TASK;
		interval.class = CLASS_OTHER;
		interval.blocked_ns = length;
	} else if (dice < habits->sleeps + habits->waits + habits->asks) {
		interval.waker_context = WAKER_SOFTIRQ;
		interval.class = CLASS_OTHER;
		interval.syscall = 45; /* recvfrom */
		interval.blocked_ns = length;
		interval.object = put_socket(program, random_below(PEERS + 1));
		interval.user_stack = USER(program, "receive", "main");
	} else if (dice < habits->sleeps + habits->waits + habits->asks + habits->queues) {
		interval.class = CLASS_SCHED;
		interval.flags = INTERVAL_PREEMPTED;
		interval.runq_ns = length;
	} else {
		return; /* it runs on */
	}
	off[interval.class] += length;
	synthetic__interval(&program->made, interval);
}

static void put_life(struct program *program, uint32_t thread, uint32_t n)
{
	bool sleeps_only = !random_below(3);
	struct habits habits = {
		.sleeps = sleeps_only ? 10 : random_below(10),
		.waits = random_below(6),
		.asks = random_below(2) ? random_below(10) : 0,
		.queues = random_below(4),
		.longest_run = 1 + random_below(sleeps_only ? MS / 10 : 5 * MS),
	};
	uint64_t off[CLASS_COUNT] = {}, sum;

	for (uint64_t at = random_below(5 * MS); at < END;) {
		uint64_t length = 1 + random_below(random_below(4) ? 2 * MS : 30 * MS);

		length = length < END - at ? length : END - at;
		put_off_cpu(program, thread, n, &habits, at, length, off);
		at += length + random_below(habits.longest_run);
	}
	sum = off[CLASS_SCHED] + off[CLASS_OTHER];
	synthetic__totals(&program->made, thread, END, false, END - sum, 0, 0, off[CLASS_SCHED],
			  off[CLASS_OTHER]);
}

/* What the members of a bottleneck wait for, from the rows. */
struct rows {
	uint64_t lifetime;
	uint64_t running;
	uint64_t runnable;
	uint64_t inside;
	uint64_t outside;
	uint64_t work;
	size_t inferred;
};

static struct rows rows_of(const struct analysis *analysis, const struct bottleneck *bottleneck)
{
	const struct waitgraph_vertex *vertices = analysis->graph.vertices.data;
	struct rows rows = {};

	for (size_t i = 0; i < bottleneck->members.n; i++) {
		const struct waitgraph_vertex *vertex = &vertices[bottleneck->members.data[i]];

		rows.inferred += vertex->inferred;
		if (vertex->inferred)
			continue;
		rows.lifetime += vertex->lifetime_ns;
		rows.running += vertex->running_ns;
		rows.runnable += vertex->runnable_ns;
	}
	for (size_t i = 0; i < analysis->graph.edges.n; i++) {
		const struct waitgraph_edge *edge = &analysis->graph.edges.data[i];

		if (!bottleneck__has(bottleneck, edge->from) || vertices[edge->from].inferred)
			continue;
		*(bottleneck__has(bottleneck, edge->to) ? &rows.inside : &rows.outside) +=
			edge->plain_ns;
		rows.work += edge->idle_ns;
	}
	return rows;
}

/* Whether a recorded thread waits for one of the members longer than for @percent of its life. */
static bool is_awaited(const struct analysis *analysis, const struct bottleneck *bottleneck,
		       double percent)
{
	const struct waitgraph_vertex *vertices = analysis->graph.vertices.data;

	for (size_t i = 0; i < analysis->graph.edges.n; i++) {
		const struct waitgraph_edge *edge = &analysis->graph.edges.data[i];

		if (bottleneck__has(bottleneck, edge->to) &&
		    100.0 * (double)edge->plain_ns >
			    (percent - 0.51) * (double)vertices[edge->from].lifetime_ns)
			return true;
	}
	return false;
}

/* If @text has @claim, @holds. */
static void claims(const char *text, const char *claim, bool holds)
{
	if (strstr(text, claim) && !holds)
		fail_msg("'%s' is not true: %s", claim, text);
}

static bool has_peer; /* a bottleneck had one */

static void check_bottleneck(const struct analysis *analysis, const struct waits *waits,
			     const struct bottleneck *bottleneck)
{
	struct rows rows = rows_of(analysis, bottleneck);
	double all = (double)(rows.inside + rows.outside);
	double waited = all / (double)rows.lifetime;
	char text[2048];

	verdict__text(waits, bottleneck, text, sizeof(text));
	claims(text, "for nothing else", (double)rows.outside <= 0.005 * all);
	claims(text, "hardly for anything else", (double)rows.outside <= 0.1 * all);
	claims(text, "waits for nothing:", rows.lifetime && waited <= 0.005);
	claims(text, "or waits for a CPU", rows.runnable);
	claims(text, "waits little:", waited <= 0.1);
	claims(text, "most for a CPU", (double)rows.runnable >= all);
	claims(text, "longer than it runs", rows.runnable > rows.running);
	claims(text, "of the time for work", 2 * rows.work > rows.inside + rows.outside);
	claims(text, "was not recorded: while recorded threads wait", rows.inferred);
	if (rows.inferred && !strstr(text, " was not recorded: while"))
		fail_msg("who was not recorded is not said: %s", text);
	if (strstr(text, " for it "))
		claims(text, "the time: ",
		       is_awaited(analysis, bottleneck, atof(strstr(text, " for it ") + 8)));
	has_peer |= rows.inferred;
	verdict__note(waits, bottleneck, text, sizeof(text));
	claims(text, "wait for a CPU", rows.runnable >= END / 10);
}

static void check_none(const struct analysis *analysis, const struct waits *waits)
{
	uint64_t busiest = 0, other = 0, awaited = 0;
	char text[2048];

	for (size_t i = 0; i < analysis->graph.vertices.n; i++) {
		const struct waitgraph_vertex *vertex = &analysis->graph.vertices.data[i];

		if (vertex->type == CAUSE_THREAD &&
		    vertex->running_ns + vertex->runnable_ns > busiest)
			busiest = vertex->running_ns + vertex->runnable_ns;
	}
	for (size_t i = 0; i < analysis->graph.edges.n; i++) {
		const struct waitgraph_edge *edge = &analysis->graph.edges.data[i];
		enum cause_type to = analysis->graph.vertices.data[edge->to].type;

		if (to != CAUSE_TIMER)
			other += edge->plain_ns - edge->idle_ns;
		if (to == CAUSE_THREAD && edge->plain_ns - edge->idle_ns > awaited)
			awaited = edge->plain_ns - edge->idle_ns;
	}
	verdict__text(waits, NULL, text, sizeof(text));
	claims(text, "only sleep", busiest <= END / 20 && other <= END / 20);
	claims(text, "no other thread waits for them", awaited <= END / 20);
	claims(text, "No wait is long enough",
	       !other || other <= analysis->graph.edges.n * END / 20);
	claims(text, "No thread waited", !analysis->graph.edges.n);
}

static void check_program(bool *has_full, bool *has_none)
{
	struct program program = program__begin(true);
	const struct sample_filter filter = {};
	uint64_t busy = random_below(200) * MS;
	uint32_t n = (uint32_t)(1 + random_below(5));
	_cleanup_analysis_ struct analysis analysis = {};
	struct waits waits = {.filter = &filter, .percent_limit = 1};
	char text[2048];
	bool full;

	record_stream__meta(recording_writer__stream(program.made.writer), "machine_busy_ns",
			    "%llu", (unsigned long long)busy);
	record_stream__meta(recording_writer__stream(program.made.writer), "machine_idle_ns",
			    "%llu", (unsigned long long)(200 * MS - busy));
	program__threads(&program, n);
	for (uint32_t i = 1; i <= n; i++)
		put_life(&program, i, n);
	analysis = program__analyse(&program, END, NULL);
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	waits.model = analysis.graph.model;
	waits.graph = &analysis.graph;
	waits.bottlenecks = &analysis.found;
	for (size_t i = 0; i < analysis.found.all.n; i++)
		check_bottleneck(&analysis, &waits, &analysis.found.all.data[i]);
	if (!bottlenecks__first(&analysis.found)) {
		check_none(&analysis, &waits);
		*has_none = true;
	}
	full = verdict__cpus(&waits, text, sizeof(text));
	assert_int_equal(full, *text != '\0');
	claims(text, "The CPUs are full", busy > 0.85 * 200 * MS);
	*has_full |= full;
}

static void sentences_hold_for_their_rows(void **state)
{
	bool has_full = false, has_none = false;

	for (random_state = 0; random_state < PROGRAMS; random_state++) {
		uint64_t seed = random_state;

		check_program(&has_full, &has_none);
		random_state = seed;
	}
	assert_true(has_full && has_none && has_peer);
}

/* It computes for six tenths of the time, and sleeps in between; nobody waits for it. */
static void who_computes_between_sleeps_is_said_to(void **state)
{
	struct program program = program__begin(true);
	const struct sample_filter filter = {};
	_cleanup_analysis_ struct analysis analysis = {};
	struct waits waits = {.filter = &filter, .percent_limit = 1};
	char text[2048];

	program__threads(&program, 1);
	for (uint64_t at = 0; at < END; at += 20 * MS)
		synthetic__interval(&program.made,
				    (struct record_interval){.thread = 1,
							     .waker_context = WAKER_HARDIRQ,
							     .class = CLASS_OTHER,
							     .syscall = 230, /* clock_nanosleep */
							     .t_out = at,
							     .blocked_ns = 8 * MS});
	program__ran(&program, 1, END, 40 * MS);
	for (uint32_t i = 0; i < 10; i++)
		synthetic__sample(&program.made, 1, (10 * i + 9) * MS, 1, 0,
				  i < 7 ? USER(&program, "inner", "outer")
					: USER(&program, i < 9 ? "" : "outer"));
	analysis = program__analyse(&program, END, NULL);
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	waits.model = analysis.graph.model;
	waits.graph = &analysis.graph;
	waits.bottlenecks = &analysis.found;
	verdict__text(&waits, bottlenecks__first(&analysis.found), text, sizeof(text));
	assert_string_equal(
		text,
		"A waits for work 40% of the time: it is the work it does that takes the "
		"rest, 70% of it in inner. It is busy 60% of the time, and otherwise waits for "
		"timers.");
}

static void append_sentence(void *context, const char *text)
{
	strncat(context, text, 2000 - strlen(context));
}

/* Only what may have been a wait, or its wakeup, makes the waits incomplete. */
static void only_lost_events_are_lost_waits(void **state)
{
	static const struct {
		const char *cause;
		bool told;
	} losses[] = {
		{"events, ring buffer full", true},
		{"switches or wakeups, skipped by the kernel within a running BPF program", true},
		{"wakers, hidden from tracing by the kernel", false},
		{"stacks of new programs, ring buffer full", false},
		{"/usr/bin/prog: no names, the process that read it was killed", false},
		{"names of addresses, too many", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		struct program program = program__begin(true);
		const struct sample_filter filter = {};
		_cleanup_analysis_ struct analysis analysis = {};
		struct waits waits = {.filter = &filter, .percent_limit = 1};
		struct record lost = {.type = RECORD_LOST, .lost.count = 3};
		char text[2048] = "";

		program__threads(&program, 1);
		lost.lost.cause = synthetic__string(&program.made, losses[i].cause);
		synthetic__put(&program.made, lost);
		program__ran(&program, 1, END, END);
		analysis = program__analyse(&program, END, NULL);
		assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
		waits.model = analysis.graph.model;
		waits.graph = &analysis.graph;
		waits.bottlenecks = &analysis.found;
		verdict__limitations(&waits, append_sentence, text);
		assert_true(!strstr(text, "Events were lost (3)") == !losses[i].told);
	}
}

/* Five compilers, one after the other, each for a fifth of the time; one that sleeps starts them.
 */
static void who_follows_each_other_is_busy_together(void **state)
{
	struct program program = program__begin(true);
	const struct sample_filter filter = {};
	_cleanup_analysis_ struct analysis analysis = {};
	struct waits waits = {.filter = &filter, .percent_limit = 1};
	const struct bottleneck *first;
	char text[2048];

	program__thread(&program, 1, "make");
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t begin = i * 20 * MS, end = begin + 20 * MS;

		synthetic__thread(&program.made, 2 + i, PID + 2 + i, PID + 2 + i, 1, begin, "cc1");
		synthetic__interval(&program.made,
				    BLOCKED(1, 2 + i, begin, end, .class = CLASS_OTHER,
					    .syscall = 61 /* wait4 */));
		synthetic__totals(&program.made, 2 + i, end, true, 20 * MS, 0, 0, 0, 0);
	}
	program__ran(&program, 1, END, END);
	analysis = program__analyse(&program, END, NULL);
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	waits.model = analysis.graph.model;
	waits.graph = &analysis.graph;
	waits.bottlenecks = &analysis.found;
	first = bottlenecks__first(&analysis.found);
	assert_non_null(first);
	verdict__text(&waits, first, text, sizeof(text));
	assert_non_null(strstr(text, "cc1 (5 threads) wait for nothing"));
	assert_non_null(strstr(text, "it is the work"));
	assert_true(first->active > 0.99);
}

/*
 * Two kernel threads take turns for six tenths of the time, and then wait for work, which A gives
 * them, who sleeps: that they wait for nothing else than for each other would not be true.
 */
static void kernel_threads_wait_for_work_too(void **state)
{
	struct program program = program__begin(true);
	const struct sample_filter filter = {};
	_cleanup_analysis_ struct analysis analysis = {};
	struct waits waits = {.filter = &filter, .percent_limit = 1};
	const struct bottleneck *knot;
	char text[2048];

	program__thread(&program, 1, "A");
	for (uint32_t i = 2; i <= 3; i++)
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_THREAD,
					       .thread = {.thread = i,
							  .tid = 10 + i,
							  .tgid = 10 + i,
							  .flags = THREAD_KERNEL | THREAD_HELPER,
							  .comm = synthetic__string(
								  &program.made,
								  i == 2 ? "first" : "second"),
							  .time = START}});
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .waker_context = WAKER_HARDIRQ,
								    .class = CLASS_OTHER,
								    .syscall = 230,
								    .blocked_ns = 95 * MS});
	for (uint64_t at = 0; at < 60 * MS; at += 20 * MS) {
		program__wait(&program, 2, 3, at, at + 10 * MS);
		program__wait(&program, 3, 2, at + 10 * MS, at + 20 * MS);
	}
	for (uint32_t i = 2; i <= 3; i++) {
		program__wait(&program, i, 1, 60 * MS, 99 * MS);
		program__ran(&program, i, END, 69 * MS);
	}
	program__ran(&program, 1, END, 95 * MS);
	analysis = program__analyse(&program, END, NULL);
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	waits.model = analysis.graph.model;
	waits.graph = &analysis.graph;
	waits.bottlenecks = &analysis.found;
	knot = bottleneck_of(&analysis, "first");
	assert_non_null(knot);
	assert_int_equal(knot->type, BOTTLENECK_KNOT);
	verdict__text(&waits, knot, text, sizeof(text));
	assert_non_null(strstr(text, "wait for each other, and for nothing else but their next "
				     "work. At least one"));
	assert_non_null(strstr(text, "and otherwise they wait for threads outside of it."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences_hold_for_their_rows),
		cmocka_unit_test(who_computes_between_sleeps_is_said_to),
		cmocka_unit_test(only_lost_events_are_lost_waits),
		cmocka_unit_test(who_follows_each_other_is_busy_together),
		cmocka_unit_test(kernel_threads_wait_for_work_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
