// SPDX-License-Identifier: BSD-2-Clause
/*
 * Work in the background: what threads do that the path created or woke up, while the path does not
 * wait for them. It lasts until the thread's next wait for work, and may start more.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path_account.h"
#include "base/cleanup.h"

/* Work can start other work, which starts more: so many times it is followed. */
#define MAX_GENERATIONS 16

struct background {
	struct path *path;
	const struct idle_waits *idle;
	bool tree;
	path_pieces covered; /* the path's, and the background's that was found so far; sorted */
	path_pieces latest;  /* in which starters are looked for; sorted */
	path_pieces fresh;
	ARRAY(uint32_t) starters; /* by fresh piece */
	uint32_t *known;	  /* by thread: 1 + index in path->background */
	uint32_t entry;		  /* index there of the work that is being explained */
};

static int compare_pieces(const void *a, const void *b)
{
	const struct path_piece *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

void path_pieces__sort(path_pieces *pieces)
{
	if (pieces->n)
		qsort(pieces->data, pieces->n, sizeof(*pieces->data), compare_pieces);
}

/* The first of the sorted @pieces of @thread that ends after @time, or of a later thread. */
static size_t piece_at(const path_pieces *pieces, uint32_t thread, uint64_t time)
{
	size_t low = 0, high = pieces->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct path_piece *piece = &pieces->data[middle];

		if (piece->thread < thread || (piece->thread == thread && piece->until <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether @thread is in one of @pieces at @time; at its very end, too: it wakes what follows. */
static bool is_in(const path_pieces *pieces, uint32_t thread, uint64_t time)
{
	size_t at = piece_at(pieces, thread, time ? time - 1 : 0);

	return at < pieces->n && pieces->data[at].thread == thread && pieces->data[at].from <= time;
}

/* Whether interval @i of @thread is a wait for work. A wait for a lock is not. */
static bool is_wait_for_work(const struct background *background, uint32_t thread, size_t i)
{
	const struct path *path = background->path;
	const struct model_interval *interval =
		&path->model->threads.data[thread].intervals.data[i];

	if (interval->flags & INTERVAL_PREEMPTED)
		return false;
	if (background->idle && idle_waits__reason(background->idle, thread, i))
		return true;
	return interval->class != CLASS_LOCK &&
	       kind__info(wait_causes__kind(path->causes, interval))->idle != KIND_IDLE_NEVER;
}

/* When the work of @thread that interval number @interval follows ends. */
static uint64_t end_of_work(const struct background *background, uint32_t thread, size_t interval)
{
	const struct model_thread *of = &background->path->model->threads.data[thread];

	for (size_t i = interval; i < of->intervals.n; i++)
		if (is_wait_for_work(background, thread, i))
			return of->intervals.data[i].t_out;
	return of->ended;
}

/* Adds what of [@from, @until) is not covered yet. */
static int add_work(struct background *background, uint32_t thread, uint64_t from, uint64_t until,
		    uint32_t starter)
{
	const path_pieces *covered = &background->covered;

	if (until > background->path->until)
		until = background->path->until;
	for (size_t at = piece_at(covered, thread, from); from < until; at++) {
		const struct path_piece *next = at < covered->n ? &covered->data[at] : NULL;
		bool mine = next && next->thread == thread && next->from < until;
		struct path_piece piece = {thread, from, mine ? next->from : until};

		if (piece.from < piece.until && (array__push(&background->fresh, piece) ||
						 array__push(&background->starters, starter)))
			return -ENOMEM;
		if (!mine)
			break;
		from = next->until;
	}
	return 0;
}

/* Looks for waits of @thread that the latest work ended. */
static int look_at(struct background *background, uint32_t thread)
{
	const struct model_thread *of = &background->path->model->threads.data[thread];
	uint64_t done = 0;

	if (of->flags & THREAD_CREATED && is_in(&background->latest, of->parent, of->created)) {
		done = end_of_work(background, thread, 0);
		if (add_work(background, thread, of->created, done, of->parent))
			return -ENOMEM;
	}
	for (size_t i = 0; i < of->intervals.n; i++) {
		const struct model_interval *interval = &of->intervals.data[i];
		uint64_t wake = interval->t_out + interval->blocked_ns;
		struct wait_cause cause;

		if (wake < done || wake < background->path->from ||
		    wake >= background->path->until ||
		    !is_in(&background->latest, interval->waker, wake) ||
		    !is_wait_for_work(background, thread, i))
			continue;
		cause = wait_causes__of(background->path->causes, thread, interval);
		if (cause.type != CAUSE_THREAD || cause.id != interval->waker)
			continue;
		done = end_of_work(background, thread, i + 1);
		if (add_work(background, thread, wake, done, cause.id))
			return -ENOMEM;
	}
	return 0;
}

/* The entry of the thread of @piece, added if it is new. 0 or -ENOMEM. */
static int begin_entry(struct background *background, const struct path_piece *piece,
		       uint32_t starter)
{
	struct path *path = background->path;
	struct path_background added = {
		.thread = piece->thread, .starter = starter, .first = piece->from};
	uint32_t *known = &background->known[piece->thread];

	if (!*known) {
		if (array__push(&path->background, added))
			return -ENOMEM;
		*known = (uint32_t)path->background.n;
	}
	background->entry = *known - 1;
	path->background.data[background->entry].count++;
	return 0;
}

static int on_enter(void *context, const struct path_level *level)
{
	struct background *background = context;

	return background->tree ? path_tree__enter(&background->path->background_tree, level) : 0;
}

/* What it waits for is no work of its own: if it started that, that is in the background, too. */
static int on_step(void *context, const struct path_step *step)
{
	struct background *background = context;
	struct path *path = background->path;
	uint32_t node;

	if (path_category__is_accounted(step->category) && step->category != PATH_OTHER_PATH)
		path->background.data[background->entry].ns += step->until - step->from;
	return background->tree ? path_tree__step(&path->background_tree, step, &node) : 0;
}

static int on_leave(void *context, const struct path_level *level)
{
	struct background *background = context;

	if (background->tree)
		path_tree__leave(&background->path->background_tree);
	return 0;
}

static int compare_background(const void *a, const void *b)
{
	const struct path_background *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Moves the fresh pieces to the latest, explains them, and adds them to what is covered. */
static int next_generation(struct background *background)
{
	struct path_visitor visitor = {on_enter, on_step, on_leave, background};
	struct path_walk walk = background->path->walk;
	path_pieces fresh = background->fresh;
	int err = 0;

	walk.max_depth = 0;
	for (size_t i = 0; i < fresh.n && !err; i++) {
		err = begin_entry(background, &fresh.data[i], background->starters.data[i]);
		if (!err)
			err = path__walk(&walk, fresh.data[i].thread, fresh.data[i].from,
					 fresh.data[i].until, &visitor);
	}
	for (size_t i = 0; i < fresh.n && !err; i++)
		err = array__push(&background->covered, fresh.data[i]);
	path_pieces__sort(&background->covered);
	path_pieces__sort(&fresh);
	array__free(&background->latest);
	background->latest = fresh;
	background->fresh = (__typeof__(background->fresh)){};
	background->starters.n = 0;
	return err;
}

static int find(struct background *background)
{
	const struct model *model = background->path->model;
	int err = 0;

	for (int n = 0; n < MAX_GENERATIONS && background->latest.n && !err; n++) {
		for (uint32_t t = 1; t < model->threads.n && !err; t++)
			if (path__is_recorded(&model->threads.data[t]))
				err = look_at(background, t);
		err = err ? err : next_generation(background);
	}
	return err;
}

int path_background__find(struct path *path, const struct idle_waits *idle,
			  const path_pieces *covered, bool tree)
{
	struct background background = {.path = path, .idle = idle, .tree = tree};
	int err = path_tree__begin(&path->background_tree, path->model, path->causes);

	background.known = calloc(path->model->threads.n, sizeof(*background.known));
	if (err || !background.known)
		err = -ENOMEM;
	for (size_t i = 0; i < covered->n && !err; i++)
		if (array__push(&background.covered, covered->data[i]) ||
		    array__push(&background.latest, covered->data[i]))
			err = -ENOMEM;
	err = err ? err : find(&background);
	err = err || !tree ? err : path_tree__finish(&path->background_tree);
	if (path->background.n)
		qsort(path->background.data, path->background.n, sizeof(*path->background.data),
		      compare_background);
	array__free(&background.covered);
	array__free(&background.latest);
	array__free(&background.fresh);
	array__free(&background.starters);
	free(background.known);
	return err;
}
