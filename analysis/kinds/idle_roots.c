// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/idle_roots.h"

#include "abi/grid.h"

#define MAX_CHAIN 64
#define TIMES	  3ULL

/* Whether a wait at @site lasts until another thread ends it. */
static bool is_link(const struct wait_site *site, enum site_verdict verdict)
{
	return verdict == SITE_ROOT || site->call ||
	       kind__info(site->kind)->role == KIND_ROLE_LOCK || site->kind == KIND_CHILD;
}

/* Follows the chain from @thread at @time. */
static bool is_busy_at(const struct wait_sites *sites, const struct site_judgement *judgements,
		       uint32_t thread, uint64_t time, size_t *found)
{
	const struct model *model = sites->model;

	for (int depth = 0; depth < MAX_CHAIN; depth++) {
		const struct model_thread *of = &model->threads.data[thread];
		const struct model_interval *interval;
		const struct site_wait *wait;
		size_t n;

		if (time < of->created || time >= of->ended)
			return false;
		n = found[thread] = model_thread__intervals_until(of, time, found[thread]);
		interval = n ? &of->intervals.data[n - 1] : NULL;
		if (!interval || time >= interval->t_out + interval->blocked_ns)
			return true;
		wait = &sites->waits[thread][n - 1];
		if (judgements[wait->site].verdict == SITE_IDLE)
			return false;
		if (!is_link(&sites->sites.data[wait->site], judgements[wait->site].verdict))
			return true;
		if (!wait->waker)
			return judgements[wait->site].verdict == SITE_BUSY;
		/* At the end of a chain of members that pass work on is the one who has it. */
		if (judgements[wait->site].verdict == SITE_ROOT &&
		    wait_sites__is_leader(sites, thread, wait->waker))
			return false;
		thread = wait->waker;
	}
	return false;
}

enum root_state idle_root__state(const struct wait_sites *sites,
				 const struct site_judgement *judgements, uint32_t thread,
				 size_t interval, size_t *found)
{
	const struct model *model = sites->model;
	const struct model_interval *of = &model->threads.data[thread].intervals.data[interval];
	uint32_t apart = (uint32_t)(model->period_ns << INTERVAL_SPACING(of->flags));
	uint64_t end = of->t_out + of->blocked_ns;
	int busy = 0, n = 0;

	for (uint64_t i = 0; i < TIMES; i++) {
		uint64_t time = of->t_out + of->blocked_ns * (2 * i + 1) / (2 * TIMES);

		if (!model->trace && apart)
			time = sample_grid__next(time, apart, model->grid_seed);
		if (time >= end)
			continue;
		busy += is_busy_at(sites, judgements, thread, time, found);
		n++;
		if (busy == TIMES / 2 + 1 || n - busy == TIMES / 2 + 1)
			break; /* the majority of all times */
	}
	/* Its only sampling point may lie before all of these times. */
	if (!n && !model->trace && apart) {
		uint64_t time = sample_grid__next(of->t_out, apart, model->grid_seed);

		if (time >= end)
			return ROOT_UNKNOWN;
		return is_busy_at(sites, judgements, thread, time, found) ? ROOT_BUSY : ROOT_IDLE;
	}
	return busy * 2 >= n ? ROOT_BUSY : ROOT_IDLE;
}
