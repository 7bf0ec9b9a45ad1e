// SPDX-License-Identifier: BSD-2-Clause
/* Peers that were not recorded are vertices: their waits, and what limits who asks them. */
#include "tests/unit/waits_support.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "render/waits/waits.h"

#define END	 (100 * MS) /* of every recording here */
#define DATABASE "10.0.0.2:5432"
#define RECEIVE	 45 /* recvfrom */

static uint32_t put_socket(struct program *program, const char *peer, enum socket_side side)
{
	struct record_object socket = {.type = OBJECT_SOCKET,
				       .id = 1 + side,
				       .family = AF_INET,
				       .protocol = IPPROTO_TCP,
				       .side = side};

	socket.name = synthetic__string(&program->made, peer);
	socket.local = synthetic__string(
		&program->made, side == SOCKET_SIDE_CLIENT ? "10.0.0.1:40000" : "10.0.0.1:80");
	return record_stream__object(recording_writer__stream(program->made.writer), &socket);
}

/* @thread waits at @socket, until a packet comes. */
static void put_receive(struct program *program, uint32_t thread, uint32_t socket, uint64_t begin,
			uint64_t end)
{
	/* Without a stack, it would be taken for the wait before it. */
	uint32_t user = USER(program, "receive", "main");

	synthetic__interval(&program->made, (struct record_interval){.thread = thread,
								     .waker_context = WAKER_SOFTIRQ,
								     .class = CLASS_OTHER,
								     .syscall = RECEIVE,
								     .t_out = begin,
								     .blocked_ns = end - begin,
								     .object = socket,
								     .user_stack = user});
	program__wake(program, thread, 0, end, KERNEL(program, "net_rx_action"), 0);
}

/* In each of ten rounds, @thread runs first, and then waits for @waits_ns. */
static void put_rounds(struct program *program, uint32_t thread, uint32_t socket, uint64_t waits_ns)
{
	for (uint64_t at = 10 * MS; at <= END; at += 10 * MS)
		put_receive(program, thread, socket, at - waits_ns, at);
	program__ran(program, thread, END, 10 * waits_ns);
}

static struct analysis judge(struct program *program, const struct waitgraph_options *options)
{
	struct analysis analysis = program__analyse(program, END, options);

	assert_int_equal(bottlenecks__find(&analysis.graph, 0.2, &analysis.found), 0);
	return analysis;
}

static void tell(const struct analysis *analysis, char text[static 2048])
{
	static const struct sample_filter filter = {};
	const struct waits waits = {.filter = &filter,
				    .percent_limit = 1,
				    .model = analysis->graph.model,
				    .graph = &analysis->graph,
				    .bottlenecks = &analysis->found};

	verdict__text(&waits, bottlenecks__first(&analysis->found), text, 2048);
}

static void check_times(const struct waitgraph_vertex *vertex, uint64_t running, uint64_t blocked)
{
	assert_true(vertex->inferred && !vertex->recorded);
	assert_false(waitgraph_vertex__outside(vertex));
	assert_int_equal(vertex->running_ns, running);
	assert_int_equal(vertex->blocked_ns, blocked);
	assert_int_equal(vertex->lifetime_ns, running + blocked);
}

/* Two threads ask a database all the time, and compute for a tenth of it. */
static void who_asks_and_the_database_are_a_knot(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;
	char text[2048];

	program__threads(&program, 2);
	put_rounds(&program, 1, socket, 9 * MS);
	put_rounds(&program, 2, socket, 9 * MS);
	analysis = judge(&program, NULL);
	assert_int_equal(plain_of(&analysis, "A", DATABASE), 90 * MS);
	assert_int_equal(plain_of(&analysis, DATABASE, "A"), 9 * MS);
	assert_int_equal(weight_of(&analysis, "B", DATABASE), 90 * MS);
	assert_int_equal(weight_of(&analysis, DATABASE, "B"), 9 * MS);
	assert_true(waitgraph_edge__is_idle(find_edge(&analysis, DATABASE, "A")));
	check_times(vertex_of(&analysis, DATABASE), 180 * MS, 18 * MS);
	first = bottlenecks__first(&analysis.found);
	assert_non_null(first);
	assert_ptr_equal(first, bottleneck_of(&analysis, DATABASE));
	assert_int_equal(first->type, BOTTLENECK_KNOT);
	assert_int_equal(first->members.n, 3);
	assert_int_equal(first->edges.n, 4);
	assert_true(first->has_peer && first->active > 0.99);
	tell(&analysis, text);
	assert_string_equal(text,
			    "A, B and " DATABASE " wait for each other, and for nothing else. At "
			    "least one of them is busy 100% of the time. What " DATABASE
			    " does was not recorded: while recorded threads wait for it, it counts "
			    "as busy, and otherwise as waiting for requests.");
}

