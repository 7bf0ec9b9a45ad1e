// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MAX_HALF_NS	20000000000ULL
#define MIN_HALF_NS	100000000ULL
#define WARM_UP_DIVISOR 4 /* a warm-up is at least 1 / this of a half */

enum stage {
	STAGE_IDLE = 0,
	STAGE_WARM_UP,
	STAGE_MEASURE,
};

/* Counters of virtual time at the start or end of a half. */
struct counts {
	struct causal_look look;
	uint64_t hits[CAUSAL_TARGETS];
	uint64_t in_flight;
};

struct experimenter {
	struct experiment_config config;
	struct virtual_time *vtime;
	enum stage stage;
	int half; /* 0: the first, 1: the second */
	bool base_first;
	bool is_test; /* of pauses: `speedup` is their share */
	double speedup;
	uint64_t outside[CAUSAL_WAITS];
	uint64_t begun_at;
	uint64_t warm_since;
	uint64_t until;
	uint64_t half_ns;
	struct counts before;
	struct counts after;
	struct causal_half halves[2]; /* base, with */
	ARRAY(struct causal_visits) visits[2];
};

int experimenter__new(const struct experiment_config *config, struct virtual_time *vtime,
		      struct experimenter **out)
{
	struct experimenter *experimenter = calloc(1, sizeof(*experimenter));

	if (!experimenter)
		return -ENOMEM;
	experimenter->config = *config;
	experimenter->vtime = vtime;
	experimenter->half_ns = config->half_ns;
	*out = experimenter;
	return 0;
}

static bool is_base(const struct experimenter *experimenter)
{
	return experimenter->half == !experimenter->base_first;
}

/* ns until queues have filled or drained and the program is steady at its new speed. */
static uint64_t warm_up(const struct experimenter *experimenter)
{
	uint64_t part = experimenter->half_ns / WARM_UP_DIVISOR;

	return part > experimenter->config.warm_up_ns ? part : experimenter->config.warm_up_ns;
}

static void begin_half(struct experimenter *experimenter, uint64_t now)
{
	double speedup = is_base(experimenter) ? 0 : experimenter->speedup;

	virtual_time__forgive(experimenter->vtime);
	if (experimenter->is_test)
		virtual_time__test_pauses(experimenter->vtime, true, speedup);
	else
		virtual_time__speed_up(experimenter->vtime, 0, speedup);
	experimenter->stage = STAGE_WARM_UP;
	experimenter->warm_since = now;
	experimenter->until = now + warm_up(experimenter);
}

static void begin(struct experimenter *experimenter, double speedup, bool base_first, uint64_t now)
{
	experimenter->speedup = speedup;
	experimenter->base_first = base_first;
	experimenter->half = 0;
	experimenter->begun_at = now;
	begin_half(experimenter, now);
}

void experimenter__begin(struct experimenter *experimenter, double speedup, bool base_first,
			 uint64_t now)
{
	experimenter->is_test = false;
	begin(experimenter, speedup, base_first, now);
}

void experimenter__begin_pause_test(struct experimenter *experimenter, double share,
				    bool base_first, uint64_t now)
{
	experimenter->is_test = true;
	virtual_time__settle(experimenter->vtime, 0);
	virtual_time__outside(experimenter->vtime, experimenter->outside);
	begin(experimenter, share, base_first, now);
}

void experimenter__outside(const struct experimenter *experimenter, uint64_t ns[CAUSAL_WAITS])
{
	memcpy(ns, experimenter->outside, sizeof(experimenter->outside));
}

/* No speedup, and no pauses, from now on. */
static void end_half(struct experimenter *experimenter)
{
	if (experimenter->is_test)
		virtual_time__test_pauses(experimenter->vtime, false, 0);
	virtual_time__speed_up(experimenter->vtime, 0, 0);
	experimenter->stage = STAGE_IDLE;
}

bool experimenter__busy(const struct experimenter *experimenter)
{
	return experimenter->stage != STAGE_IDLE;
}

static void count(const struct experimenter *experimenter, struct counts *counts)
{
	virtual_time__read_points(experimenter->vtime, &counts->look);
	for (uint32_t i = 0; i < CAUSAL_TARGETS; i++)
		counts->hits[i] = virtual_time__hits(experimenter->vtime, i);
	counts->in_flight = virtual_time__in_flight(experimenter->vtime);
}

/* Virtual time of a point's last visit. */
static uint64_t last_visit(const struct causal_seen_point *point)
{
	return point->changed_at - point->changed_global;
}

/* Effective time between two points in virtual time; jitter of clock ticks can make it negative. */
static uint64_t effective(uint64_t from, uint64_t to)
{
	return (int64_t)(to - from) > 0 ? to - from : 1;
}

