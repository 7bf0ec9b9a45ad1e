// SPDX-License-Identifier: BSD-2-Clause
/*
 * Work in the background: what threads do that the path created or woke up, while the path does not
 * wait for them. It lasts until the thread's next wait for work, and may start more.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path_parts.h"
#include "base/cleanup.h"
#include "base/sorted.h"

/* Work can start other work, which starts more: it is followed this many times. */
#define MAX_GENERATIONS 16

/* Pieces by thread and time. */
struct piece_table {
	path_pieces pieces; /* sorted */
	size_t *first;	    /* by thread: its first piece; one more element */
	size_t *found;	    /* by thread: the piece that was found last, counted from its first */
};

struct background {
	struct path *path;
	const struct idle_waits *idle;
	bool tree;
	struct piece_table covered; /* the path's, and the background's that was found so far */
	struct piece_table latest;  /* in which starters are looked for */
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

static void sort_pieces(path_pieces *pieces)
{
	if (pieces->n)
		qsort(pieces->data, pieces->n, sizeof(*pieces->data), compare_pieces);
}

static int piece_table_begin(struct piece_table *table, size_t n_threads)
{
	table->first = calloc(n_threads + 1, sizeof(*table->first));
	table->found = calloc(n_threads, sizeof(*table->found));
	return table->first && table->found ? 0 : -ENOMEM;
}

static void piece_table_free(struct piece_table *table)
{
	array__free(&table->pieces);
	free(table->first);
	free(table->found);
}

/* To be called whenever pieces were added to the table, and sorted. */
static void piece_table_index(struct piece_table *table, size_t n_threads)
{
	size_t at = 0;

	for (size_t t = 0; t < n_threads; t++) {
		table->first[t] = at;
		table->found[t] = 0;
		while (at < table->pieces.n && table->pieces.data[at].thread == t)
			at++;
	}
	table->first[n_threads] = at;
}

/*
 * The first piece of @thread that ends after @time, or NULL. Fast if it is close to the one that
 * was found last.
 */
static const struct path_piece *piece_at(struct piece_table *table, uint32_t thread, uint64_t time)
{
	size_t first = table->first[thread], n = table->first[thread + 1] - first;
	const struct path_piece *pieces = n ? table->pieces.data + first : NULL;
	size_t *found = &table->found[thread];

	*found = SORTED_COUNT_UNTIL(pieces, n, until, time, *found);
	return *found < n ? &pieces[*found] : NULL;
}

/* Whether @thread is in one of the pieces at @time; at its very end, too: it wakes what follows. */
static bool is_in(struct piece_table *table, uint32_t thread, uint64_t time)
{
	const struct path_piece *piece = piece_at(table, thread, time ? time - 1 : 0);

	return piece && piece->from <= time;
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
	struct piece_table *covered = &background->covered;
	const struct path_piece *next = piece_at(covered, thread, from);
	const struct path_piece *last = covered->pieces.data + covered->first[thread + 1];

	if (until > background->path->until)
		until = background->path->until;
	for (; from < until; next++) {
		bool mine = next && next < last && next->from < until;
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
		    wake >= background->path->until || !is_wait_for_work(background, thread, i) ||
		    !is_in(&background->latest, interval->waker, wake))
			continue;
		cause = wait_causes__beside_holds(background->path->causes, thread, interval);
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

	if (path_category__is_accounted(step->category))
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
	size_t n_threads = background->path->model->threads.n;
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
		err = array__push(&background->covered.pieces, fresh.data[i]);
	array__free(&background->latest.pieces);
	background->latest.pieces = fresh;
	sort_pieces(&background->covered.pieces);
	sort_pieces(&background->latest.pieces);
	piece_table_index(&background->covered, n_threads);
	piece_table_index(&background->latest, n_threads);
	background->fresh = (__typeof__(background->fresh)){};
	background->starters.n = 0;
	return err;
}

static int find(struct background *background)
{
	const struct model *model = background->path->model;
	int err = 0;

	for (int n = 0; n < MAX_GENERATIONS && background->latest.pieces.n && !err; n++) {
		for (uint32_t t = 1; t < model->threads.n && !err; t++)
			if (model_thread__is_recorded(&model->threads.data[t]))
				err = look_at(background, t);
		err = err ? err : next_generation(background);
	}
	return err;
}

static int begin(struct background *background, const path_pieces *covered)
{
	size_t n_threads = background->path->model->threads.n;

	background->known = calloc(n_threads, sizeof(*background->known));
	if (!background->known || piece_table_begin(&background->covered, n_threads) ||
	    piece_table_begin(&background->latest, n_threads))
		return -ENOMEM;
	for (size_t i = 0; i < covered->n; i++)
		if (array__push(&background->covered.pieces, covered->data[i]))
			return -ENOMEM;
	sort_pieces(&background->covered.pieces);
	for (size_t i = 0; i < covered->n; i++)
		if (array__push(&background->latest.pieces, background->covered.pieces.data[i]))
			return -ENOMEM;
	piece_table_index(&background->covered, n_threads);
	piece_table_index(&background->latest, n_threads);
	return 0;
}

int path_background__find(struct path *path, const struct idle_waits *idle,
			  const path_pieces *covered, bool tree)
{
	struct background background = {.path = path, .idle = idle, .tree = tree};
	int err = path_tree__begin(&path->background_tree, path->model, path->causes, path->runs);

	err = err ? err : begin(&background, covered);
	err = err ? err : find(&background);
	err = err || !tree ? err : path_tree__finish(&path->background_tree);
	if (path->background.n)
		qsort(path->background.data, path->background.n, sizeof(*path->background.data),
		      compare_background);
	piece_table_free(&background.covered);
	piece_table_free(&background.latest);
	array__free(&background.fresh);
	array__free(&background.starters);
	free(background.known);
	return err;
}
