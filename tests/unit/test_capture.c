// SPDX-License-Identifier: BSD-2-Clause
/* A capture without a recording: a sink sees events while the command still runs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "collect/programs/record_programs.h"

/* What a live view would keep. */
struct live {
	struct capture *capture;
	struct record_programs programs;
	uint64_t events[16];	 /* by type */
	uint64_t before_the_end; /* intervals seen while the command ran */
	uint64_t mappings;
	uint64_t ticks;
	uint64_t end;
	bool ended;	/* on_end() was called, */
	bool after_end; /* and an event came that it did not hand in */
	bool handing_in;
	uint64_t stop_after;		    /* ticks; 0: never */
	atomic_uint signals;		    /* to forward */
	uint64_t named_before, named_after; /* paths of files that end in these names */
};

static bool is_named(const struct event_file *file, const char *name)
{
	return file->size > strlen(name) && !strcmp(file->names, name);
}

static void on_event(void *arg, const struct event_header *event, size_t size)
{
	struct live *live = arg;

	assert_true(size >= sizeof(*event));
	assert_in_range(event->type, 1, 15);
	assert_int_not_equal(event->type, EVENT_DEFERRED);
	live->events[event->type]++;
	if (event->type == EVENT_FILE) {
		live->named_before += is_named((const void *)event, "before");
		live->named_after += is_named((const void *)event, "after");
	}
	if (event->type == EVENT_INTERVAL && !capture__command_ended(live->capture))
		live->before_the_end++;
	live->after_end |= live->ended && !live->handing_in && event->type != EVENT_STACKS;
}

static void on_mapping(void *arg, const struct code_mapping *mapping)
{
	struct live *live = arg;

	assert_non_null(mapping->origin);
	assert_non_null(mapping->origin->path);
	assert_true(mapping->size > 0);
	live->mappings++;
}

static uint64_t on_tick(void *arg, uint64_t now)
{
	struct live *live = arg;

	live->ticks++;
	if (live->stop_after && live->ticks >= live->stop_after)
		return 0;
	return now + 20000000;
}

static int on_end(void *arg, uint64_t end)
{
	struct live *live = arg;
	int err;

	assert_false(live->ended);
	live->ended = live->handing_in = true;
	live->end = end;
	err = record_programs__end(&live->programs, live->capture, end);
	live->handing_in = false;
	return err;
}

/* Captures @argv; false without the privileges. */
static bool run(struct live *live, char *const *argv)
{
	const struct capture_config config = {
		.target = CAPTURE_COMMAND,
		.argv = argv,
		.to_forward = &live->signals,
		.period_ns = 1000000,
		.table_bytes = 64 << 20,
	};
	const struct capture_sink sink = {on_event, on_mapping, on_tick, on_end, NULL, live};
	const struct loader_object object = record_programs__loader(&live->programs);
	volatile sig_atomic_t stop = 0;
	uint64_t end = 0;

	if (capture__new(&config, &object, &sink, &live->capture))
		return false;
	assert_int_equal(capture__run(live->capture, &stop), 0);
	assert_int_equal(capture__finish(live->capture, &end), 0);
	assert_int_equal(end, live->end);
	return true;
}

static void release(struct live *live)
{
	int exec_error;

	capture__command_status(live->capture, &exec_error);
	capture__free(live->capture);
	assert_null(live->programs.skeleton);
}

static void events_come_while_the_command_runs(void **state)
{
	char *argv[] = {"sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done", NULL};
	struct live live = {};

	bool was_live = false;

	if (geteuid())
		skip();
	/* On a busy machine, a run may end before this test gets a CPU again. */
	for (int i = 0; i < 8 && !was_live; i++) {
		live = (struct live){};
		assert_true(run(&live, argv));
		assert_true(live.events[EVENT_EXEC] >= 8);
		assert_true(live.events[EVENT_THREAD] >= 9);
		assert_true(live.events[EVENT_TOTALS] >= 9);
		assert_true(live.mappings >= 9);
		assert_true(live.ended);
		assert_false(live.after_end);
		/* Each sleep holds 100 sampling points. */
		was_live = live.before_the_end >= 3 && live.ticks >= 3;
		release(&live);
	}
	assert_true(was_live);
}

static void the_sink_can_end_it(void **state)
{
	char *argv[] = {"sleep", "60", NULL};
	struct live live = {.stop_after = 5};

	if (geteuid())
		skip();
	assert_true(run(&live, argv));
	assert_int_equal(live.ticks, 5);
	assert_false(capture__command_ended(live.capture));
	/* The sleep goes on, so its wait is handed in unfinished, with its totals. */
	assert_true(live.events[EVENT_INTERVAL] >= 1);
	assert_true(live.events[EVENT_TOTALS] >= 1);
	live.signals = 1U << SIGTERM;
	release(&live);
}

