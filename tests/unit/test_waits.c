// SPDX-License-Identifier: BSD-2-Clause
/* The waits that a graph is made of: for whom, and which of them are one, or busy, or idle. */
#include "tests/unit/waits_support.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

/* One wait, and whom it was for. */
struct source_case {
	const char *comm; /* of who waits */
	enum cause_type type;
	const char *name; /* of the vertex; NULL: any */
	uint8_t context;  /* of the wakeup */
	uint32_t waker;
	uint32_t device;
	uint16_t flags;
	uint8_t class;
	int32_t syscall;
	const char *peer;    /* of the socket that was waited at; NULL: none */
	const char *wake[6]; /* kernel functions of the wakeup; none: no record of it */
};

#define BY_TASK	 1 /* thread: who wakes others */
#define SERVER	 2 /* thread: has a socket at 127.0.0.1:5000 */
#define LOST	 3 /* thread: was never announced */
#define NAMELESS 4 /* thread: of the idle task, which has no tid */
#define FIRST	 10

static const struct source_case cases[] = {
	{"a task", CAUSE_THREAD, "waker", WAKER_TASK, BY_TASK, .wake = {}},
	{"a task's stack", CAUSE_THREAD, "waker", WAKER_TASK, BY_TASK, .wake = {"wake_up_q"}},
	{"itself", CAUSE_UNKNOWN, "unknown", WAKER_TASK, FIRST + 2, .wake = {}},
	{"no thread", CAUSE_UNKNOWN, "unknown", WAKER_TASK, 0, .wake = {}},
	{"lost thread", CAUSE_UNKNOWN, "unknown", WAKER_TASK, LOST, .wake = {}},
	{"idle task", CAUSE_UNKNOWN, "unknown", WAKER_TASK, NAMELESS, .wake = {}},
	{"no context", CAUSE_UNKNOWN, "unknown", WAKER_UNKNOWN, BY_TASK, 1,
	 .wake = {"net_rx_action"}},
	{"loopback", CAUSE_THREAD, "waker", WAKER_SOFTIRQ, BY_TASK, .peer = "10.0.0.1:80",
	 .wake = {"tcp_v4_rcv", "net_rx_action", "__dev_queue_xmit", "tcp_sendmsg"}},
	{"own loopback", CAUSE_PEER, "10.0.0.1:80", WAKER_SOFTIRQ, FIRST + 8, .peer = "10.0.0.1:80",
	 .wake = {"net_rx_action", "__dev_queue_xmit"}},
	{"lost loopback", CAUSE_PEER, "10.0.0.1:80", WAKER_SOFTIRQ, LOST, .peer = "10.0.0.1:80",
	 .wake = {"net_rx_action", "__dev_queue_xmit"}},
	{"deferred", CAUSE_PEER, "10.0.0.1:80", WAKER_SOFTIRQ, BY_TASK, .peer = "10.0.0.1:80",
	 .wake = {"net_rx_action", "irq_exit_rcu", "sysvec", "__dev_queue_xmit"}},
	{"hard interrupt", CAUSE_PEER, "10.0.0.1:80", WAKER_HARDIRQ, BY_TASK, .peer = "10.0.0.1:80",
	 .wake = {"tcp_v6_rcv", "__napi_poll"}},
	{"local peer", CAUSE_THREAD, "server", WAKER_SOFTIRQ, BY_TASK, .peer = "127.0.0.1:5000",
	 .wake = {"net_rx_action", "run_ksoftirqd"}},
	{"no socket", CAUSE_PEER, "network", WAKER_SOFTIRQ, BY_TASK, .wake = {"net_rx_action"}},
	{"elsewhere", CAUSE_PEER, "192.0.2.7:443 via eth0", WAKER_SOFTIRQ, BY_TASK,
	 .peer = "192.0.2.7:443", .wake = {"net_rx_action"}},
	{"disk", CAUSE_DEVICE, "sda", WAKER_SOFTIRQ, BY_TASK, 1,
	 .wake = {"folio_end_read", "blk_update_request", "nvme_irq"}},
	{"disk, batch", CAUSE_DEVICE, "sda", WAKER_HARDIRQ, BY_TASK, 1,
	 .wake = {"blk_mq_end_request_batch"}},
	{"disk, polled", CAUSE_DEVICE, "sda", WAKER_TASK, BY_TASK, 1,
	 .wake = {"blk_update_request", "blk_mq_poll"}},
	{"no disk known", CAUSE_INTERRUPT, "interrupt", WAKER_SOFTIRQ, BY_TASK, 0,
	 .wake = {"blk_update_request"}},
	{"a timer", CAUSE_TIMER, "timer", WAKER_HARDIRQ, BY_TASK, 1, .wake = {"hrtimer_wakeup"}},
	{"a timer, while a disk's request completes", CAUSE_TIMER, "timer", WAKER_HARDIRQ, BY_TASK,
	 1, .wake = {"hrtimer_wakeup", "blk_update_request"}},
	{"a timer, while a packet is received", CAUSE_TIMER, "timer", WAKER_HARDIRQ, BY_TASK, 1,
	 .wake = {"hrtimer_wakeup", "process_backlog"}},
	{"other", CAUSE_INTERRUPT, "interrupt", WAKER_NMI, BY_TASK, 1, .wake = {"irq_work_run"}},
	{"unfinished", CAUSE_UNFINISHED, NULL, WAKER_TASK, BY_TASK, 1, INTERVAL_UNFINISHED,
	 .wake = {}},
	{"guess disk", CAUSE_DEVICE, "sda", WAKER_HARDIRQ, BY_TASK, 1, .class = CLASS_IO},
	{"guess sleep", CAUSE_TIMER, "timer", WAKER_HARDIRQ, BY_TASK, 1,
	 .syscall = 230 /* clock_nanosleep */},
	{"guess peer", CAUSE_PEER, "10.0.0.1:80", WAKER_SOFTIRQ, BY_TASK, 1,
	 .syscall = 45 /* recvfrom */, .peer = "10.0.0.1:80"},
	{"guess local", CAUSE_THREAD, "server", WAKER_SOFTIRQ, BY_TASK, 1,
	 .syscall = 45 /* recvfrom */, .peer = "127.0.0.1:5000"},
	{"guess none", CAUSE_INTERRUPT, "interrupt", WAKER_SOFTIRQ, BY_TASK, 1, .wake = {}},
	/* A stack whose frames were lost says no more than none. */
	{"empty stack", CAUSE_DEVICE, "sda", WAKER_HARDIRQ, BY_TASK, 1, .class = CLASS_IO,
	 .wake = {""}},
};

