// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kinds/tcp_holds.h"
#include "analysis/path/path_walk.h"
#include "render/html/page_recording.h"

enum level_column {
	LEVEL_THREAD,
	LEVEL_DEPTH,
	LEVEL_FROM,
	LEVEL_LENGTH,
	LEVEL_UP,
	LEVEL_RELATION,
	LEVEL_COLUMNS,
};

enum step_column {
	STEP_LEVEL,
	STEP_LENGTH,
	STEP_CATEGORY,
	STEP_STACK,
	STEP_ABOUT,
	STEP_COLUMNS,
};

struct page_path {
	struct page_recording *page;
	struct table levels;
	struct table steps;
	ARRAY(uint32_t) open; /* numbers of the levels that have not ended, the base first */
	uint64_t from;	      /* of the level before */
	uint32_t n_levels;
	uint32_t level; /* of the step before */
	uint64_t ns[PATH_CATEGORY_COUNT];
	struct run_groups *runs;
	struct map64 given_at; /* number of a group -> where its shares begin in given */
	ARRAY(uint64_t) given; /* see run_group__next() */
};

static int enter(void *context, const struct path_level *level)
{
	struct page_path *path = context;
	uint32_t number = path->n_levels++;
	uint64_t from = page__time(path->page->model, level->from);
	struct table *table = &path->levels;

	table__put(table, LEVEL_THREAD, level->thread);
	table__put(table, LEVEL_DEPTH, level->depth);
	table__put_signed(table, LEVEL_FROM, (int64_t)(from - path->from));
	table__put(table, LEVEL_LENGTH, page__time(path->page->model, level->until) - from);
	table__put(table, LEVEL_UP, path->open.n ? number - path->open.data[path->open.n - 1] : 0);
	table__put(table, LEVEL_RELATION, level->relation);
	path->from = from;
	return array__push(&path->open, number) ? -ENOMEM : 0;
}

static int leave(void *context, const struct path_level *level)
{
	struct page_path *path = context;

	path->open.n--;
	return 0;
}

/*
 * The stack of a run that was not sampled: each has one of those of its group, so that the times of
 * all of them are right.
 */
static int64_t estimated_stack(struct page_path *path, const struct path_step *step)
{
	const struct run_group *group = run_groups__at(path->runs, step->group);
	const struct run_share *shares = run_groups__shares(path->runs, step->group);
	uint64_t *at = map64__put(&path->given_at, step->group, path->given.n);
	const struct run_share *share;

	if (!at)
		return -ENOMEM;
	if (*at == path->given.n) {
		if (array__reserve(&path->given, group->n))
			return -ENOMEM;
		memset(path->given.data + path->given.n, 0, group->n * sizeof(*path->given.data));
		path->given.n += group->n;
	}
	share = &shares[run_group__next(group, shares, path->given.data + *at,
					step->until - step->from)];
	return page__stack(path->page, share->kernel, share->user, false);
}

static int64_t step_stack(struct page_path *path, const struct path_step *step)
{
	const struct model_thread *thread = &path->page->model->threads.data[step->thread];
	struct page_recording *page = path->page;

	if (step->doing == PATH_ESTIMATED)
		return estimated_stack(path, step);
	if (step->sample) {
		const struct model_sample *sample = &thread->samples.data[step->sample - 1];

		return page__stack(page, sample->kernel, sample->user, false);
	}
	if (step->doing == PATH_NOT_SAMPLED && step->category != PATH_NOT_SAMPLED)
		return 0; /* what has the CPU that the path waits for: not known */
	if (step->interval) {
		const struct model_interval *interval = &thread->intervals.data[step->interval - 1];

		return page__stack(page, interval->kernel, interval->user, true);
	}
	return 0;
}

/* The device, peer or thread that the step is about. */
static int64_t step_about(struct page_path *path, const struct path_step *step)
{
	struct page_recording *page = path->page;
	const struct model *model = page->model;
	const struct model_thread *thread;
	char text[512];

	switch (step->category) {
	case PATH_DISK_ACTIVE:
	case PATH_DISK_QUEUED:
		return page_strings__id(&page->strings,
					model__string(model, model->devices.data[step->id].name));
	case PATH_PEER:
	case PATH_STOPPED:
		return page_strings__id(&page->strings,
					own_strings__text(page->from->strings, step->id));
	case PATH_TCP:
		kind__describe(model,
			       tcp_hold__kind((enum hold_reason)model->objects.data[step->id].hold),
			       step->id, text, sizeof(text));
		return page_strings__id(&page->strings, text);
	case PATH_RUN_QUEUE:
	case PATH_PREEMPTED:
	case PATH_DELIVERY:
	case PATH_OTHER_PATH:
	case PATH_NOT_RECORDED:
		if (!step->id || step->id == step->thread)
			return 0;
		thread = &model->threads.data[step->id];
		snprintf(text, sizeof(text), "%s/%u",
			 model__string(model, model_thread__comm(thread, step->from)), thread->tid);
		return page_strings__id(&page->strings, text);
	default:
		return 0;
	}
}

