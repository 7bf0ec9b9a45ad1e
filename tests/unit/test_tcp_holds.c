// SPDX-License-Identifier: BSD-2-Clause
/* Waits for what TCP held back: divided among who wrote it, TCP, and its way; and interrupts. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit/path_support.h"

#include "analysis/kinds/tcp_holds.h"
#include "analysis/waits/waitgraph.h"

#define T (20 * MS) /* B writes, */
#define U (60 * MS) /* and it leaves */

static uint32_t put_socket(struct program *program)
{
	struct record_object object = {
		.type = OBJECT_SOCKET,
		.id = 7,
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.side = SOCKET_SIDE_CLIENT,
		.name = record_stream__string(recording_writer__stream(program->made.writer),
					      "10.0.0.2:5432"),
		.local = record_stream__string(recording_writer__stream(program->made.writer),
					       "10.0.0.1:40000"),
	};

	return record_stream__object(recording_writer__stream(program->made.writer), &object);
}

/* A waits from 10 to 61 ms for what B writes at T; TCP holds it back until U. B has run until T. */
static struct program held_program(enum segment_role role)
{
	struct program program = program__begin(true);
	uint32_t object = put_socket(&program);
	struct record_interval wait = BLOCKED(1, 0, 10 * MS, 61 * MS, .class = CLASS_OTHER,
					      .syscall = SYS_recvfrom, .object = object);

	program__threads(&program, 2);
	wait.waker_context = WAKER_SOFTIRQ;
	wait.sender = role == SEGMENT_DATA ? 2 : 0;
	synthetic__interval(&program.made, wait);
	put_wake(&program, &wait, "net_rx_action");
	program__wait(&program, 2, 1, T, 90 * MS);
	synthetic__put(
		&program.made,
		(struct record){.type = RECORD_SEGMENT,
				.segment = {.thread = 1,
					    .writer = 2,
					    .time = START + 61 * MS,
					    .written = role == SEGMENT_SPACE ? 0 : 61 * MS - T,
					    .left = 61 * MS - U,
					    .reasons = {HOLD_NAGLE_DELAYED, HOLD_TIMEOUT},
					    .until = {61 * MS - 45 * MS, 61 * MS - U},
					    .role = role,
					    .object = object}});
	return program;
}

static uint64_t wait_time(const struct found *found, const char *kind)
{
	uint64_t ns = 0;

	for (size_t i = 1; i < found->path.tree.nodes.n; i++) {
		const struct path_node *node = &found->path.tree.nodes.data[i];

		if (node->type == PATH_NODE_WAIT && !strcmp(kind__name(node->kind), kind))
			ns += node->total_ns;
	}
	return ns;
}

/* Until T it is B's doing, then TCP's, for two reasons; the rest is the way. */
static void a_wait_is_divided(void **state)
{
	struct program program = held_program(SEGMENT_DATA);
	_cleanup_found_ struct found found = program__path(&program, 100 * MS);

	assert_int_equal(found.err, 0);
	check_conservation(&found.path);
	assert_int_equal(found.path.ns[PATH_TCP], U - T);
	assert_int_equal(found.path.ns[PATH_DELIVERY], 61 * MS - U);
	assert_int_equal(wait_time(&found, "tcp held back"), 45 * MS - T);
	assert_int_equal(wait_time(&found, "tcp retransmission"), U - 45 * MS);
	/* What B did: it ran. */
	assert_int_equal(wait_time(&found, "tcp receive"), T - 10 * MS + 61 * MS - U);
	assert_int_equal(found.path.ns[PATH_OTHER_PATH], 0);
}

/* What a sender waits for begins with its wait. */
static void a_sender_waits_from_the_beginning(void **state)
{
	struct program program = held_program(SEGMENT_SPACE);
	_cleanup_found_ struct found found = program__path(&program, 100 * MS);

	assert_int_equal(found.err, 0);
	check_conservation(&found.path);
	assert_int_equal(found.path.ns[PATH_TCP], U - 10 * MS);
}

/* Most of the wait was held back: that is its kind, and its object says why. */
static void the_kind_is_what_took_most(void **state)
{
	struct program program = held_program(SEGMENT_DATA);
	_cleanup_model_ struct model *model = synthetic__load(&program.made, 100 * MS);
	_cleanup_kinds_ struct kinds *kinds = NULL;
	const struct model_thread *a = &model->threads.data[index_of(model, 1)];
	const struct model_interval *interval = &a->intervals.data[0];
	const struct wait_description description = {.class = interval->class,
						     .syscall = interval->syscall,
						     .object = model_interval__object(interval)};
	char text[256];

	assert_int_equal(kinds__new(model, &kinds), 0);
	kind__describe(model, kinds__of(kinds, &description), model_interval__object(interval),
		       text, sizeof(text));
	assert_string_equal(text, "tcp held back 10.0.0.2:5432 (Nagle until a delayed "
				  "acknowledgement, no TCP_NODELAY)");
}

static uint64_t edge_ns(const struct waitgraph *graph, const char *from, const char *to)
{
	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (!strcmp(waitgraph_vertex__name(graph, &graph->vertices.data[edge->from]),
			    from) &&
		    !strcmp(waitgraph_vertex__name(graph, &graph->vertices.data[edge->to]), to))
			return edge->plain_ns;
	}
	return 0;
}