/* From the same waits, by sampling points: a peer's times are estimated as its edges are. */
static void sampled_peers_have_the_times_of_their_edges(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	const struct waitgraph_options options = {.sampled = true};
	_cleanup_analysis_ struct analysis analysis = {};
	const struct waitgraph_vertex *database;

	program__threads(&program, 1);
	put_rounds(&program, 1, socket, 6 * MS);
	analysis = judge(&program, &options);
	database = vertex_of(&analysis, DATABASE);
	assert_false(analysis.graph.exact);
	assert_int_equal(database->blocked_ns, plain_of(&analysis, DATABASE, "A"));
	assert_int_equal(database->running_ns + database->blocked_ns, 96 * MS);
	/* A point in each ms, so that each wait and each gap has as many as it is long, or one less
	 * or more. */
	assert_true(database->blocked_ns > 36 * MS - 9 * 2 * MS &&
		    database->blocked_ns < 36 * MS + 9 * 2 * MS);
}

/* What cascades to a thread is not counted twice because of its connection. */
static void a_connection_adds_no_weight(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 2);
	put_receive(&program, 1, socket, 0, 40 * MS);
	program__wait(&program, 1, 2, 40 * MS, 90 * MS);
	put_receive(&program, 1, socket, 90 * MS, END);
	analysis = judge(&program, NULL);
	assert_int_equal(weight_of(&analysis, "A", "B"), 50 * MS);
	assert_int_equal(plain_of(&analysis, DATABASE, "A"), 50 * MS);
}

/* A server waits for its clients, which are not recorded: they are not what limits it. */
static void clients_are_no_bottleneck(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, "10.0.0.3:40000", SOCKET_SIDE_SERVER);
	_cleanup_analysis_ struct analysis analysis = {};
	char text[2048];

	program__threads(&program, 1);
	put_rounds(&program, 1, socket, 9 * MS);
	analysis = judge(&program, NULL);
	assert_true(waitgraph_vertex__outside(vertex_of(&analysis, "10.0.0.3:40000")));
	assert_null(find_edge(&analysis, "10.0.0.3:40000", "A"));
	tell(&analysis, text);
	assert_string_equal(text, "A waits for the network, 90% of the time for work. It is busy "
				  "10% of the time.");
}

/* It also asks a database, for a part of the time in which little can be gained. */
static void nor_is_what_is_asked_in_between(void **state)
{
	struct program program = program__begin(true);
	uint32_t client = put_socket(&program, "10.0.0.3:40000", SOCKET_SIDE_SERVER);
	uint32_t database = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 1);
	for (uint64_t at = 0; at < END; at += 10 * MS) {
		put_receive(&program, 1, client, at, at + 7 * MS);
		put_receive(&program, 1, database, at + 7 * MS, at + 9 * MS);
	}
	program__ran(&program, 1, END, 90 * MS);
	analysis = judge(&program, NULL);
	assert_true(vertex_of(&analysis, DATABASE)->inferred);
	assert_int_equal(plain_of(&analysis, "A", DATABASE), 20 * MS);
	assert_null(bottleneck_of(&analysis, DATABASE));
	first = bottlenecks__first(&analysis.found);
	assert_non_null(first);
	assert_int_equal(first->type, BOTTLENECK_OUTSIDE);
}

/* It computes for longer than it waits: that is what limits it. */
static void who_works_more_than_it_asks_is_a_sink(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 2);
	put_rounds(&program, 1, socket, 2 * MS);
	program__wait(&program, 2, 1, 0, END);
	program__ran(&program, 2, END, END);
	analysis = judge(&program, NULL);
	first = bottlenecks__first(&analysis.found);
	assert_non_null(first);
	assert_int_equal(first->type, BOTTLENECK_WORK);
	assert_ptr_equal(first, bottleneck_of(&analysis, "A"));
	assert_false(first->has_peer);
}