static void several_captures_at_once(void **state)
{
	char *argv[] = {"sleep", "0.2", NULL};
	struct live first = {}, second = {};

	if (geteuid())
		skip();
	assert_true(run(&first, argv));
	assert_true(run(&second, argv));
	assert_true(first.events[EVENT_INTERVAL] >= 1);
	assert_true(second.events[EVENT_INTERVAL] >= 1);
	release(&first);
	release(&second);
}

/* A process waits for a pipe twice, which has another name the second time. */
static void a_renamed_file_has_both_paths(void **state)
{
	char *argv[] = {"sh", "-c",
			"dir=$(mktemp -d) && cd $dir && mkfifo before || exit\n"
			"(sleep 0.1; echo) > before & read line < before\n"
			"mv before after\n"
			"(sleep 0.1; echo) > after & read line < after\n"
			"rm after; rmdir $dir",
			NULL};
	struct live live = {};

	if (geteuid())
		skip();
	assert_true(run(&live, argv));
	assert_int_equal(live.named_before, 1);
	assert_int_equal(live.named_after, 1);
	release(&live);
}

/* A sink that falls behind the program, and so reads one event after the other until it ends. */
struct slow {
	struct live live;
	bool has_slept;
	unsigned int intervals, not_walked;
};

static void on_event_slowly(void *arg, const struct event_header *event, size_t size)
{
	const struct event_interval *interval = (const void *)event;
	struct slow *slow = arg;

	if (event->type == EVENT_EXEC && !slow->has_slept)
		usleep(200000);
	slow->has_slept |= event->type == EVENT_EXEC;
	if (event->type != EVENT_INTERVAL || size < sizeof(*interval))
		return;
	slow->intervals++;
	slow->not_walked += interval->stack.user_end == STACK_NO_MAPPING ||
			    interval->stack.user_end == STACK_NO_TABLE;
	usleep(250);
}

/* The share of the stacks of a program that were not walked to their end by the kernel side. */
static double share_not_walked(struct slow *slow)
{
	/* No table of perl is there before it runs. */
	char *argv[] = {"sh", "-c",
			"exec perl -e 'select undef, undef, undef, 0.0001 for 1 .. 6000'", NULL};
	const struct capture_config config = {.target = CAPTURE_COMMAND,
					      .argv = argv,
					      .trace = true,
					      .to_forward = &slow->live.signals,
					      .period_ns = 1000000,
					      .table_bytes = 64 << 20};
	const struct capture_sink sink = {on_event_slowly, on_mapping, on_tick, on_end, NULL, slow};
	const struct loader_object object = record_programs__loader(&slow->live.programs);
	volatile sig_atomic_t stop = 0;
	uint64_t end;

	assert_int_equal(capture__new(&config, &object, &sink, &slow->live.capture), 0);
	assert_int_equal(capture__run(slow->live.capture, &stop), 0);
	assert_int_equal(capture__finish(slow->live.capture, &end), 0);
	release(&slow->live);
	assert_true(slow->intervals >= 6000);
	return (double)slow->not_walked / slow->intervals;
}

/* The kernel side gets the program's mappings meanwhile, and does not defer walks for ever. */
static void mappings_do_not_wait_for_the_last_event(void **state)
{
	double share = 1;

	if (geteuid())
		skip();
	/* On a busy machine, the table of perl may come when it has ended. */
	for (int i = 0; i < 8 && share >= 0.5; i++) {
		struct slow slow = {};

		share = share_not_walked(&slow);
	}
	assert_true(share < 0.5);
}

static const void *no_elf(size_t *size)
{
	*size = 0;
	return NULL;
}

static int refuse_kernel(void *arg, const struct kernel_info *kernel,
			 const struct bpf_object_open_opts *options,
			 struct bpf_object_skeleton **out)
{
	++*(int *)arg;
	return error__set(-ENOTSUP, "this kernel has no wheels");
}

static void close_nothing(void *arg)
{
}

/* What a product says of a kernel that lacks what it needs is the answer, whatever the rung. */
static void a_product_can_refuse_the_kernel(void **state)
{
	char *argv[] = {"true", NULL};
	const struct capture_config config = {.target = CAPTURE_COMMAND,
					      .argv = argv,
					      .period_ns = 1000000,
					      .table_bytes = 64 << 20};
	struct live live = {};
	const struct capture_sink sink = {on_event, on_mapping, on_tick, on_end, NULL, &live};
	int opened = 0;
	const struct loader_object object = {no_elf, refuse_kernel, close_nothing, &opened};

	if (geteuid())
		skip();
	assert_int_equal(capture__new(&config, &object, &sink, &live.capture), -ENOTSUP);
	assert_string_equal(error__message(-ENOTSUP), "this kernel has no wheels");
	assert_int_equal(opened, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_while_the_command_runs),
		cmocka_unit_test(the_sink_can_end_it),
		cmocka_unit_test(several_captures_at_once),
		cmocka_unit_test(a_renamed_file_has_both_paths),
		cmocka_unit_test(mappings_do_not_wait_for_the_last_event),
		cmocka_unit_test(a_product_can_refuse_the_kernel),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