static void fill_visits(const struct experimenter *experimenter,
			const struct experiment_point *point, struct causal_visits *visits)
{
	const struct counts *before = &experimenter->before, *after = &experimenter->after;
	const struct causal_seen_point *from, *to;
	int64_t occupied;

	*visits = (struct causal_visits){.point = point->number};
	if (point->begin < 0) {
		visits->visits = after->hits[point->sample] - before->hits[point->sample];
		return;
	}
	from = &before->look.point[point->begin];
	to = &after->look.point[point->begin];
	visits->visits = to->count - from->count;
	/* A visit before the warm-up was under another speedup. */
	if (visits->visits && from->changed_at >= experimenter->warm_since && point->end < 0)
		visits->span_ns = effective(last_visit(from), last_visit(to));
	if (point->end < 0)
		return;
	visits->ends = after->look.point[point->end].count - before->look.point[point->end].count;
	/* Negative if operations end twice, or end before the look at their begin is over. */
	occupied = (int64_t)((to->area - from->area) - (after->look.point[point->end].area -
							before->look.point[point->end].area));
	visits->occupied_ns = occupied > 0 ? (double)occupied : 0;
}

static int fill_half(struct experimenter *experimenter, const struct experiment_points *points)
{
	const struct counts *before = &experimenter->before, *after = &experimenter->after;
	int which = !is_base(experimenter);
	struct causal_half *half = &experimenter->halves[which];

	experimenter->visits[which].n = 0;
	if (array__reserve(&experimenter->visits[which], points->points.n + 1))
		return -ENOMEM;
	*half = (struct causal_half){
		.duration_ns = after->look.time - before->look.time,
		.delay_ns = after->look.global - before->look.global,
		.hit_ns = after->hits[0] - before->hits[0],
		.in_flight_ns = after->in_flight - before->in_flight,
		.points = experimenter->visits[which].data,
	};
	for (size_t i = 0; i < points->points.n; i++)
		fill_visits(experimenter, &points->points.data[i], &half->points[i]);
	experimenter->visits[which].n = points->points.n;
	half->n_points = (uint32_t)points->points.n;
	return 0;
}

/* The largest number of visits of a point, or samples in it, in the half with fewer of them. */
static uint64_t visits_seen(const struct experimenter *experimenter,
			    const struct experiment_points *points)
{
	/* The first half knew the points that were reached by then. */
	size_t n = experimenter->visits[0].n < experimenter->visits[1].n
			   ? experimenter->visits[0].n
			   : experimenter->visits[1].n;
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t base = experimenter->visits[0].data[i].visits;
		uint64_t with = experimenter->visits[1].data[i].visits;
		uint64_t both = base < with ? base : with;

		if (points->points.data[i].begin < 0)
			both /= experimenter->config.period_ns;
		if (both > most)
			most = both;
	}
	return most;
}

/* Coz, section 2: experiments become longer if there are too few visits. */
static void adapt_length(struct experimenter *experimenter, const struct experiment_points *points)
{
	uint64_t min = experimenter->config.min_visits;
	uint64_t seen = visits_seen(experimenter, points);
	uint64_t *half = &experimenter->half_ns;

	if (experimenter->config.fixed_length || !points->points.n)
		return;
	if (seen < min && *half < MAX_HALF_NS)
		*half *= 2;
	else if (seen > 8 * min && *half / 2 >= MIN_HALF_NS && *half > experimenter->config.half_ns)
		*half /= 2;
}

static void finish(struct experimenter *experimenter, const struct experiment_points *points,
		   struct causal_experiment *result)
{
	uint64_t now[CAUSAL_WAITS];

	end_half(experimenter);
	virtual_time__outside(experimenter->vtime, now);
	for (int i = 0; i < CAUSAL_WAITS; i++)
		experimenter->outside[i] = now[i] - experimenter->outside[i];
	*result = (struct causal_experiment){
		.speedup = experimenter->speedup,
		.at_ns = experimenter->begun_at,
		.base = experimenter->halves[0],
		.with = experimenter->halves[1],
	};
	adapt_length(experimenter, points);
}

uint64_t experimenter__advance(struct experimenter *experimenter,
			       const struct experiment_points *points, uint64_t now,
			       struct causal_experiment *result)
{
	if (now < experimenter->until)
		return experimenter->until;
	if (experimenter->stage == STAGE_WARM_UP) {
		count(experimenter, &experimenter->before);
		experimenter->stage = STAGE_MEASURE;
		experimenter->until = now + experimenter->half_ns;
		return experimenter->until;
	}
	count(experimenter, &experimenter->after);
	if (fill_half(experimenter, points)) {
		experimenter__stop(experimenter);
		return now + 1; /* without a result; the caller begins another experiment */
	}
	if (experimenter->half == 0) {
		experimenter->half = 1;
		begin_half(experimenter, now);
		return experimenter->until;
	}
	finish(experimenter, points, result);
	return 0;
}

void experimenter__stop(struct experimenter *experimenter)
{
	end_half(experimenter);
}

void experimenter__free(struct experimenter *experimenter)
{
	if (!experimenter)
		return;
	array__free(&experimenter->visits[0]);
	array__free(&experimenter->visits[1]);
	free(experimenter);
}
