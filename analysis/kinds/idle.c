// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/idle.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/interval_windows.h"
#include "analysis/kinds/idle_joins.h"
#include "analysis/kinds/idle_names.h"
#include "analysis/kinds/idle_needs.h"
#include "analysis/kinds/idle_roots.h"

/* A thread that spends this part of its blocked time at one place does nothing else. */
#define DEDICATED_SHARE 0.9

/* A thread that ends fewer waits of others than this for each sleep works for itself. */
#define WAKES_PER_SLEEP 0.1

/* "Mostly". */
#define HALF 0.5

/* The least part of waits for a lock with a timeout that end by it, and by threads; and of running.
 */
#define TIMED_LOCK_SHARE 0.01

/* A thread that runs for at most this part of its life hardly works. */
#define WORKLESS_SHARE 0.001

struct idle_waits {
	const struct model *model;
	struct wait_sites sites;
	uint8_t *hints;	   /* by stack: bits of enum idle_hint */
	uint8_t **reasons; /* by thread and interval: enum idle_reason */
	size_t n_threads;
};

static const struct {
	const char *name;
	const char *text;
} reasons[IDLE_REASON_COUNT] = {
	[IDLE_NOT] = {"no", "is not idle"},
	[IDLE_KERNEL_THREAD] = {"kernel", "kernel thread without work"},
	[IDLE_REQUESTS] = {"requests", "waits for requests"},
	[IDLE_QUEUE] = {"queue", "waits for work from other threads"},
	[IDLE_INTERVALS] = {"intervals", "works at intervals"},
};

const char *idle_reason__name(enum idle_reason reason)
{
	return reasons[reason < IDLE_REASON_COUNT ? reason : IDLE_NOT].name;
}

const char *idle_reason__text(enum idle_reason reason)
{
	return reasons[reason < IDLE_REASON_COUNT ? reason : IDLE_NOT].text;
}

static bool is_most(uint64_t part, uint64_t whole)
{
	return (double)part > HALF * (double)whole;
}

/* Whether its threads hardly wait anywhere else. */
static bool is_dedicated(const struct wait_site *site)
{
	return (double)site->ns >= DEDICATED_SHARE * (double)site->all_waits_ns;
}

static const struct wait_site *place_of(const struct idle_waits *idle, const struct wait_site *site)
{
	return &idle->sites.sites.data[site->place];
}

/* Whether its threads do next to nothing but wait at its place. */
static bool is_workless(const struct idle_waits *idle, const struct wait_site *site)
{
	return site->lifetime_ns &&
	       (double)place_of(idle, site)->place_ns >=
		       DEDICATED_SHARE * (double)site->all_waits_ns &&
	       (double)site->running_ns <= WORKLESS_SHARE * (double)site->lifetime_ns;
}

/*
 * Whether all threads of @site wait there at a time. Of those that want a lock, one has it, and one
 * of those that meet at a barrier is late.
 */
static bool all_wait(const struct wait_site *site)
{
	double n = site->n_threads;

	return site->lifetime_ns && (double)site->ns * n > (double)site->lifetime_ns * (n - 0.5);
}

/*
 * Whether the threads of @site hand something to each other, with a timeout: Python's interpreter
 * lock. Of a pool without work nearly all waits end by the timeout.
 */
static bool is_timed_lock(const struct wait_site *site)
{
	uint64_t by_threads = site->ns - site->timer_ns - site->outside_ns;
	bool hardly_runs = site->lifetime_ns &&
			   (double)site->running_ns < TIMED_LOCK_SHARE * (double)site->lifetime_ns;

	return !all_wait(site) && !hardly_runs && is_most(site->member_ns, by_threads) &&
	       (double)by_threads >= TIMED_LOCK_SHARE * (double)site->ns &&
	       (double)site->timer_ns >= TIMED_LOCK_SHARE * (double)site->ns;
}

#define BUSY ((struct site_judgement){SITE_BUSY, IDLE_NOT, false})

/* Rule 5: a wait for another thread. */
static struct site_judgement judge_handover(const struct idle_waits *idle,
					    const struct wait_site *site)
{
	bool by_timer = is_most(site->timer_ns, site->ns);
	struct site_judgement judgement = {SITE_ROOT, by_timer ? IDLE_INTERVALS : IDLE_QUEUE,
					   false};
	uint8_t hints = idle->hints[site->user];

	if (site->has_main || (is_timed_lock(site) && !(hints & IDLE_HINT_SCHEDULER)))
		return BUSY;
	if (site->kind == KIND_IO_URING || site->kind == KIND_AIO)
		judgement.verdict = is_dedicated(site) ? SITE_IDLE : SITE_BUSY;
	else if (by_timer || hints & IDLE_HINT_SCHEDULER)
		judgement.verdict = SITE_IDLE;
	else if (is_most(site->member_ns, site->ns))
		judgement.verdict = all_wait(site) ? SITE_IDLE : SITE_ROOT;
	else if (is_most(site->leader_ns, site->ns) || hints & IDLE_HINT_WORK ||
		 is_workless(idle, site))
		judgement.verdict = SITE_IDLE;
	judgement.is_sure = hints & IDLE_HINT_SCHEDULER;
	return judgement.verdict == SITE_BUSY ? BUSY : judgement;
}