static uint32_t socket_of(struct program *program, const char *peer, const char *local)
{
	struct record_object socket = {
		.type = OBJECT_SOCKET, .id = 1, .family = AF_INET, .protocol = IPPROTO_TCP};

	socket.extra = strncmp(peer, "192.", 4) ? 0 : 3; /* the interface */
	socket.name = synthetic__string(&program->made, peer);
	socket.local = synthetic__string(&program->made, local);
	return record_stream__object(recording_writer__stream(program->made.writer), &socket);
}

static void put_source_case(struct program *program, uint32_t i)
{
	const struct source_case *given = &cases[i];
	uint64_t begin = 5 * i * MS, end = begin + 3 * MS;
	uint32_t stack;

	program__thread(program, FIRST + i, given->comm);
	synthetic__interval(
		&program->made,
		((struct record_interval){
			.thread = FIRST + i,
			.waker = given->waker,
			.waker_context = given->context,
			.class = given->class ? given->class : CLASS_OTHER,
			.flags = given->flags,
			.syscall = given->syscall ? given->syscall : -1,
			.t_out = begin,
			.blocked_ns = end - begin,
			.device = given->device,
			.object =
				given->peer ? socket_of(program, given->peer, "10.0.0.9:4711") : 0,
		}));
	if (!given->wake[0])
		return;
	stack = *given->wake[0] ? program__stack(program, true, given->wake)
				: record_stream__stack_by_hash(
					  recording_writer__stream(program->made.writer),
					  0x1234); /* none */
	program__wake(program, FIRST + i, given->waker, end, stack, 0);
}

