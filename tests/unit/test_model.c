// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>

#include "tests/unit/synthetic.h"

#include "base/error.h"

#define PAGE 0x1000ULL

static uint32_t sample_stack(const struct model_thread *thread, size_t i)
{
	assert_true(i < thread->samples.n);
	return thread->samples.data[i].user;
}

static void timelines_are_sorted(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *model;
	const struct model_thread *thread;

	synthetic__sample(&made, 1, 30 * MS, 1, 0, 0);
	synthetic__interval(&made, (struct record_interval){.thread = 1, .t_out = 20 * MS});
	synthetic__interval(&made, (struct record_interval){.thread = 1, .t_out = 10 * MS});
	synthetic__sample(&made, 1, 5 * MS, 2, 0, 0);
	synthetic__comm(&made, 1, 25 * MS, "late");
	synthetic__comm(&made, 1, 15 * MS, "early");
	synthetic__thread(&made, 1, 100, 100, 0, 0, "first");
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_int_equal(thread->samples.n, 2);
	assert_int_equal(thread->samples.data[0].weight, 2);
	assert_int_equal(thread->intervals.data[0].t_out, START + 10 * MS);
	assert_int_equal(thread->intervals.data[1].t_out, START + 20 * MS);
	assert_int_equal(model->n_samples, 2);
	assert_int_equal(model->n_intervals, 2);
	assert_int_equal(model->end - model->start, 100 * MS);
	assert_string_equal(model__string(model, model_thread__comm(thread, 0)), "first");
	assert_string_equal(model__string(model, model_thread__comm(thread, START + 15 * MS - 1)),
			    "first");
	assert_string_equal(model__string(model, model_thread__comm(thread, START + 15 * MS)),
			    "early");
	assert_string_equal(model__string(model, model_thread__comm(thread, START + 99 * MS)),
			    "late");
	model__free(model);
}

static void wakes_join_their_intervals(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t stack = KERNEL_STACK(&made, 0xffffffff81000010);
	struct record wake = {.type = RECORD_WAKE,
			      .wake = {.thread = 1, .waker = 2, .context = WAKER_TASK}};
	struct model *model;
	const struct model_thread *thread;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__thread(&made, 2, 200, 200, 0, 0, "b");
	for (uint64_t i = 0; i < 3; i++)
		synthetic__interval(&made, (struct record_interval){.thread = 1,
								    .t_out = i * 10 * MS,
								    .blocked_ns = 4 * MS,
								    .runq_ns = MS,
								    .waker = 2});
	/* The second one's was lost; one belongs to no interval that was sampled. */
	wake.wake.time = START + 24 * MS;
	wake.wake.kernel_stack = stack;
	synthetic__put(&made, wake);
	wake.wake.time = START + 7 * MS;
	synthetic__put(&made, wake);
	wake.wake.time = START + 4 * MS;
	synthetic__put(&made, wake);
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_int_equal(thread->intervals.data[0].wake, 1);
	assert_int_equal(thread->intervals.data[1].wake, 0);
	assert_int_equal(thread->intervals.data[2].wake, 3);
	assert_int_equal(thread->wakes.data[2].time, START + 24 * MS);
	assert_int_equal(model->threads.data[thread->intervals.data[0].waker].tid, 200);
	model__free(model);
}