static int put_step(void *context, const struct path_step *step)
{
	struct page_path *path = context;
	uint32_t level = path->open.n ? path->open.data[path->open.n - 1] : 0;
	int64_t stack = step_stack(path, step);
	int64_t about = step_about(path, step);
	struct table *table = &path->steps;

	if (stack < 0 || about < 0)
		return -ENOMEM;
	table__put_signed(table, STEP_LEVEL, (int64_t)level - (int64_t)path->level);
	table__put(table, STEP_LENGTH,
		   page__time(path->page->model, step->until) -
			   page__time(path->page->model, step->from));
	table__put(table, STEP_CATEGORY, step->category);
	table__put(table, STEP_STACK, (uint64_t)stack);
	table__put(table, STEP_ABOUT, (uint64_t)about);
	path->level = level;
	path->ns[step->category] += step->until - step->from;
	return 0;
}

/* What the JSON block says of the path. */
static json_t *account(const struct page_path *path, uint32_t thread, uint64_t from, uint64_t until)
{
	json_t *categories = json_object(), *names = json_array();
	uint64_t accounted = 0;

	for (int i = 0; i < PATH_CATEGORY_COUNT; i++) {
		const char *name = path_category__name((enum path_category)i);

		json_object_set_new(categories, name, json_integer((json_int_t)path->ns[i]));
		json_array_append_new(names, json_string(name));
		if (path_category__is_accounted((enum path_category)i))
			accounted += path->ns[i];
	}
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:o, s:o}", "thread", (int)thread, "from",
			 (json_int_t)page__time(path->page->model, from), "until",
			 (json_int_t)page__time(path->page->model, until), "wall_ns",
			 (json_int_t)(until - from), "accounted_ns", (json_int_t)accounted,
			 "categories", categories, "names", names);
}

static int write_blocks(struct page_path *path, json_t *about)
{
	struct page_recording *page = path->page;
	char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
	char name[48];
	int err = text ? 0 : -ENOMEM;

	if (!err) {
		page__block_name(page, "path", name);
		err = block__write(page->to, name, text, strlen(text));
	}
	free(text);
	page__block_name(page, "path.levels", name);
	err = err ? err : table__write(&path->levels, LEVEL_COLUMNS, name, page->to);
	page__block_name(page, "path.steps", name);
	return err ? err : table__write(&path->steps, STEP_COLUMNS, name, page->to);
}

int page_path__write(struct page_recording *page, uint32_t thread)
{
	const struct model *model = page->model;
	const struct model_thread *base = &model->threads.data[thread];
	struct path_walk walk = {
		.model = model,
		.causes = page->from->causes,
		.kinds = page->from->kinds,
		.idle = page->from->idle,
		.slack_ns = path__slack(model),
		.max_depth = UINT32_MAX,
	};
	uint64_t from = base->created > model->start ? base->created : model->start;
	uint64_t until = base->ended < model->end ? base->ended : model->end;
	struct page_path path = {.page = page};
	const struct path_visitor visitor = {
		.enter = enter, .step = put_step, .leave = leave, .context = &path};
	json_t *about = NULL;
	int err = run_groups__new(model, walk.kinds, &walk.runs);

	err = err ? err : cpu_occupants__new(model, &walk.cpus);
	path.runs = walk.runs;
	if (!err)
		err = from < until ? path__walk(&walk, thread, from, until, &visitor) : -ENODATA;
	if (!err) {
		about = account(&path, thread, from, until);
		err = write_blocks(&path, about);
	}
	json_decref(about);
	run_groups__free(walk.runs);
	cpu_occupants__free(walk.cpus);
	map64__free(&path.given_at);
	array__free(&path.given);
	array__free(&path.open);
	table__free(&path.levels);
	table__free(&path.steps);
	return err == -ENODATA ? 0 : err;
}
