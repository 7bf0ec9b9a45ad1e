// SPDX-License-Identifier: BSD-2-Clause
/* Names in the folded lines and the tree of a path: the same for the same thing, however long. */
#include "tests/unit/path_support.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "render/path/path_views.h"

/* What @print prints of @found. */
static char *printed(const struct found *found, int (*print)(const struct path_view *, FILE *))
{
	const struct path_view view = {.model = found->model, .path = &found->path};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(print(&view, to), 0);
	fclose(to);
	return text;
}

static int print_tree(const struct path_view *view, FILE *to)
{
	path_view__tree(view, &view->path->tree, view->path->wall_ns, to);
	return 0;
}

/* A waits in [@begin, @end) for what TCP held back since it had been written. */
static void put_held(struct program *program, uint32_t object, uint64_t begin, uint64_t end)
{
	struct record_interval wait = BLOCKED(1, 0, begin, end, .class = CLASS_OTHER,
					      .syscall = SYS_recvfrom, .object = object);
	struct record_segment segment = {.thread = 1,
					 .writer = 1,
					 .time = START + end,
					 .written = (uint32_t)(end - begin),
					 .reasons = {HOLD_NAGLE_DELAYED},
					 .role = SEGMENT_DATA,
					 .object = object};

	wait.waker_context = WAKER_SOFTIRQ;
	synthetic__interval(&program->made, wait);
	put_wake(program, &wait, "net_rx_action");
	synthetic__put(&program->made, (struct record){.type = RECORD_SEGMENT, .segment = segment});
}

/* TCP held back for 10 and for 30 ms: one name in the folded lines, sums in the tree only. */
static void names_have_no_sums(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	const struct record_object socket = {
		.type = OBJECT_SOCKET,
		.id = 7,
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.side = SOCKET_SIDE_CLIENT,
		.name = record_stream__string(recording_writer__stream(program.made.writer),
					      "10.0.0.2:5432")};
	uint32_t object =
		record_stream__object(recording_writer__stream(program.made.writer), &socket);
	_cleanup_free_ char *folded = NULL, *tree = NULL;

	program__threads(&program, 1);
	put_held(&program, object, 10 * MS, 20 * MS);
	put_held(&program, object, 40 * MS, 70 * MS);
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.path.ns[PATH_TCP], 40 * MS);
	folded = printed(&found, path_view__folded);
	assert_non_null(strstr(folded, ";[TCP] 40000000\n"));
	tree = printed(&found, print_tree);
	assert_non_null(strstr(tree, "[TCP] (2 times, 20.000 ms each)\n"));
}

/* B is not waited for: it had the CPU. C is. */
static void who_had_the_cpu_is_told_apart(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	_cleanup_free_ char *folded = NULL;

	program__threads(&program, 3);
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .class = CLASS_SCHED,
								    .flags = INTERVAL_PREEMPTED,
								    .t_out = 20 * MS,
								    .runq_ns = 30 * MS,
								    .syscall = -1,
								    .cpu = 1});
	synthetic__interval(&program.made, WAIT(2, 0, 0, 20 * MS, .cpu = 1));
	synthetic__interval(&program.made, WAIT(2, 0, 50 * MS, 100 * MS));
	program__wait(&program, 1, 3, 60 * MS, 80 * MS);
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.err, 0);
	folded = printed(&found, path_view__folded);
	assert_non_null(strstr(folded, "[preempted];had the CPU: A/100 B/102 30000000\n"));
	assert_non_null(strstr(folded, ";A/100 C/103;"));
	assert_null(strstr(folded, "had the CPU: A/100 C"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_no_sums),
		cmocka_unit_test(who_had_the_cpu_is_told_apart),
	};

	return cmocka_run_group_tests_name("path_folded", tests, NULL, NULL);
}