static void whom_a_wait_is_for(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	uint64_t unknown = 0;

	program__thread(&program, BY_TASK, "waker");
	program__thread(&program, SERVER, "server");
	synthetic__thread(&program.made, NAMELESS, 0, 0, 0, 0, "swapper");
	program__device(&program, 1, "sda", 0, 0);
	record_stream__meta(recording_writer__stream(program.made.writer), "interface_3", "eth0");
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++)
		put_source_case(&program, i);
	synthetic__interval(&program.made,
			    WAIT(SERVER, BY_TASK, 0, MS,
				 .object = socket_of(&program, "10.0.0.9:1", "127.0.0.1:5000")));
	analysis = program__analyse(&program, 200 * MS, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t from = find_vertex(&analysis, cases[i].comm), to = NOWHERE;

		for (size_t k = 0; k < analysis.graph.edges.n; k++)
			if (analysis.graph.edges.data[k].from == from)
				to = analysis.graph.edges.data[k].to;
		if (to == NOWHERE)
			fail_msg("%s: nobody", cases[i].comm);
		if (analysis.graph.vertices.data[to].type != cases[i].type ||
		    (cases[i].name && strcmp(vertex_name(&analysis, to), cases[i].name) != 0))
			fail_msg("%s: for %s '%s'", cases[i].comm,
				 cause_type__name(analysis.graph.vertices.data[to].type),
				 vertex_name(&analysis, to));
	}
	for (size_t k = 0; k < analysis.graph.edges.n; k++) {
		const struct waitgraph_edge *edge = &analysis.graph.edges.data[k];

		if (analysis.graph.vertices.data[edge->to].type == CAUSE_UNKNOWN)
			unknown += edge->count;
	}
	assert_int_equal(unknown, 5); /* itself, no thread, two without a name, no context */
}

static void false_wakeup(struct program *program, uint32_t thread, uint64_t time)
{
	program__annotation(program, thread, ANNOTATION_WOKEN_FOR_NOTHING, 0, 0, time);
}

/* A is woken by B for nothing, twice, and preempted in between; then C wakes it. */
static void false_wakeups_make_one_wait(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 0, 10 * MS);
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .class = CLASS_SCHED,
								    .flags = INTERVAL_PREEMPTED,
								    .syscall = -1,
								    .t_out = 11 * MS,
								    .runq_ns = MS});
	false_wakeup(&program, 1, 13 * MS);
	synthetic__interval(&program.made, WAIT(1, 2, 14 * MS, 20 * MS, .runq_ns = MS));
	false_wakeup(&program, 1, 22 * MS);
	program__wait(&program, 1, 3, 23 * MS, 30 * MS);
	/* This one was not: what it says comes when the next one has begun. */
	program__wait(&program, 1, 2, 40 * MS, 45 * MS);
	false_wakeup(&program, 1, 51 * MS);
	program__wait(&program, 1, 3, 50 * MS, 55 * MS);
	/* One at the end changes nothing. */
	false_wakeup(&program, 1, 60 * MS);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(analysis.graph.list.false_wakeups, 2);
	assert_int_equal(plain_of(&analysis, "A", "C"), 30 * MS + 5 * MS);
	assert_int_equal(plain_of(&analysis, "A", "B"), 5 * MS);
	assert_int_equal(analysis.graph.stats.overlapping, 0);
}

static uint64_t sampled_ns(uint64_t from, uint64_t until)
{
	return sample_grid__points(START + from, START + until, PERIOD, 0) * PERIOD;
}