static struct site_judgement judge_receive(const struct idle_waits *idle,
					   const struct wait_site *site)
{
	struct site_judgement judgement;

	switch (site->side) {
	case SOCKET_SIDE_SERVER:
		return (struct site_judgement){SITE_IDLE, IDLE_REQUESTS, false};
	case SOCKET_SIDE_CLIENT:
		return BUSY;
	default:
		/* A peer outside of the recording may be a client as well as a server. */
		if (is_most(site->outside_ns, site->ns))
			return BUSY;
		judgement = judge_handover(idle, site);
		if (judgement.reason)
			judgement.reason = IDLE_REQUESTS;
		return judgement;
	}
}

/* Rule 6. A thread whose work others wait for sleeps as part of it. */
static struct site_judgement judge_sleep(const struct idle_waits *idle,
					 const struct wait_site *site)
{
	const struct site_judgement sleeps = {SITE_IDLE, IDLE_INTERVALS, false};

	if (idle->hints[site->user] & IDLE_HINT_SCHEDULER)
		return sleeps;
	if (site->has_main || !is_dedicated(site))
		return BUSY;
	return (double)site->n_ended < WAKES_PER_SLEEP * (double)site->n ? sleeps : BUSY;
}

/*
 * Whether polling at @site is for a reply: of the client's end, or by the main thread of a command
 * that is not known to be a server.
 */
static bool is_for_reply(const struct wait_site *site)
{
	return site->side == SOCKET_SIDE_CLIENT ||
	       (site->side == SOCKET_SIDE_UNKNOWN && site->has_main &&
		(site->kind == KIND_POLL || site->kind == KIND_SELECT));
}

/* A wait in epoll, poll or select that another thread ended itself: rule 4, then rule 5. */
static struct site_judgement judge_notified(const struct idle_waits *idle,
					    const struct wait_site *site)
{
	const struct wait_site *place = place_of(idle, site);
	struct site_judgement judgement = {SITE_IDLE, IDLE_REQUESTS, false};
	bool for_work = is_most(site->leader_ns, site->ns) || site->end == WAIT_END_THREAD;

	if (is_for_reply(site))
		return BUSY;
	if (place->place_requests) { /* it can get one meanwhile */
		if (!for_work && !is_most(site->child_ns, site->ns))
			judgement.verdict = SITE_ROOT;
		return judgement;
	}
	if (is_most(site->child_ns, site->ns) || (site->member_requests && !for_work))
		return BUSY;
	judgement.reason = IDLE_INTERVALS;
	return is_most(place->place_timer_ns, place->place_ns) ? judgement
							       : judge_handover(idle, site);
}

/* Judges waits at @site; needs of other threads (rule 3) are applied later. */
static struct site_judgement judge_site(const struct idle_waits *idle, const struct wait_site *site)
{
	if (site->call)
		return BUSY;
	switch (kind__info(site->kind)->idle) {
	case KIND_IDLE_KERNEL:
		return (struct site_judgement){SITE_IDLE, IDLE_KERNEL_THREAD, true};
	case KIND_IDLE_REQUEST:
		if (site->end)
			return judge_notified(idle, site);
		return is_for_reply(site)
			       ? BUSY
			       : (struct site_judgement){SITE_IDLE, IDLE_REQUESTS, false};
	case KIND_IDLE_RECEIVE:
		return judge_receive(idle, site);
	case KIND_IDLE_HANDOVER:
		return judge_handover(idle, site);
	case KIND_IDLE_TIMER:
		return judge_sleep(idle, site);
	default:
		return BUSY;
	}
}

/* @latest, by site: what was at the roots of its waits last, where that is known. */
static enum idle_reason judge_wait(const struct idle_waits *idle, uint32_t thread, size_t i,
				   const struct site_judgement *judgements, size_t *found,
				   enum root_state *latest)
{
	uint32_t site = idle->sites.waits[thread][i].site;
	enum idle_reason reason = judgements[site].reason;
	enum root_state root;