/* A process maps one file, forks, and the child runs another program. */
static void mappings_follow_fork_and_exec(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t old = synthetic__dso(&made, "/bin/old");
	uint32_t new = synthetic__dso(&made, "/bin/new");
	uint32_t stack = USER_STACK(&made, 0x400010, 0x400028);
	struct model *model;
	const struct model_thread *parent, *child;

	synthetic__symbol(&made, old, 0x2010, "old_leaf", NULL, 0);
	synthetic__symbol(&made, old, 0x2020, "old_main", NULL, 0);
	synthetic__symbol(&made, new, 0x10, "new_leaf", NULL, 0);
	synthetic__symbol(&made, new, 0x20, "new_main", NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "old");
	synthetic__map(&made, 100, old, 0, 0x400000, PAGE, 0x2000);
	synthetic__thread(&made, 2, 200, 200, 1, 10 * MS, "old");
	synthetic__exec(&made, 2, 200, 20 * MS, "new");
	synthetic__map(&made, 200, new, 21 * MS, 0x400000, PAGE, 0);
	/* Mapped by the parent after the fork: not the child's. */
	synthetic__map(&made, 100, new, 30 * MS, 0x500000, PAGE, 0);
	synthetic__sample(&made, 1, 25 * MS, 1, 0, stack);
	synthetic__sample(&made, 2, 15 * MS, 1, 0, stack);
	synthetic__sample(&made, 2, 25 * MS, 1, 0, stack);
	synthetic__sample(&made, 2, 35 * MS, 1, 0, USER_STACK(&made, 0x500010));
	/* The new program runs, and its mapping is not reported yet. */
	synthetic__sample(&made, 2, 20 * MS + 1, 1, 0, stack);
	model = synthetic__load(&made, 100 * MS);
	parent = find_thread(model, 100);
	child = find_thread(model, 200);
	assert_int_not_equal(parent->process, child->process);
	assert_int_equal(model->processes.data[child->process].parent, parent->process);
	assert_string_equal(frame_text(model, sample_stack(parent, 0), 0), "old:old_leaf");
	/* The caller's address is the one it returns to: 0x27 is looked up. */
	assert_string_equal(frame_text(model, sample_stack(parent, 0), 1), "old:old_main");
	assert_string_equal(frame_text(model, sample_stack(child, 0), 0), "old:old_leaf");
	assert_string_equal(frame_text(model, sample_stack(child, 1), 0), "new:new_leaf");
	assert_string_equal(frame_text(model, sample_stack(child, 1), 1), "new:new_main");
	assert_string_equal(frame_text(model, sample_stack(child, 2), 0), "new:new_leaf");
	assert_string_equal(frame_text(model, sample_stack(child, 3), 0), "[unknown]:");
	assert_string_equal(model__string(model, model_thread__comm(child, START + 22 * MS)),
			    "new");
	model__free(model);
}

static void exec_clears_what_was_mapped(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t old = synthetic__dso(&made, "/bin/old");
	uint32_t stack = USER_STACK(&made, 0x400010);
	struct model *model;
	const struct model_thread *thread;

	synthetic__symbol(&made, old, 0x10, "old_leaf", NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "old");
	synthetic__map(&made, 100, old, 0, 0x400000, PAGE, 0);
	synthetic__exec(&made, 1, 100, 20 * MS, "new");
	synthetic__sample(&made, 1, 19 * MS, 1, 0, stack);
	synthetic__sample(&made, 1, 20 * MS, 1, 0, stack);
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_string_equal(frame_text(model, sample_stack(thread, 0), 0), "old:old_leaf");
	assert_string_equal(frame_text(model, sample_stack(thread, 1), 0), "[unknown]:");
	model__free(model);
}