/* In sampling mode others may lie in between: what comes long after the wakeup is not of it. */
static void false_wakeups_among_sampled_waits(void **state)
{
	struct program program = program__begin(false);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 3);
	synthetic__interval(&program.made, WAIT(1, 2, 0, 10 * MS, .runq_ns = 3 * MS));
	false_wakeup(&program, 1, 13 * MS + 50000);
	program__wait(&program, 1, 3, 20 * MS, 30 * MS);
	program__wait(&program, 1, 2, 40 * MS, 50 * MS);
	false_wakeup(&program, 1, 55 * MS);
	program__wait(&program, 1, 3, 60 * MS, 70 * MS);
	/* Here is no room for another, and what lies between the two belongs to them. */
	program__wait(&program, 1, 2, 80 * MS, 85 * MS);
	false_wakeup(&program, 1, 85 * MS + 40000);
	program__wait(&program, 1, 3, 85 * MS + 90000, 90 * MS);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_false(analysis.graph.exact);
	assert_int_equal(analysis.graph.list.false_wakeups, 2);
	assert_int_equal(plain_of(&analysis, "A", "C"),
			 sampled_ns(0, 13 * MS) + sampled_ns(20 * MS, 30 * MS) +
				 sampled_ns(60 * MS, 70 * MS) + sampled_ns(80 * MS, 90 * MS));
	assert_int_equal(plain_of(&analysis, "A", "B"), sampled_ns(40 * MS, 50 * MS));
}

#define ONE 0x1000
#define TWO 0x2000

static void spin(struct program *program, uint32_t thread, uint64_t address, uint32_t holder,
		 uint64_t begin, uint64_t end)
{
	program__annotation(program, thread, ANNOTATION_SPIN_BEGIN, address, holder, begin);
	program__annotation(program, thread, ANNOTATION_SPIN_END, address, 0, end);
}

static void release(struct program *program, uint32_t thread, uint64_t address, uint64_t time)
{
	program__annotation(program, thread, ANNOTATION_SPIN_RELEASE, address, 0, time);
}

static void who_spins_waits_for_the_holder(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 6);
	/* Named; that somebody else let go does not count. */
	spin(&program, 1, ONE, 2, 10 * MS, 20 * MS);
	release(&program, 3, ONE, 19 * MS);
	/* Who let go last: not of another address, not the spinner, and not later. */
	release(&program, 4, TWO, 21 * MS);
	release(&program, 2, TWO, 22 * MS);
	release(&program, 1, TWO, 23 * MS);
	release(&program, 3, ONE, 24 * MS);
	release(&program, 5, TWO, 26 * MS);
	spin(&program, 1, TWO, 0, 21 * MS, 25 * MS);
	/* Clocks are read a little before. */
	release(&program, 4, TWO, 30 * MS + 1000);
	spin(&program, 1, TWO, 0, 27 * MS, 30 * MS);
	/* Nobody ever let go of this one. */
	spin(&program, 6, 0x3000, 0, 0, 8 * MS);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(plain_of(&analysis, "A", "B"), 10 * MS + 4 * MS);
	assert_int_equal(plain_of(&analysis, "A", "D"), 3 * MS);
	assert_int_equal(plain_of(&analysis, "F", "unknown"), 8 * MS);
	assert_int_equal(analysis.graph.edges.n, 3);
	assert_int_equal(analysis.graph.causes.data[0].origin, WAIT_SPIN);
}

static void spins_without_an_end_do_not_count(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 2);
	/* The end of another address; then its own. */
	program__annotation(&program, 1, ANNOTATION_SPIN_BEGIN, ONE, 2, 10 * MS);
	program__annotation(&program, 1, ANNOTATION_SPIN_END, TWO, 0, 12 * MS);
	program__annotation(&program, 1, ANNOTATION_SPIN_END, ONE, 0, 15 * MS);
	program__annotation(&program, 1, ANNOTATION_SPIN_END, ONE, 0, 18 * MS);
	/* Begun twice: the later one counts. */
	program__annotation(&program, 1, ANNOTATION_SPIN_BEGIN, ONE, 2, 20 * MS);
	spin(&program, 1, ONE, 2, 25 * MS, 30 * MS);
	/* Never ended. */
	program__annotation(&program, 1, ANNOTATION_SPIN_BEGIN, ONE, 2, 40 * MS);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(plain_of(&analysis, "A", "B"), 5 * MS + 5 * MS);
	assert_int_equal(analysis.graph.edges.n, 1);
}