/* B asks the same database, for @part_ns in all, and sleeps else. */
static void check_seldom_asker(uint64_t part_ns)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};
	const struct bottleneck *first;

	program__threads(&program, 2);
	put_rounds(&program, 1, socket, 9 * MS);
	put_receive(&program, 2, socket, 0, part_ns / 2);
	put_receive(&program, 2, socket, END - part_ns / 2, END);
	synthetic__interval(&program.made,
			    (struct record_interval){.thread = 2,
						     .waker_context = WAKER_HARDIRQ,
						     .class = CLASS_OTHER,
						     .syscall = 230, /* clock_nanosleep */
						     .t_out = part_ns / 2,
						     .blocked_ns = END - part_ns});
	program__ran(&program, 2, END, END);
	analysis = judge(&program, NULL);
	first = bottlenecks__first(&analysis.found);
	assert_non_null(first);
	assert_int_equal(first->members.n, 2);
	assert_ptr_equal(first, bottleneck_of(&analysis, "A"));
	assert_ptr_equal(first, bottleneck_of(&analysis, DATABASE));
}

/* It is not what the database waits for, though that waits most of the time for its requests. */
static void who_seldom_asks_is_in_no_knot(void **state)
{
	check_seldom_asker(2 * MS);
	check_seldom_asker(10 * MS);
}

/* What was recorded goes first: B is busy as well, and that is known. */
static void what_was_recorded_goes_first(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 2);
	put_rounds(&program, 1, socket, 9 * MS);
	program__ran(&program, 2, END, 0);
	analysis = judge(&program, NULL);
	assert_int_equal(analysis.found.all.n, 2);
	assert_ptr_equal(&analysis.found.all.data[0], bottleneck_of(&analysis, "B"));
	assert_ptr_equal(&analysis.found.all.data[1], bottleneck_of(&analysis, DATABASE));
}

/* Threads @first to @first + 1 of a process that was not recorded. */
static void put_unrecorded(struct program *program, uint32_t first, uint32_t flags)
{
	for (uint32_t i = 0; i < 2; i++)
		synthetic__put(
			&program->made,
			(struct record){.type = RECORD_THREAD,
					.thread = {.thread = first + i,
						   .tid = 7 + i,
						   .tgid = 7,
						   .flags = flags,
						   .comm = synthetic__string(
							   &program->made, i ? "worker" : "mysqld"),
						   .time = START}});
}

/* Its threads answer A at a socket: they are one peer, by the name of the process. */
static void a_local_process_is_a_peer(void **state)
{
	for (int at_socket = 0; at_socket < 2; at_socket++) {
		struct program program = program__begin(true);
		uint32_t socket =
			at_socket ? put_socket(&program, "127.0.0.1:3306", SOCKET_SIDE_CLIENT) : 0;
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 1);
		put_unrecorded(&program, 2, 0);
		for (uint32_t i = 0; i < 10; i++)
			synthetic__interval(&program.made,
					    BLOCKED(1, 2 + i % 2, i * 10 * MS + MS,
						    (i + 1) * 10 * MS, .class = CLASS_OTHER,
						    .syscall = at_socket ? RECEIVE : -1,
						    .object = socket));
		program__ran(&program, 1, END, 90 * MS);
		analysis = judge(&program, NULL);
		if (!at_socket) { /* a pipe, a futex, ...: nobody knows who waits for whom then */
			assert_int_equal(find_vertex(&analysis, "mysqld (pid 7)"), NOWHERE);
			assert_true(waitgraph_vertex__outside(vertex_of(&analysis, "mysqld")));
			continue;
		}
		assert_int_equal(plain_of(&analysis, "A", "mysqld (pid 7)"), 90 * MS);
		check_times(vertex_of(&analysis, "mysqld (pid 7)"), 90 * MS, 9 * MS);
		assert_int_equal(vertex_of(&analysis, "mysqld (pid 7)")->pid, 7);
		assert_ptr_equal(bottlenecks__first(&analysis.found),
				 bottleneck_of(&analysis, "mysqld (pid 7)"));
	}
}

