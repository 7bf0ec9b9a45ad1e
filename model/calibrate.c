// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calibration of sampled times to the exact totals of each thread.
 *
 * Off the CPU the sampling grid is unbiased, and calibration only removes sampling error from the
 * totals. On the CPU it removes a bias: a pending clock tick changes the run that it measures. A
 * thread that goes to sleep need not program the timer of its CPU if the tick comes first, and a
 * thread whose own timer expires soon is woken by the interrupt of the tick. So ticks hit the
 * last us of short runs too rarely, most of all in virtual machines, where programming a timer
 * takes several us. The clock events of perf have the same bias. Samples also fall on time that is
 * stolen from runs, which is no CPU time of the thread.
 */
#include <errno.h>
#include <string.h>

#include "model/loader.h"

/* Minimum points for a factor: its sampling error is then below 20 %. */
#define MIN_POINTS 30

/* The maximum number of sampling points that one sample or interval of @class stands for. */
static uint64_t coarseness(const struct model *model, enum wait_class class)
{
	uint64_t slowest = model__meta_number(model, "slowest_clock_ns", 0);

	if (class != CLASS_CPU)
		return 1ULL << model->spacing;
	return slowest > model->period_ns && model->period_ns ? slowest / model->period_ns : 1;
}

/* Threads that share one factor per class. */
struct stratum {
	uint64_t exact_ns[CLASS_COUNT];
	uint64_t points[CLASS_COUNT];
};

struct calibration {
	struct model *model;
	uint64_t min_points[CLASS_COUNT];
	ARRAY(struct stratum) strata; /* [0]: names with too few points, the others by name */
	struct map64 by_name;	      /* string -> stratum */
	bool unseen;		      /* switches of the recording were not seen */
};

/*
 * CPU time that the kernel did not count is what intervals left of the thread's life (in recordings
 * before 1.7). Where switches were not seen, it contains waits.
 */
static bool trusts(const struct calibration *calibration, const struct model_thread *thread,
		   enum wait_class class)
{
	if (!thread->has_totals)
		return false;
	return thread->counted || class != CLASS_CPU || !calibration->unseen;
}

static void count_points(struct model_thread *thread)
{
	for (size_t i = 0; i < thread->samples.n; i++)
		thread->points[CLASS_CPU] += thread->samples.data[i].weight;
	for (size_t i = 0; i < thread->intervals.n; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];

		thread->points[interval->class] += interval->blocked_points;
		thread->points[CLASS_SCHED] += interval->runq_points;
	}
}

/* The stratum of @thread's name, added if it is new; NULL when out of memory. */
static struct stratum *stratum_of(struct calibration *calibration,
				  const struct model_thread *thread)
{
	uint32_t name = thread->comms.data[thread->comms.n - 1].name;
	uint64_t *at = map64__put(&calibration->by_name, name, calibration->strata.n);

	if (!at || (*at == calibration->strata.n && !array__add(&calibration->strata)))
		return NULL;
	return &calibration->strata.data[*at];
}

/* Sums up, by name, threads with too few points for a factor of their own. */
static int sum_threads(struct calibration *calibration)
{
	struct model *model = calibration->model;

	for (size_t i = 1; i < model->threads.n; i++) {
		struct model_thread *thread = &model->threads.data[i];
		struct stratum *stratum = stratum_of(calibration, thread);

		if (!stratum)
			return -ENOMEM;
		count_points(thread);
		model_loader__sum_variances(thread);
		for (int class = 0; class < CLASS_COUNT; class ++) {
			if (!trusts(calibration, thread, class) ||
			    thread->points[class] >= calibration->min_points[class])
				continue;
			stratum->exact_ns[class] += thread->ns[class];
			stratum->points[class] += thread->points[class];
		}
	}
	return 0;
}

/* Sums up names that still have too few points. */
static void sum_names(struct calibration *calibration)
{
	struct stratum *rest = &calibration->strata.data[0];

	for (size_t i = 1; i < calibration->strata.n; i++) {
		const struct stratum *stratum = &calibration->strata.data[i];

		for (int class = 0; class < CLASS_COUNT; class ++) {
			if (stratum->points[class] >= calibration->min_points[class])
				continue;
			rest->exact_ns[class] += stratum->exact_ns[class];
			rest->points[class] += stratum->points[class];
		}
	}
}

static double factor_of(const struct calibration *calibration, uint64_t exact_ns, uint64_t points)
{
	uint64_t period = calibration->model->period_ns;

	return points && period ? (double)exact_ns / ((double)points * (double)period) : 1;
}

static int set_factors(struct calibration *calibration)
{
	struct model *model = calibration->model;
	const struct stratum *rest, *stratum;

	for (size_t i = 1; i < model->threads.n; i++) {
		struct model_thread *thread = &model->threads.data[i];

		stratum = stratum_of(calibration, thread);
		if (!stratum)
			return -ENOMEM;
		rest = &calibration->strata.data[0];
		for (int class = 0; class < CLASS_COUNT; class ++) {
			const struct stratum *pooled =
				stratum->points[class] >= calibration->min_points[class] ? stratum
											 : rest;

			/* In trace mode the length of every wait is known. */
			if (!trusts(calibration, thread, class) ||
			    (model->trace && class != CLASS_CPU))
				thread->factor[class] = 1;
			else if (thread->points[class] >= calibration->min_points[class])
				thread->factor[class] = factor_of(calibration, thread->ns[class],
								  thread->points[class]);
			else
				thread->factor[class] =
					factor_of(calibration, pooled->exact_ns[class],
						  pooled->points[class]);
		}
	}
	return 0;
}

/* Whether the recorder counted switches that it did not see. */
static bool any_unseen(const struct model *model)
{
	for (size_t i = 0; i < model->losts.n; i++) {
		const char *cause = model__string(model, model->losts.data[i].cause);

		if (model->losts.data[i].count && !strncmp(cause, "switches", strlen("switches")))
			return true;
	}
	return false;
}

int model_loader__calibrate(struct model_loader *loader)
{
	struct calibration calibration = {.model = loader->model,
					  .unseen = any_unseen(loader->model)};
	int err;

	for (int class = 0; class < CLASS_COUNT; class ++)
		calibration.min_points[class] = MIN_POINTS * coarseness(loader->model, class);
	if (!array__add(&calibration.strata))
		return -ENOMEM;
	err = sum_threads(&calibration);
	if (!err) {
		sum_names(&calibration);
		err = set_factors(&calibration);
	}
	array__free(&calibration.strata);
	map64__free(&calibration.by_name);
	return err;
}