/* Real waits cut it, wherever they lie; what is spent on the run queue does not. */
static void spins_are_cut_by_real_waits(void **state)
{
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 3);
	program__wait(&program, 1, 3, 5 * MS, 12 * MS);
	program__wait(&program, 1, 3, 15 * MS, 18 * MS);
	synthetic__interval(&program.made, WAIT(1, 3, 20 * MS, 21 * MS, .runq_ns = 2 * MS));
	program__wait(&program, 1, 3, 28 * MS, 34 * MS);
	spin(&program, 1, ONE, 2, 10 * MS, 30 * MS);
	analysis = program__analyse(&program, 100 * MS, NULL);
	assert_int_equal(plain_of(&analysis, "A", "B"), 3 * MS + 2 * MS + 7 * MS);
	assert_int_equal(plain_of(&analysis, "A", "C"), 17 * MS);
	assert_int_equal(analysis.graph.stats.overlapping, 0);
}

static void filters_are_for_spins_too(void **state)
{
	struct waitgraph_options options = {};
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 3);
	spin(&program, 1, ONE, 2, 10 * MS, 20 * MS);
	spin(&program, 3, ONE, 2, 10 * MS, 15 * MS);
	array__push(&options.filter.tids, PID + 3);
	analysis = program__analyse(&program, 100 * MS, &options);
	assert_int_equal(analysis.graph.edges.n, 1);
	assert_int_equal(plain_of(&analysis, "C", "B"), 5 * MS);
	sample_filter__free(&options.filter);
}

/* As many spins as waits: their order must not cost the square of their number. */
static void many_spins_take_no_longer(void **state)
{
	const uint64_t n = 200000;
	struct program program = program__begin(true);
	_cleanup_analysis_ struct analysis analysis = {};
	clock_t begun;

	program__threads(&program, 2);
	for (uint64_t i = 0; i < n; i++) {
		program__wait(&program, 1, 2, 3000 * i, 3000 * i + 1000);
		spin(&program, 1, ONE, 2, 3000 * i + 1000, 3000 * i + 2000);
	}
	program__ran(&program, 1, 3000 * n, 1000 * n);
	program__ran(&program, 2, 3000 * n, 0);
	analysis = program__analyse(&program, 3000 * n, NULL);
	assert_int_equal(plain_of(&analysis, "A", "B"), 2000 * n);
	begun = clock();
	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	assert_true(clock() - begun < CLOCKS_PER_SEC);
	assert_ptr_equal(bottleneck_of(&analysis, "B"), &analysis.found.all.data[0]);
}

static struct program program_with_devices(void)
{
	struct program program = program__begin(true);
	uint32_t issue = KERNEL(&program, "blk_mq_start_request", "submit_bio");
	uint32_t write = USER(&program, "write_log", "main");

	program__threads(&program, 2);
	synthetic__thread(&program.made, 3, 0, 0, 0, 0, "swapper");
	program__device(&program, 1, "sda", 10 * MS, 45 * MS);
	program__device(&program, 2, "sdb", 50 * MS, 20 * MS);
	program__idle(&program, 1, 1, 10 * MS, 30 * MS);
	program__idle(&program, 1, 2, 40 * MS, 50 * MS);
	program__idle(&program, 1, 1, 55 * MS, 60 * MS);
	synthetic__put(&program.made, (struct record){.type = RECORD_IDLE,
						      .idle = {.device = 1,
							       .thread = 1,
							       .since = START + 70 * MS,
							       .ns = 3 * MS,
							       .kernel_stack = issue,
							       .user_stack = write}});
	program__idle(&program, 1, 0, 80 * MS, 84 * MS);
	program__idle(&program, 1, 3, 90 * MS, 93 * MS);
	synthetic__interval(&program.made, WAIT(1, 2, 20 * MS, 25 * MS));
	return program;
}