/* A signal that ends a wait at a socket is no answer, nor is one that ends a wait for clients. */
static void who_sends_a_signal_is_no_peer(void **state)
{
	static const struct {
		int32_t syscall;
		const char *wake;
		bool is_peer;
	} cases[] = {
		{RECEIVE, "sock_def_readable", true},
		{RECEIVE, "complete_signal", false},
		{43 /* accept */, "sock_def_readable", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct program program = program__begin(true);
		uint32_t socket = put_socket(&program, "127.0.0.1:3306", SOCKET_SIDE_CLIENT);
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 1);
		put_unrecorded(&program, 2, 0);
		synthetic__interval(&program.made,
				    BLOCKED(1, 2, MS, 90 * MS, .class = CLASS_OTHER,
					    .syscall = cases[i].syscall, .object = socket));
		program__wake(&program, 1, 2, 90 * MS, KERNEL(&program, cases[i].wake), 0);
		program__ran(&program, 1, END, 89 * MS);
		analysis = judge(&program, NULL);
		if ((find_vertex(&analysis, "mysqld (pid 7)") != NOWHERE) != cases[i].is_peer)
			fail_msg("%s is %s", cases[i].wake,
				 cases[i].is_peer ? "no peer" : "a peer");
	}
}

/*
 * Where the wakeup is not that of who sent, only the address is known: it is the same peer. If
 * several processes answer from it, it is the address.
 */
static void a_peer_has_one_name(void **state)
{
	for (uint32_t others = 0; others < 2; others++) {
		struct program program = program__begin(true);
		uint32_t socket = put_socket(&program, "127.0.0.1:3306", SOCKET_SIDE_CLIENT);
		const char *name = others ? "127.0.0.1:3306" : "mysqld (pid 7)";
		_cleanup_analysis_ struct analysis analysis = {};

		program__threads(&program, 1);
		put_unrecorded(&program, 2, 0);
		if (others)
			synthetic__put(&program.made,
				       (struct record){.type = RECORD_THREAD,
						       .thread = {.thread = 4,
								  .tid = 9,
								  .tgid = 9,
								  .comm = synthetic__string(
									  &program.made, "mysqld"),
								  .time = START}});
		put_receive(&program, 1, socket, 0, 30 * MS);
		for (uint32_t i = 0; i < 2; i++)
			synthetic__interval(&program.made,
					    BLOCKED(1, i && others ? 4 : 2, (40 + 30 * i) * MS,
						    (60 + 30 * i) * MS, .class = CLASS_OTHER,
						    .syscall = RECEIVE, .object = socket));
		program__ran(&program, 1, END, 70 * MS);
		analysis = judge(&program, NULL);
		assert_int_equal(plain_of(&analysis, "A", name), 70 * MS);
		assert_int_equal(plain_of(&analysis, name, "A"), 20 * MS);
		assert_int_equal(vertex_of(&analysis, name)->pid, others ? 0 : 7);
	}
}

/* Those that were recorded stay threads. */
static void who_was_recorded_is_no_peer(void **state)
{
	struct program program = program__begin(true);
	uint32_t socket = put_socket(&program, "127.0.0.1:3306", SOCKET_SIDE_CLIENT);
	_cleanup_analysis_ struct analysis analysis = {};

	program__threads(&program, 1);
	put_unrecorded(&program, 2, THREAD_TARGET);
	synthetic__interval(&program.made, BLOCKED(1, 3, 10 * MS, 90 * MS, .class = CLASS_OTHER,
						   .syscall = RECEIVE, .object = socket));
	analysis = judge(&program, NULL);
	assert_int_equal(plain_of(&analysis, "A", "worker"), 80 * MS);
	for (size_t v = 0; v < analysis.graph.vertices.n; v++)
		assert_false(analysis.graph.vertices.data[v].inferred);
}

/* A sends until the window is closed: it waits for who does not read, unless that was recorded. */
static void who_does_not_read_is_waited_for(void **state)
{
	static const struct {
		uint32_t owner_pid;
		const char *vertex;
	} cases[] = {
		{0, DATABASE},
		{7, "sink (pid 7)"},
		{PID, "tcp window closed"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct program program = program__begin(true);
		uint32_t socket = put_socket(&program, DATABASE, SOCKET_SIDE_CLIENT);
		_cleanup_analysis_ struct analysis analysis = {};
		const struct waitgraph_edge *edge;
		struct record_segment segment = {.thread = 1,
						 .time = START + 90 * MS,
						 .left = 0,
						 .reasons = {HOLD_WINDOW},
						 .role = SEGMENT_SPACE,
						 .object = socket,
						 .owner_pid = cases[i].owner_pid};

		if (cases[i].owner_pid)
			segment.owner = synthetic__string(&program.made, "sink");
		program__threads(&program, 1);
		synthetic__interval(&program.made,
				    (struct record_interval){.thread = 1,
							     .waker_context = WAKER_SOFTIRQ,
							     .class = CLASS_OTHER,
							     .syscall = 44, /* sendto */
							     .t_out = 10 * MS,
							     .blocked_ns = 80 * MS,
							     .object = socket});
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_SEGMENT, .segment = segment});
		analysis = judge(&program, NULL);
		edge = find_edge(&analysis, "A", cases[i].vertex);
		if (!edge)
			fail_msg("A does not wait for %s", cases[i].vertex);
		assert_int_equal(edge->plain_ns, 80 * MS);
		assert_int_equal(analysis.graph.causes.data[edge->cause].kind, KIND_TCP_WINDOW);
	}
}