	if (!reason || reason == IDLE_KERNEL_THREAD)
		return reason;
	if (idle->sites.waits[thread][i].by_signal) /* after which the thread goes on */
		return IDLE_NOT;
	if (judgements[site].verdict != SITE_ROOT)
		return reason;
	root = idle_root__state(&idle->sites, judgements, thread, i, found);
	if (root)
		latest[site] = root;
	return latest[site] == ROOT_IDLE ? reason : IDLE_NOT;
}

/* In the order of time: what the threads at the ends of chains do is found in the cache then. */
static int judge_waits(struct idle_waits *idle, const struct site_judgement *judgements)
{
	const struct model *model = idle->model;
	_cleanup_free_ size_t *found = calloc(model->threads.n, sizeof(*found));
	_cleanup_free_ enum root_state *latest = calloc(idle->sites.sites.n + 1, sizeof(*latest));
	struct interval_windows windows;
	struct interval_range range;
	int err = interval_windows__make(model, &windows);

	for (uint32_t t = 1; t < model->threads.n && !err; t++) {
		idle->reasons[t] =
			calloc(model->threads.data[t].intervals.n + 1, sizeof(*idle->reasons[t]));
		if (!idle->reasons[t])
			err = -ENOMEM;
	}
	if (!found || !latest)
		err = -ENOMEM;
	while (!err && interval_windows__next(&windows, &range))
		for (size_t i = range.first; i < range.until; i++)
			idle->reasons[range.thread][i] = (uint8_t)judge_wait(
				idle, range.thread, i, judgements, found, latest);
	interval_windows__free(&windows);
	return err;
}

/*
 * Waits for another thread may be interrupted, to look whether there is a deadlock, ...: where no
 * requests arrive, waits that no thread ended are what most of those are that threads ended.
 */
static int judge_timeouts(const struct wait_sites *sites, struct site_judgement *judgements)
{
	_cleanup_free_ uint64_t *busy_ns = calloc(sites->sites.n, sizeof(*busy_ns));
	_cleanup_free_ uint64_t *all_ns = calloc(sites->sites.n, sizeof(*all_ns));

	if (!busy_ns || !all_ns)
		return -ENOMEM;
	for (size_t s = 1; s < sites->sites.n; s++) {
		const struct wait_site *site = &sites->sites.data[s];

		if (!site->end)
			continue;
		all_ns[site->place] += site->ns;
		busy_ns[site->place] += judgements[s].verdict == SITE_BUSY ? site->ns : 0;
	}
	for (size_t s = 1; s < sites->sites.n; s++) {
		const struct wait_site *site = &sites->sites.data[s];

		if (!site->end && !sites->sites.data[site->place].place_requests &&
		    is_most(busy_ns[site->place], all_ns[site->place]))
			judgements[s] = BUSY;
	}
	return 0;
}

static int judge(struct idle_waits *idle)
{
	const struct wait_sites *sites = &idle->sites;
	_cleanup_free_ struct site_judgement *judgements =
		calloc(sites->sites.n, sizeof(*judgements));
	int err;

	idle->hints = idle_hints__make(idle->model);
	idle->n_threads = idle->model->threads.n;
	idle->reasons = calloc(idle->n_threads, sizeof(*idle->reasons));
	if (!idle->hints || !idle->reasons || !judgements)
		return -ENOMEM;
	for (size_t s = 1; s < sites->sites.n; s++)
		judgements[s] = judge_site(idle, &sites->sites.data[s]);
	err = judge_timeouts(sites, judgements);
	err = err ? err : judge_waits(idle, judgements);
	err = err ? err : idle_needs__apply(sites, judgements, idle->reasons);
	return err ? err : idle_joins__apply(sites, idle->reasons);
}

int idle_waits__new(const struct model *model, struct kinds *kinds, struct idle_waits **out)
{
	_cleanup_idle_waits_ struct idle_waits *idle = calloc(1, sizeof(*idle));
	int err;

	if (!idle)
		return -ENOMEM;
	idle->model = model;
	err = wait_sites__find(model, kinds, &idle->sites);
	err = err ? err : judge(idle);
	if (err)
		return err;
	wait_sites__free(&idle->sites);
	idle->sites = (struct wait_sites){};
	*out = TAKE_PTR(idle);
	return 0;
}

void idle_waits__free(struct idle_waits *idle)
{
	if (!idle)
		return;
	wait_sites__free(&idle->sites);
	for (size_t t = 0; idle->reasons && t < idle->n_threads; t++)
		free(idle->reasons[t]);
	free(idle->reasons);
	free(idle->hints);
	free(idle);
}

enum idle_reason idle_waits__reason(const struct idle_waits *idle, uint32_t thread, size_t interval)
{
	return idle->reasons[thread] ? (enum idle_reason)idle->reasons[thread][interval] : IDLE_NOT;
}