/* They wait for who has requests for them; that costs others what these wait for. */
static void devices_wait_for_who_feeds_them(void **state)
{
	struct program program = program_with_devices();
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, 100 * MS, NULL);
	const struct waitgraph_edge *edge = find_edge(&analysis, "sda", "A");
	const struct waitgraph_cause *cause = &analysis.graph.causes.data[edge->cause];

	assert_int_equal(edge->plain_ns, 28 * MS);
	assert_int_equal(edge->count, 3);
	assert_int_equal(plain_of(&analysis, "sda", "B"), 10 * MS);
	/* Nobody, and the idle task: that is no thread to wait for. */
	assert_int_equal(plain_of(&analysis, "sda", "unknown"), 4 * MS + 3 * MS);
	assert_int_equal(weight_of(&analysis, "A", "B"), 5 * MS + 5 * MS);
	assert_int_equal(edge->idle_ns, 28 * MS);
	assert_int_equal(edge->n_causes, 2);
	assert_int_equal(cause[1].origin, WAIT_DEVICE_IDLE);
	assert_string_equal(frame_text(analysis.model, cause[1].waker_user, 0), "prog:write_log");
	assert_int_equal(vertex_of(&analysis, "sda")->blocked_ns, 45 * MS);
	assert_int_equal(vertex_of(&analysis, "sda")->lifetime_ns, 90 * MS);
	assert_int_equal(vertex_of(&analysis, "sda")->running_ns, 45 * MS);
	/* Never fed. */
	assert_int_equal(vertex_of(&analysis, "sdb")->type, CAUSE_DEVICE);
	assert_int_equal(vertex_of(&analysis, "sdb")->lifetime_ns, 50 * MS);
	for (size_t i = 0; i < analysis.graph.edges.n; i++)
		assert_int_not_equal(analysis.graph.edges.data[i].from,
				     find_vertex(&analysis, "sdb"));
}

static void devices_in_a_window(void **state)
{
	static const struct waitgraph_options part = {
		.filter = {.from = 20 * MS, .until = 58 * MS},
	};
	struct program program = program_with_devices();
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, 100 * MS, &part);

	assert_int_equal(plain_of(&analysis, "sda", "A"), 10 * MS + 3 * MS);
	assert_int_equal(vertex_of(&analysis, "sda")->lifetime_ns, 38 * MS);
	assert_int_equal(vertex_of(&analysis, "sda")->blocked_ns, 23 * MS);
	assert_int_equal(vertex_of(&analysis, "sda")->running_ns, 15 * MS);
	/* It came before the window ended. */
	assert_int_equal(vertex_of(&analysis, "sdb")->lifetime_ns, 8 * MS);
}

static void devices_before_they_are_seen(void **state)
{
	static const struct waitgraph_options early = {.filter = {.until = 40 * MS}};
	struct program program = program_with_devices();
	_cleanup_analysis_ struct analysis analysis = program__analyse(&program, 100 * MS, &early);

	assert_int_equal(vertex_of(&analysis, "sdb")->lifetime_ns, 0);
	assert_int_equal(vertex_of(&analysis, "sdb")->running_ns, 0);
	assert_int_equal(vertex_of(&analysis, "sda")->lifetime_ns, 30 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_a_wait_is_for),
		cmocka_unit_test(false_wakeups_make_one_wait),
		cmocka_unit_test(false_wakeups_among_sampled_waits),
		cmocka_unit_test(who_spins_waits_for_the_holder),
		cmocka_unit_test(spins_without_an_end_do_not_count),
		cmocka_unit_test(spins_are_cut_by_real_waits),
		cmocka_unit_test(filters_are_for_spins_too),
		cmocka_unit_test(many_spins_take_no_longer),
		cmocka_unit_test(devices_wait_for_who_feeds_them),
		cmocka_unit_test(devices_in_a_window),
		cmocka_unit_test(devices_before_they_are_seen),
	};

	return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
