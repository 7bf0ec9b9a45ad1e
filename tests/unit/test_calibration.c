// SPDX-License-Identifier: BSD-2-Clause
/* Sampled times add up to the exact ones: of each thread, or of a name where threads are short. */
#include "analysis/weighted_samples.h"
#include "tests/unit/synthetic.h"

static const struct sample_filter all;

/* @n samples of one point each, from @from on. */
static void put_samples(struct synthetic *made, uint32_t thread, uint64_t from, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		synthetic__sample(made, thread, from + i * MS, 1, 0, USER_STACK(made, 0x400010));
}

static void assert_factor(const struct model *model, uint32_t tid, enum wait_class class,
			  double factor)
{
	double got = find_thread(model, tid)->factor[class];

	if (got < factor - 1e-9 || got > factor + 1e-9)
		fail_msg("thread %u, class %d: factor %f, not %f", tid, class, got, factor);
}

static const struct model_diagnostic *find_diagnostic(const struct model *model, const char *label)
{
	for (size_t i = 0; i < model->diagnostics.n; i++)
		if (!strcmp(model->diagnostics.data[i].label, label))
			return &model->diagnostics.data[i];
	return NULL;
}

/* A thread that was sampled half as often as it ran. */
static struct synthetic half_sampled(void)
{
	struct synthetic made = synthetic__begin();

	synthetic__thread(&made, 1, 100, 100, 0, 0, "brief");
	put_samples(&made, 1, MS, 100);
	synthetic__interval(&made, (struct record_interval){.thread = 1,
							    .class = CLASS_IO,
							    .t_out = 300 * MS,
							    .blocked_ns = 60 * MS,
							    .runq_ns = 40 * MS,
							    .blocked_points = 58,
							    .runq_points = 41});
	synthetic__totals(&made, 1, 400 * MS, true, 200 * MS, 60 * MS, 0, 40 * MS, 0);
	return made;
}

static void samples_add_up_to_exact_times(void **state)
{
	struct synthetic made = half_sampled();
	struct model *model = synthetic__load(&made, 400 * MS);
	struct sample_groups groups;

	assert_factor(model, 100, CLASS_CPU, 2);
	assert_factor(model, 100, CLASS_IO, 60.0 / 58);
	assert_int_equal(sample_groups__collect(model, &all, &groups), 0);
	assert_int_equal(groups.class_ns[CLASS_CPU], 200 * MS);
	assert_int_equal(groups.class_ns[CLASS_IO], 60 * MS);
	assert_int_equal(groups.class_ns[CLASS_SCHED], 40 * MS);
	assert_int_equal(groups.sampled_ns[CLASS_CPU], 100 * MS);
	assert_int_equal(groups.sampled_ns[CLASS_IO], 58 * MS);
	sample_groups__free(&groups);
	model__free(model);
}

static void what_is_far_off_is_a_diagnostic(void **state)
{
	struct synthetic made = half_sampled();
	struct model *model = synthetic__load(&made, 400 * MS);
	const struct model_thread *thread = find_thread(model, 100);
	const struct model_diagnostic *found = find_diagnostic(model, "calibrated");

	assert_true(model_thread__is_calibrated(model, thread, CLASS_CPU));
	assert_false(model_thread__is_calibrated(model, thread, CLASS_IO));
	assert_non_null(found);
	assert_string_equal(found->text,
			    "cpu of brief/100 by 2.00: 100.000 ms sampled, 200.000 ms exact");
	assert_false(found->all_well);
	model__free(model);
}

