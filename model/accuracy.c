// SPDX-License-Identifier: BSD-2-Clause
/*
 * How far sampled times may be from exact ones by chance.
 *
 * A sample that represents w periods, and that comes by chance, has a variance of w^2 at most; so
 * has a thread's sampled time the sum of that over its samples. Samples that a thread has of its
 * own (clock ticks; its own sampling points, see abi/grid.h) are independent of those of others.
 * Common points are not: if all threads do the same, the errors of n threads add up, and the
 * variance of their sum is n times the sum of their variances at most.
 */
#include <math.h>

#include "model/loader.h"

#define SIGNIFICANT 5 /* standard errors */

/* Sums up one part of an interval, with @points that represent as many periods. */
static void add_part(struct model_thread *thread, enum wait_class class, unsigned int flags,
		     uint32_t points)
{
	unsigned int spacing = INTERVAL_SPACING(flags);
	double cell = (double)(1U << spacing), sum = (double)points;

	if (flags & INTERVAL_OWN_POINTS) {
		thread->own_variance[class] += sum * cell;
		thread->common_variance[class] += sum / cell;
	} else {
		thread->common_variance[class] += sum * cell;
	}
}

void model_loader__sum_variances(struct model_thread *thread)
{
	for (size_t i = 0; i < thread->samples.n; i++) {
		double weight = (double)thread->samples.data[i].weight;

		thread->own_variance[CLASS_CPU] += weight * weight;
	}
	for (size_t i = 0; i < thread->intervals.n; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];

		add_part(thread, interval->class, interval->flags, interval->blocked_points);
		add_part(thread, CLASS_SCHED, interval->flags, interval->runq_points);
	}
}

/* The number of periods that a sample of @class represents, at most. */
static double largest_weight(const struct model *model, enum wait_class class)
{
	double slowest = (double)model__meta_number(model, "slowest_clock_ns", 0);
	double weight = (double)(1U << model->spacing);

	if (class == CLASS_CPU)
		weight = model->period_ns ? slowest / (double)model->period_ns : 1;
	return weight > 1 ? weight : 1;
}

void sampling_error__add(struct sampling_error *error, const struct model *model,
			 const struct model_thread *thread, enum wait_class class)
{
	double own = thread->own_variance[class], common = thread->common_variance[class];
	double period = model->period_ns ? (double)model->period_ns : 1;
	double weight = largest_weight(model, class);
	/* Where few samples came by chance: of as many as were to be expected. */
	double expected = ((double)model_thread__exact_ns(thread, class) / period + 1) * weight;

	if (class != CLASS_CPU && weight == 1)
		common = fmax(common, expected);
	else
		own = fmax(own, expected - common);
	if (!thread->ns[class] && !thread->points[class])
		return;
	error->own += own;
	error->common += common;
	error->threads++;
	error->exact_ns += (double)model_thread__exact_ns(thread, class);
	error->sampled_ns += (double)model_thread__sampled_ns(model, thread, class);
}

double sampling_error__ns(const struct sampling_error *error, const struct model *model)
{
	double variance = error->own + error->common * (double)error->threads;

	return sqrt(variance) * (double)model->period_ns;
}

bool sampling_error__is_exceeded(const struct sampling_error *error, const struct model *model)
{
	double off = fabs(error->exact_ns - error->sampled_ns);

	return off > SIGNIFICANT * sampling_error__ns(error, model) &&
	       off > error->exact_ns / 100 + 1e6;
}

bool model_thread__is_calibrated(const struct model *model, const struct model_thread *thread,
				 enum wait_class class)
{
	struct sampling_error error = {};

	if (!thread->has_totals || (model->trace && class != CLASS_CPU))
		return false;
	sampling_error__add(&error, model, thread, class);
	return sampling_error__is_exceeded(&error, model);
}
