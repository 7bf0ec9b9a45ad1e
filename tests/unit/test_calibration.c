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

	recording_writer__meta(made.writer, "mode", "trace");
	model = synthetic__load(&made, 400 * MS);
	assert_factor(model, 100, CLASS_CPU, 2);
	assert_factor(model, 100, CLASS_IO, 1);
	assert_factor(model, 100, CLASS_SCHED, 1);
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_add_up_to_exact_times),
		cmocka_unit_test(what_is_far_off_is_a_diagnostic),
		cmocka_unit_test(short_threads_share_a_factor),
		cmocka_unit_test(nothing_exact_means_no_factor),
		cmocka_unit_test(traced_waits_are_left_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