/* A factor is not made of a handful of samples, and threads without any are not left out. */
static void short_threads_share_a_factor(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *model;

	for (uint32_t i = 1; i <= 50; i++) {
		synthetic__thread(&made, i, 100, 100 + i, 0, 0, "short");
		put_samples(&made, i, i * MS, i <= 40);
		synthetic__totals(&made, i, 100 * MS, true, 2 * MS, 0, 0, 0, 0);
	}
	synthetic__thread(&made, 51, 100, 200, 0, 0, "few");
	put_samples(&made, 51, 60 * MS, 2);
	synthetic__totals(&made, 51, 100 * MS, true, 3 * MS, 0, 0, 0, 0);
	synthetic__thread(&made, 52, 100, 201, 0, 0, "fewer");
	put_samples(&made, 52, 70 * MS, 2);
	synthetic__totals(&made, 52, 100 * MS, true, 5 * MS, 0, 0, 0, 0);
	model = synthetic__load(&made, 100 * MS);
	assert_factor(model, 101, CLASS_CPU, 100.0 / 40);
	assert_factor(model, 150, CLASS_CPU, 100.0 / 40);
	assert_factor(model, 200, CLASS_CPU, 8.0 / 4);
	assert_factor(model, 201, CLASS_CPU, 8.0 / 4);
	model__free(model);
}

/* A tick cannot tell stolen time from the thread's own: its samples are compared with both. */
static void samples_of_stolen_time_are_no_error(void **state)
{
	struct synthetic made = synthetic__begin();
	const struct model_thread *thread;
	struct model *model;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "guest");
	put_samples(&made, 1, MS, 200);
	synthetic__counted(&made, (struct record_totals){.thread = 1,
							 .time = 400 * MS,
							 .ns = {100 * MS, 0, 0, 150 * MS, 0},
							 .stolen_ns = 100 * MS,
							 .unseen = 3});
	model = synthetic__load(&made, 400 * MS);
	thread = find_thread(model, 100);
	assert_factor(model, 100, CLASS_CPU, 0.5);
	assert_false(model_thread__is_calibrated(model, thread, CLASS_CPU));
	assert_true(thread->ns[CLASS_CPU] == 100 * MS && thread->stolen_ns == 100 * MS);
	assert_true(thread->unseen_ns == 50 * MS); /* what is left of its life */
	model__free(model);
}

/* Times of different clocks never add up to more than the life. */
static void times_are_within_the_life(void **state)
{
	struct synthetic made = synthetic__begin();
	const struct model_thread *thread;
	struct model *model;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "busy");
	synthetic__counted(&made, (struct record_totals){.thread = 1,
							 .time = 100 * MS,
							 .ns = {91 * MS, 0, 0, 10 * MS, 0},
							 .stolen_ns = 5 * MS});
	model = synthetic__load(&made, 100 * MS);
	thread = find_thread(model, 100);
	assert_true(thread->ns[CLASS_CPU] == 90 * MS && thread->ns[CLASS_SCHED] == 10 * MS);
	assert_true(!thread->stolen_ns && !thread->unseen_ns);
	model__free(model);
}

/*
 * In old recordings CPU time is what intervals left of the life: where switches were not seen, that
 * is waiting, too.
 */
static void samples_are_not_scaled_to_what_was_not_seen(void **state)
{
	struct synthetic made = half_sampled();
	struct model *model;

	synthetic__put(&made,
		       (struct record){.type = RECORD_LOST,
				       .lost = {.cause = synthetic__string(
							&made, "switches, hidden from tracing"),
						.count = 1}});
	model = synthetic__load(&made, 400 * MS);
	assert_factor(model, 100, CLASS_CPU, 1);
	assert_factor(model, 100, CLASS_IO, 60.0 / 58);
	model__free(model);
}

static void nothing_exact_means_no_factor(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *model;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "killed");
	put_samples(&made, 1, MS, 50);
	model = synthetic__load(&made, 400 * MS);
	assert_factor(model, 100, CLASS_CPU, 1);
	assert_factor(model, 100, CLASS_IO, 1);
	assert_null(find_diagnostic(model, "calibrated"));
	model__free(model);
}

/* In trace mode the length of every wait is known; its points say nothing more. */
static void traced_waits_are_left_as_they_are(void **state)
{
	struct synthetic made = half_sampled();
	struct model *model;

	record_stream__meta(recording_writer__stream(made.writer), "mode", "trace");
	model = synthetic__load(&made, 400 * MS);
	assert_factor(model, 100, CLASS_CPU, 2);
	assert_factor(model, 100, CLASS_IO, 1);
	assert_factor(model, 100, CLASS_SCHED, 1);
	model__free(model);
}