/* A later mapping wins where it lies; what sticks out of the older one goes on. */
static void later_mapping_overrides(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t old = synthetic__dso(&made, "/lib/old.so");
	uint32_t new = synthetic__dso(&made, "/lib/new.so");
	uint32_t stack = USER_STACK(&made, 0x400010, 0x401011, 0x402011);
	struct model *model;
	const struct model_thread *thread;

	synthetic__symbol(&made, old, 0x0010, "left", NULL, 0);
	synthetic__symbol(&made, old, 0x1010, "middle", NULL, 0);
	synthetic__symbol(&made, old, 0x2010, "right", NULL, 0);
	synthetic__symbol(&made, new, 0x7010, "other", NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__map(&made, 100, new, 20 * MS, 0x401000, PAGE, 0x7000);
	synthetic__map(&made, 100, old, 0, 0x400000, 3 * PAGE, 0);
	synthetic__sample(&made, 1, 10 * MS, 1, 0, stack);
	synthetic__sample(&made, 1, 20 * MS, 1, 0, stack);
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_string_equal(frame_text(model, sample_stack(thread, 0), 0), "old.so:left");
	assert_string_equal(frame_text(model, sample_stack(thread, 0), 1), "old.so:middle");
	assert_string_equal(frame_text(model, sample_stack(thread, 0), 2), "old.so:right");
	assert_string_equal(frame_text(model, sample_stack(thread, 1), 0), "old.so:left");
	assert_string_equal(frame_text(model, sample_stack(thread, 1), 1), "new.so:other");
	assert_string_equal(frame_text(model, sample_stack(thread, 1), 2), "old.so:right");
	model__free(model);
}

/* Code may run, and be sampled, before its mapping is reported. */
static void mapping_to_come_serves_earlier_samples(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t dso = synthetic__dso(&made, "/lib/late.so");
	struct model *model;

	synthetic__symbol(&made, dso, 0x10, "f", NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__sample(&made, 1, 10 * MS, 1, 0, USER_STACK(&made, 0x400010));
	synthetic__map(&made, 100, dso, 50 * MS, 0x400000, PAGE, 0);
	model = synthetic__load(&made, 100 * MS);
	assert_string_equal(frame_text(model, sample_stack(find_thread(model, 100), 0), 0),
			    "late.so:f");
	model__free(model);
}

static void pid_is_reused(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t one = synthetic__dso(&made, "/bin/one");
	uint32_t two = synthetic__dso(&made, "/bin/two");
	uint32_t stack = USER_STACK(&made, 0x400010);
	struct model *model;
	const struct model_thread *a = NULL, *b = NULL;

	synthetic__symbol(&made, one, 0x10, "f", NULL, 0);
	synthetic__symbol(&made, two, 0x10, "g", NULL, 0);
	synthetic__thread(&made, 1, 50, 50, 0, 0, "shell");
	synthetic__thread(&made, 2, 100, 100, 1, 10 * MS, "one");
	synthetic__map(&made, 100, one, 11 * MS, 0x400000, PAGE, 0);
	synthetic__totals(&made, 2, 20 * MS, true, 0, 0, 0, 0, 0);
	synthetic__thread(&made, 3, 100, 100, 1, 30 * MS, "two");
	synthetic__map(&made, 100, two, 31 * MS, 0x400000, PAGE, 0);
	synthetic__sample(&made, 2, 15 * MS, 1, 0, stack);
	synthetic__sample(&made, 3, 35 * MS, 1, 0, stack);
	model = synthetic__load(&made, 100 * MS);
	for (size_t i = 1; i < model->threads.n; i++) {
		a = model->threads.data[i].number == 2 ? &model->threads.data[i] : a;
		b = model->threads.data[i].number == 3 ? &model->threads.data[i] : b;
	}
	assert_int_not_equal(a->process, b->process);
	assert_int_equal(model->processes.data[a->process].ended, START + 20 * MS);
	assert_int_equal(model->processes.data[b->process].ended, MODEL_FOREVER);
	assert_string_equal(frame_text(model, sample_stack(a, 0), 0), "one:f");
	assert_string_equal(frame_text(model, sample_stack(b, 0), 0), "two:g");
	model__free(model);
}

/* After a system call's instruction, its own line is that of the byte before. */
static void system_call_is_looked_up_one_before(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t dso = synthetic__dso(&made, "/bin/a");
	uint32_t stack = USER_STACK(&made, 0x400020);
	struct model *model;
	const struct model_thread *thread;

	synthetic__symbol(&made, dso, 0x10, "before", NULL, 0);
	synthetic__symbol(&made, dso, 0x20, "after", NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__map(&made, 100, dso, 0, 0x400000, PAGE, 0);
	synthetic__interval(
		&made, (struct record_interval){.thread = 1, .syscall = 0, .user_stack = stack});
	synthetic__interval(&made,
			    (struct record_interval){
				    .thread = 1, .t_out = MS, .syscall = -1, .user_stack = stack});
	synthetic__sample(&made, 1, 2 * MS, 1, 0, stack);
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_string_equal(frame_text(model, thread->intervals.data[0].user, 0), "a:before");
	assert_string_equal(frame_text(model, thread->intervals.data[1].user, 0), "a:after");
	assert_string_equal(frame_text(model, sample_stack(thread, 0), 0), "a:after");
	model__free(model);
}

static void tracing_is_cut_off_kernel_stacks(void **state)
{
	static const char *const names[] = {"bpf_prog_1234_on_run", "bpf_trace_run2", "__schedule",
					    "schedule", "do_nanosleep"};
	/* A timer's interrupt came within another hook, which is not cut off. */
	static const char *const waking[] = {"bpf_prog_5678_on_wake", "bpf_trace_run1",
					     "try_to_wake_up",	      "hrtimer_wakeup",
					     "bpf_prog_9_on_request", "bpf_trace_run3"};
	struct synthetic made = synthetic__begin();
	struct record wake = {.type = RECORD_WAKE, .wake = {.thread = 1, .time = START + MS}};
	struct model *model;
	const struct model_thread *thread;
	const struct model_stack *stack;

	for (uint64_t i = 0; i < 5; i++)
		synthetic__symbol(&made, made.kernel_dso, 0x1000 + 16 * i, names[i], NULL, 0);
	for (uint64_t i = 0; i < ARRAY_SIZE(waking); i++)
		synthetic__symbol(&made, made.kernel_dso, 0x2000 + 16 * i, waking[i], NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	for (uint64_t i = 0; i < 2; i++)
		synthetic__interval(&made,
				    (struct record_interval){
					    .thread = 1,
					    .t_out = i * 2 * MS,
					    .blocked_ns = MS,
					    .kernel_stack = KERNEL_STACK(&made, 0x1004, 0x1014,
									 0x1024, 0x1034, 0x1044)});
	wake.wake.kernel_stack =
		KERNEL_STACK(&made, 0x2004, 0x2014, 0x2024, 0x2034, 0x2044, 0x2054);
	synthetic__put(&made, wake);
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	stack = &model->stacks.data[thread->intervals.data[1].kernel];
	assert_int_equal(stack->depth, 3);
	assert_string_equal(frame_text(model, thread->intervals.data[1].kernel, 0),
			    "[kernel]:__schedule");
	stack = &model->stacks.data[thread->wakes.data[0].kernel];
	assert_int_equal(stack->depth, 4);
	assert_string_equal(frame_text(model, thread->wakes.data[0].kernel, 0),
			    "[kernel]:try_to_wake_up");
	model__free(model);
}

/* Whatever numbers a file holds, the model's own can be used without a look. */
static void references_that_do_not_hold(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *model;
	const struct model_thread *thread;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__sample(&made, 1, MS, 1, 77777, 88888);
	synthetic__sample(&made, UINT32_MAX, MS, 1, 0, 0);
	synthetic__sample(&made, 1, 2 * MS, 1, UINT32_MAX, UINT32_MAX);
	synthetic__interval(&made, (struct record_interval){.thread = 1,
							    .waker = UINT32_MAX,
							    .class = 200,
							    .waker_context = 99,
							    .flags = UINT16_MAX,
							    .syscall = INT32_MAX,
							    .t_out = 3 * MS,
							    .blocked_points = 1,
							    .kernel_stack = 4000000000,
							    .object = 12345});
	synthetic__interval(&made, (struct record_interval){.thread = 1,
							    .t_out = UINT64_MAX - 2 * START,
							    .blocked_ns = UINT64_MAX});
	synthetic__interval(&made, (struct record_interval){.thread = 0, .t_out = 3 * MS});
	synthetic__map(&made, 100, 4242, 0, UINT64_MAX - 10, 100, 0);
	synthetic__map(&made, 100, 4242, 0, 0x1000, 100, 0);
	synthetic__map(&made, 999, 4242, 0, 0x1000, 100, 0);
	synthetic__symbol(&made, 4242, 0x10, "nowhere", NULL, 0);
	synthetic__put(&made, (struct record){.type = RECORD_THREAD,
					      .thread = {.thread = 5,
							 .tid = 500,
							 .tgid = 500,
							 .parent = 5,
							 .comm = 424242}});
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_int_equal(thread->samples.n, 2);
	assert_int_equal(thread->samples.data[0].kernel, 0);
	assert_int_equal(thread->samples.data[1].user, 0);
	assert_int_equal(thread->intervals.n, 1);
	assert_int_equal(thread->intervals.data[0].class, CLASS_OTHER);
	assert_int_equal(thread->intervals.data[0].waker, 0);
	assert_int_equal(thread->intervals.data[0].object, 0);
	assert_int_equal(thread->intervals.data[0].syscall, -1);
	assert_int_equal(find_thread(model, 500)->parent, 0);
	assert_true(model->refused >= 4);
	model__free(model);
}

/* The identity of a thread was lost: what it did still counts. */
static void unannounced_thread_is_kept(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *model;

	synthetic__sample(&made, 9, 5 * MS, 3, 0, USER_STACK(&made, 0x400010));
	model = synthetic__load(&made, 100 * MS);
	assert_int_equal(model->threads.n, 2);
	assert_false(model->threads.data[1].announced);
	assert_int_equal(model->threads.data[1].created, START + 5 * MS);
	assert_string_equal(model__string(model, model_thread__comm(&model->threads.data[1], 0)),
			    "[unknown]");
	assert_string_equal(frame_text(model, sample_stack(&model->threads.data[1], 0), 0),
			    "[unknown]:");
	model__free(model);
}

static void truncated_stacks_are_counted(void **state)
{
	struct synthetic made = synthetic__begin();
	static const uint64_t frames[] = {0x400010, 0};
	struct model *model;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__sample(&made, 1, MS, 1, 0,
			  synthetic__stack(&made, false, STACK_NO_TABLE, frames));
	synthetic__sample(&made, 1, 2 * MS, 1, 0, USER_STACK(&made, 0x400020));
	synthetic__interval(
		&made, (struct record_interval){.thread = 1,
						.user_stack = synthetic__stack(
							&made, false, STACK_TOO_DEEP, frames)});
	model = synthetic__load(&made, 100 * MS);
	assert_int_equal(model->truncated[STACK_COMPLETE], 1);
	assert_int_equal(model->truncated[STACK_NO_TABLE], 1);
	assert_int_equal(model->truncated[STACK_TOO_DEEP], 1);
	model__free(model);
}

static void later_facts_win(void **state)
{
	struct synthetic made = synthetic__begin();
	struct record lost = {.type = RECORD_LOST, .lost = {.count = 3}};
	struct model *model;

	lost.lost.cause = synthetic__string(&made, "ring buffer full");
	synthetic__put(&made, lost);
	lost.lost.count = 7;
	synthetic__put(&made, lost);
	record_stream__meta(recording_writer__stream(made.writer), "mode", "trace");
	model = synthetic__load(&made, 5 * MS);
	assert_int_equal(model->losts.n, 1);
	assert_int_equal(model->losts.data[0].count, 7);
	assert_true(model->trace);
	assert_string_equal(model__meta(model, "command"), "./prog --with args");
	assert_null(model__meta(model, "no such fact"));
	model__free(model);
}

static void inlined_frames_stay_together(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t dso = synthetic__dso(&made, "/bin/a");
	struct record record = {.type = RECORD_SYMBOL, .symbol = {.dso = dso, .address = 0x10}};
	struct model *model;
	const struct model_location *at;

	record.symbol.name = synthetic__string(&made, "inner");
	record.symbol.line = 7;
	record.symbol.inlined = 1;
	synthetic__put(&made, record);
	record.symbol.name = synthetic__string(&made, "outer");
	record.symbol.inlined = 0;
	synthetic__put(&made, record);
	/* Named again: the first answer stays. */
	record.symbol.name = synthetic__string(&made, "imposter");
	synthetic__put(&made, record);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__map(&made, 100, dso, 0, 0x400000, PAGE, 0);
	synthetic__sample(&made, 1, MS, 1, 0, USER_STACK(&made, 0x400010));
	model = synthetic__load(&made, 100 * MS);
	at = model__location(model, &model->stacks.data[sample_stack(find_thread(model, 100), 0)],
			     0);
	assert_int_equal(at->n_frames, 2);
	assert_string_equal(model__string(model, model->frames.data[at->frame].name), "inner");
	assert_string_equal(model__string(model, model->frames.data[at->frame + 1].name), "outer");
	model__free(model);
}

/* Names found while it was recorded give way to those found at the end, and to nothing else. */
static void functions_are_named_until_symbols_come(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t dso = synthetic__dso(&made, "/bin/a");
	_cleanup_model_ struct model *model = NULL;
	const struct model_stack *stack;

	for (uint64_t address = 0x10; address <= 0x30; address += 0x10)
		synthetic__put(
			&made,
			(struct record){.type = RECORD_FUNCTION,
					.function = {.dso = dso,
						     .address = address,
						     .name = synthetic__string(&made, "early")}});
	synthetic__symbol(&made, dso, 0x20, "late", "a.c", 7);
	synthetic__symbol(&made, dso, 0x30, "", "", 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	synthetic__map(&made, 100, dso, 0, 0x400000, PAGE, 0);
	synthetic__sample(&made, 1, MS, 1, 0, USER_STACK(&made, 0x400010, 0x400021, 0x400031));
	model = synthetic__load(&made, 100 * MS);
	stack = &model->stacks.data[sample_stack(find_thread(model, 100), 0)];
	assert_int_equal(stack->depth, 3);
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"early", "late", ""};
		const struct model_location *at = model__location(model, stack, i);

		assert_int_equal(at->n_frames, 1);
		assert_false(at->provisional);
		assert_string_equal(model__string(model, model->frames.data[at->frame].name),
				    names[i]);
		assert_int_equal(model->frames.data[at->frame].line, i == 1 ? 7 : 0);
	}
}

static void no_file_is_an_error(void **state)
{
	struct model *model = NULL;

	assert_int_equal(model__load("/no/such/recording", &model), -2);
	assert_null(model);
	assert_string_not_equal(error__message(-2), "");
}

/* A thread that was seen as a waker at first lives from when it is recorded on. */
static void a_waker_becomes_a_target(void **state)
{
	static const uint32_t flags[] = {THREAD_TARGET | THREAD_CREATED, THREAD_HELPER};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct synthetic made = synthetic__begin();
		_cleanup_model_ struct model *model = NULL;
		struct record record = {
			.type = RECORD_THREAD,
			.thread = {.thread = 1, .tid = 7, .tgid = 7, .time = START + 10 * MS}};

		record.thread.comm = synthetic__string(&made, "dwell");
		synthetic__put(&made, record);
		record.thread.flags = flags[i];
		record.thread.time = START + 20 * MS;
		synthetic__put(&made, record);
		synthetic__comm(&made, 1, 20 * MS, "prog");
		model = synthetic__load(&made, 100 * MS);
		assert_true(find_thread(model, 7)->created == START + 20 * MS);
		assert_string_equal(model__string(model, model_thread__comm(find_thread(model, 7),
									    START + 20 * MS)),
				    "prog");
	}
}

/* However they are spread. */
static void intervals_are_found_by_time(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct model_thread thread = {};
		uint64_t random = seed, at = 100;
		size_t n = seed % 12;

		for (size_t i = 0; i < n; i++) {
			struct model_interval interval = {.t_out = at};

			assert_int_equal(array__push(&thread.intervals, interval), 0);
			random = hash__mix(random);
			/* Also at the same time, and much later. */
			at += random % 3 ? random % 20 : seed % 2 ? 0 : 100000;
		}
		for (uint64_t time = 0; time < at + 50; time += 1 + time / 500) {
			size_t expected = 0;

			while (expected < n && thread.intervals.data[expected].t_out <= time)
				expected++;
			for (size_t near = 0; near <= n + 1; near++)
				assert_int_equal(model_thread__intervals_until(&thread, time, near),
						 expected);
		}
		array__free(&thread.intervals);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_found_by_time),
		cmocka_unit_test(a_waker_becomes_a_target),
		cmocka_unit_test(timelines_are_sorted),
		cmocka_unit_test(wakes_join_their_intervals),
		cmocka_unit_test(mappings_follow_fork_and_exec),
		cmocka_unit_test(exec_clears_what_was_mapped),
		cmocka_unit_test(later_mapping_overrides),
		cmocka_unit_test(mapping_to_come_serves_earlier_samples),
		cmocka_unit_test(pid_is_reused),
		cmocka_unit_test(system_call_is_looked_up_one_before),
		cmocka_unit_test(tracing_is_cut_off_kernel_stacks),
		cmocka_unit_test(references_that_do_not_hold),
		cmocka_unit_test(unannounced_thread_is_kept),
		cmocka_unit_test(truncated_stacks_are_counted),
		cmocka_unit_test(later_facts_win),
		cmocka_unit_test(inlined_frames_stay_together),
		cmocka_unit_test(functions_are_named_until_symbols_come),
		cmocka_unit_test(no_file_is_an_error),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