/* A waits in send() until the queue of a device has room, at @socket; @held: by TCP. */
static struct analysis judge_sender(struct program *program, uint32_t socket, bool held)
{
	program__threads(program, 2);
	for (uint64_t at = 0; at < END; at += 20 * MS) {
		struct record_interval wait =
			BLOCKED(1, 2, at + MS, at + 20 * MS, .class = CLASS_OTHER,
				.syscall = 44, /* sendto */
				.object = socket);
		struct record_segment segment = {.thread = 1,
						 .time = START + at + 20 * MS,
						 .reasons = {HOLD_QUEUE},
						 .role = SEGMENT_SPACE,
						 .object = socket};

		/* Whoever sends the next packet may free the last one. */
		wait.waker_context = held ? WAKER_SOFTIRQ : WAKER_TASK;
		wait.user_stack = USER(program, "send", "main");
		synthetic__interval(&program->made, wait);
		if (held)
			synthetic__put(&program->made,
				       (struct record){.type = RECORD_SEGMENT, .segment = segment});
	}
	program__ran(program, 1, END, 95 * MS);
	return judge(program, NULL);
}

/* The queue is a vertex as a disk is: it waits for who sends while it is not waited for. */
static void the_queue_of_a_device_is_a_vertex(void **state)
{
	static const struct {
		uint32_t protocol;
		uint64_t interface;
		const char *name;
	} cases[] = {
		{IPPROTO_TCP, 3, "queue of eth0"},
		{IPPROTO_UDP, 3, "queue of eth0"},
		{IPPROTO_UDP, 0, "queue of a network device"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct program program = program__begin(true);
		struct record_object socket = {.type = OBJECT_SOCKET,
					       .id = 1,
					       .family = AF_INET,
					       .protocol = cases[i].protocol,
					       .extra = cases[i].interface};
		_cleanup_analysis_ struct analysis analysis = {};
		const struct bottleneck *first;

		record_stream__meta(recording_writer__stream(program.made.writer), "interface_3",
				    "eth0");
		socket.name = synthetic__string(&program.made, DATABASE);
		analysis = judge_sender(
			&program,
			record_stream__object(recording_writer__stream(program.made.writer),
					      &socket),
			cases[i].protocol == IPPROTO_TCP);
		assert_int_equal(plain_of(&analysis, "A", cases[i].name), 95 * MS);
		assert_int_equal(plain_of(&analysis, cases[i].name, "A"), 5 * MS);
		assert_int_equal(vertex_of(&analysis, cases[i].name)->type, CAUSE_QUEUE);
		assert_int_equal(vertex_of(&analysis, cases[i].name)->running_ns, 95 * MS);
		first = bottlenecks__first(&analysis.found);
		assert_non_null(first);
		assert_ptr_equal(first, bottleneck_of(&analysis, cases[i].name));
		assert_int_equal(first->type, BOTTLENECK_KNOT);
		assert_int_equal(first->members.n, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asks_and_the_database_are_a_knot),
		cmocka_unit_test(sampled_peers_have_the_times_of_their_edges),
		cmocka_unit_test(a_connection_adds_no_weight),
		cmocka_unit_test(clients_are_no_bottleneck),
		cmocka_unit_test(nor_is_what_is_asked_in_between),
		cmocka_unit_test(who_works_more_than_it_asks_is_a_sink),
		cmocka_unit_test(who_seldom_asks_is_in_no_knot),
		cmocka_unit_test(what_was_recorded_goes_first),
		cmocka_unit_test(a_local_process_is_a_peer),
		cmocka_unit_test(who_sends_a_signal_is_no_peer),
		cmocka_unit_test(a_peer_has_one_name),
		cmocka_unit_test(who_was_recorded_is_no_peer),
		cmocka_unit_test(who_does_not_read_is_waited_for),
		cmocka_unit_test(the_queue_of_a_device_is_a_vertex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