/* TCP is a vertex of its own, idle while it has nothing to hold back that is waited for. */
static void tcp_is_a_vertex(void **state)
{
	struct program program = held_program(SEGMENT_DATA);
	_cleanup_model_ struct model *model = synthetic__load(&program.made, 100 * MS);
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct waitgraph_options options = {};
	struct waitgraph graph = {};

	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(waitgraph__make(model, kinds, &options, &graph), 0);
	assert_int_equal(edge_ns(&graph, "A", "tcp held back"), 45 * MS - T);
	assert_int_equal(edge_ns(&graph, "A", "tcp retransmission"), U - 45 * MS);
	assert_int_equal(edge_ns(&graph, "A", "B"), T - 10 * MS + 61 * MS - U);
	assert_int_equal(edge_ns(&graph, "tcp held back", "B"), T);
	for (size_t i = 0; i < graph.vertices.n; i++)
		if (graph.vertices.data[i].type == CAUSE_TCP)
			assert_int_equal(graph.vertices.data[i].running_ns +
						 graph.vertices.data[i].blocked_ns,
					 graph.vertices.data[i].lifetime_ns);
	waitgraph__free(&graph);
}

/* A wakeup of A by the stack @kernel, in @context, while B ran in the function victim. */
static struct model *interrupted(enum waker_context context, const char *const *kernel)
{
	struct program program = program__begin(true);
	struct record_interval wait = WAIT(1, 2, 10 * MS, 60 * MS);

	program__threads(&program, 2);
	wait.waker_context = context;
	synthetic__interval(&program.made, wait);
	synthetic__put(
		&program.made,
		(struct record){.type = RECORD_WAKE,
				.wake = {.thread = 1,
					 .waker = 2,
					 .context = context,
					 .kernel_stack = program__stack(&program, true, kernel),
					 .user_stack = USER(&program, "victim"),
					 .time = START + 60 * MS}});
	return synthetic__load(&program.made, 100 * MS);
}

/* The name of the outermost kernel frame of A's wakeup. */
static const char *outermost(const struct model *model)
{
	const struct model_thread *a = &model->threads.data[index_of(model, 1)];
	const struct model_stack *stack = &model->stacks.data[a->wakes.data[0].kernel];
	const struct model_location *at = model__location(model, stack, stack->depth - 1U);

	return model__string(model, model->frames.data[at->frame].name);
}

static void who_is_interrupted_is_no_waker(void **state)
{
	static const struct {
		enum waker_context context;
		const char *kernel[8];
		const char *outermost;
	} cases[] = {
		{WAKER_HARDIRQ,
		 {"hrtimer_wakeup", "sysvec_apic_timer_interrupt",
		  "asm_sysvec_apic_timer_interrupt", "victim_call"},
		 "asm_sysvec_apic_timer_interrupt"},
		{WAKER_SOFTIRQ,
		 {"process_timeout", "handle_softirqs", "__irq_exit_rcu",
		  "sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt", "victim_call"},
		 "asm_sysvec_apic_timer_interrupt"},
		/* It was sending, but an interrupt came. */
		{WAKER_SOFTIRQ,
		 {"net_rx_action", "__do_softirq", "irq_exit_rcu", "common_interrupt",
		  "asm_common_interrupt", "__dev_queue_xmit", "victim_call"},
		 "asm_common_interrupt"},
		{WAKER_SOFTIRQ,
		 {"process_timeout", "__do_softirq", "do_softirq.part.0", "__local_bh_enable_ip",
		  "victim_call"},
		 "do_softirq.part.0"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_model_ struct model *model =
			interrupted(cases[i].context, cases[i].kernel);
		const struct model_thread *a = &model->threads.data[index_of(model, 1)];

		assert_string_equal(outermost(model), cases[i].outermost);
		assert_int_equal(a->wakes.data[0].waker, 0);
		assert_int_equal(a->wakes.data[0].user, 0);
		assert_int_equal(a->intervals.data[0].waker, 0);
	}
}

/* Over loopback, the soft interrupt runs in the sender's own context. */
static void who_sends_over_loopback_is_the_waker(void **state)
{
	static const char *const kernel[] = {"sock_def_readable",
					     "net_rx_action",
					     "__do_softirq",
					     "do_softirq",
					     "__dev_queue_xmit",
					     "sender_call",
					     NULL};
	_cleanup_model_ struct model *model = interrupted(WAKER_SOFTIRQ, kernel);
	const struct model_thread *a = &model->threads.data[index_of(model, 1)];

	assert_string_equal(outermost(model), "sender_call");
	assert_int_equal(a->wakes.data[0].waker, index_of(model, 2));
	assert_int_not_equal(a->wakes.data[0].user, 0);
	assert_int_equal(a->intervals.data[0].waker, index_of(model, 2));
}

static void every_reason_has_a_kind_and_a_text(void **state)
{
	for (int i = HOLD_NONE + 1; i < HOLD_COUNT; i++) {
		const struct model_object object = {.hold = (uint8_t)i};
		char text[160];

		tcp_hold__text(NULL, &object, text, sizeof(text));
		assert_true(*text);
		assert_int_not_equal(tcp_hold__kind((enum hold_reason)i), KIND_NONE);
		for (int other = HOLD_NONE; other < i; other++)
			assert_string_not_equal(tcp_hold__name((enum hold_reason)i),
						tcp_hold__name((enum hold_reason)other));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_divided),
		cmocka_unit_test(a_sender_waits_from_the_beginning),
		cmocka_unit_test(the_kind_is_what_took_most),
		cmocka_unit_test(tcp_is_a_vertex),
		cmocka_unit_test(who_is_interrupted_is_no_waker),
		cmocka_unit_test(who_sends_over_loopback_is_the_waker),
		cmocka_unit_test(every_reason_has_a_kind_and_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