/* The times of @class, summed over all threads: the standard error, and whether it is exceeded. */
static double error_of(const struct model *model, enum wait_class class, bool *exceeded)
{
	struct sampling_error error = {};

	for (size_t i = 1; i < model->threads.n; i++)
		sampling_error__add(&error, model, &model->threads.data[i], class);
	*exceeded = sampling_error__is_exceeded(&error, model);
	return sampling_error__ns(&error, model);
}

/*
 * 400 threads that wait for a lock for @exact_ms each, of which every n-th has a sample of
 * @points. @own: a point of its own.
 */
static struct model *crowd(unsigned int every, uint32_t points, bool own, uint64_t exact_ms)
{
	struct synthetic made = synthetic__begin();

	for (uint32_t i = 1; i <= 400; i++) {
		synthetic__thread(&made, i, 100, 100 + i, 0, 0, "crowd");
		if (i % every == 0)
			synthetic__interval(
				&made, (struct record_interval){
					       .thread = i,
					       .class = CLASS_LOCK,
					       .flags = (uint16_t)(6 << INTERVAL_SPACING_SHIFT |
								   (own ? INTERVAL_OWN_POINTS : 0)),
					       .t_out = MS,
					       .blocked_ns = exact_ms * MS,
					       .blocked_points = points});
		synthetic__totals(&made, i, 400 * MS, true, 0, 0, exact_ms * MS, 0, 0);
	}
	return synthetic__load(&made, 400 * MS);
}

/* Points that all threads have say less of a sum than as many that they have of their own. */
static void sums_differ_by_chance_or_more(void **state)
{
	struct model *model;
	bool exceeded;
	double error;

	/* A fifth of 400 threads has a sample of 63 for 12 ms: 5.04 s, for 4.8 s. */
	model = crowd(5, 63, true, 12);
	error = error_of(model, CLASS_LOCK, &exceeded);
	assert_true(error > 0.5e9 && error < 1e9);
	assert_false(exceeded);
	assert_false(model_thread__is_calibrated(model, find_thread(model, 101), CLASS_LOCK));
	model__free(model);
	/* The same with common points: they may all be from one point. */
	model = crowd(5, 64, false, 12);
	error = error_of(model, CLASS_LOCK, &exceeded);
	assert_true(error > 5e9);
	model__free(model);
	/* Twice as much. */
	model = crowd(5, 126, true, 6);
	(void)error_of(model, CLASS_LOCK, &exceeded);
	assert_true(exceeded);
	assert_false(model_thread__is_calibrated(model, find_thread(model, 105), CLASS_LOCK));
	model__free(model);
}

/* Exact time of which there is no sample, too. */
static void what_was_not_sampled_differs(void **state)
{
	struct model *model = crowd(401, 0, true, 200);
	bool exceeded;

	(void)error_of(model, CLASS_LOCK, &exceeded);
	assert_true(exceeded);
	assert_true(model_thread__is_calibrated(model, find_thread(model, 101), CLASS_LOCK));
	model__free(model);
	/* Of 20 ms it may be chance for each thread, but not for all together. */
	model = crowd(401, 0, true, 20);
	assert_false(model_thread__is_calibrated(model, find_thread(model, 101), CLASS_LOCK));
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_add_up_to_exact_times),
		cmocka_unit_test(what_is_far_off_is_a_diagnostic),
		cmocka_unit_test(short_threads_share_a_factor),
		cmocka_unit_test(samples_of_stolen_time_are_no_error),
		cmocka_unit_test(times_are_within_the_life),
		cmocka_unit_test(samples_are_not_scaled_to_what_was_not_seen),
		cmocka_unit_test(nothing_exact_means_no_factor),
		cmocka_unit_test(traced_waits_are_left_as_they_are),
		cmocka_unit_test(sums_differ_by_chance_or_more),
		cmocka_unit_test(what_was_not_sampled_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
