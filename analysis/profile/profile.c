// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/wait_class.h"

static const char *const key_names[PROFILE_KEY_COUNT] = {
	[PROFILE_COMM] = "comm",      [PROFILE_PID] = "pid",   [PROFILE_TID] = "tid",
	[PROFILE_THREAD] = "thread",  [PROFILE_DSO] = "dso",   [PROFILE_SYMBOL] = "symbol",
	[PROFILE_CLASS] = "class",    [PROFILE_KIND] = "kind", [PROFILE_OBJECT] = "object",
	[PROFILE_LINE] = "file:line",
};

static const struct {
	const char *name;
	enum profile_key key;
} key_aliases[] = {
	{"sym", PROFILE_SYMBOL},
	{"line", PROFILE_LINE},
	{"srcline", PROFILE_LINE},
};

int profile_key__parse(const char *name, size_t n)
{
	for (int key = 0; key < PROFILE_KEY_COUNT; key++)
		if (strlen(key_names[key]) == n && !strncmp(key_names[key], name, n))
			return key;
	for (size_t i = 0; i < ARRAY_SIZE(key_aliases); i++)
		if (strlen(key_aliases[i].name) == n && !strncmp(key_aliases[i].name, name, n))
			return (int)key_aliases[i].key;
	return -1;
}

/* The part of a row's time that has one kind and one kernel function. */
struct part {
	uint32_t row;
	uint32_t kernel;
	enum wait_kind kind;
	uint64_t ns;
};

struct profiler {
	const struct model *model;
	struct kinds *kinds;
	const struct profile_options *options;
	struct profile *profile;
	struct map64 row_index;	 /* hash of a row's keys -> row */
	struct map64 part_index; /* hash of (row, kind, kernel) -> part */
	ARRAY(struct part) parts;
	ARRAY(uint32_t) seen; /* rows to whose totals the current group's time was added */
	struct callchain chain;
};

enum wait_kind sample_group__kind(struct kinds *kinds, const struct sample_group *group)
{
	const struct wait_description description = {
		.class = group->class,
		.flags = group->flags,
		.syscall = group->syscall,
		.kernel = group->kernel,
		.object = group->object,
	};

	return kinds__of(kinds, &description);
}

static bool row_same(const struct profile_row *a, const struct profile_row *b)
{
	return a->comm == b->comm && a->pid == b->pid && a->tid == b->tid && a->dso == b->dso &&
	       a->symbol == b->symbol && a->address == b->address && a->file == b->file &&
	       a->line == b->line && a->class == b->class && a->level_kernel == b->level_kernel &&
	       a->no_frame == b->no_frame && a->idle == b->idle && a->object == b->object &&
	       a->kind == b->kind;
}

static uint64_t row_hash(const struct profile_row *row)
{
	uint64_t hash = hash__add((uint64_t)row->comm << 32 | row->tid, row->pid);

	hash = hash__add(hash, (uint64_t)row->dso << 32 | row->symbol);
	hash = hash__add(hash, row->address);
	hash = hash__add(hash, (uint64_t)row->file << 32 | row->line);
	hash = hash__add(hash, (uint64_t)row->object << 32 | (uint64_t)row->kind << 16 |
				       (uint64_t)row->class << 8 | row->idle << 2 |
				       row->level_kernel << 1 | row->no_frame);
	return hash;
}

/*
 * The row with the keys of @wanted, added if there is none; -ENOMEM. Fields that are no keys are 0
 * in @wanted. (Unless it is a key, the kind is set at the end, by profiler_name_kinds().)
 */
static int64_t profiler_row(struct profiler *profiler, const struct profile_row *wanted)
{
	struct profile *profile = profiler->profile;

	for (uint64_t key = row_hash(wanted);; key++) {
		uint64_t *at = map64__put(&profiler->row_index, key, profile->rows.n);

		if (!at)
			return -ENOMEM;
		if (*at == profile->rows.n) {
			if (array__push(&profile->rows, *wanted))
				return -ENOMEM;
			profile->rows.data[*at].number = (uint32_t)*at;
			return (int64_t)*at;
		}
		if (row_same(&profile->rows.data[*at], wanted))
			return (int64_t)*at;
	}
}

static bool profiler_has(const struct profiler *profiler, enum profile_key key)
{
	return profiler->options->keys & 1U << key;
}

static void profiler_set_line(const struct profiler *profiler, size_t at, bool outer,
			      struct profile_row *row)
{
	const struct callchain *chain = &profiler->chain;
	ssize_t line = (ssize_t)at;
	const struct model_frame *frame;

	/* Off the CPU the innermost function belongs to the C library: take its caller's line. */
	if (outer)
		line = callchain__line(chain, profiler->model, at);
	if (line < 0)
		return;
	frame = &profiler->model->frames.data[chain->frames.data[line].frame];
	row->file = frame->file;
	row->line = frame->line;
}

/*
 * The keys of the row of @group's frame @at in the chain (-1: it has none). A @caller has one row
 * for all classes of its callees, with class CLASS_CPU, unless the class is a key.
 */
static struct profile_row profiler_keys(const struct profiler *profiler,
					const struct sample_group *group, ssize_t at,
					enum wait_kind kind, bool caller)
{
	const struct model_thread *thread = &profiler->model->threads.data[group->thread];
	bool symbol = profiler_has(profiler, PROFILE_SYMBOL);
	const struct callchain_frame *frame = NULL;
	struct profile_row row = {};

	if (at >= 0)
		frame = &profiler->chain.frames.data[at];
	if (profiler_has(profiler, PROFILE_COMM) || profiler_has(profiler, PROFILE_THREAD))
		row.comm = group->comm;
	if (profiler_has(profiler, PROFILE_PID) || profiler_has(profiler, PROFILE_THREAD))
		row.pid = thread->tgid;
	if (profiler_has(profiler, PROFILE_TID) || profiler_has(profiler, PROFILE_THREAD))
		row.tid = thread->tid;
	if (profiler_has(profiler, PROFILE_CLASS) || (symbol && !caller))
		row.class = group->class;
	if (row.class == CLASS_CPU && symbol && frame)
		row.level_kernel = frame->kernel;
	row.idle = row.class && group->idle;
	if (profiler_has(profiler, PROFILE_KIND) || profiler_has(profiler, PROFILE_OBJECT))
		row.kind = kind;
	if (profiler_has(profiler, PROFILE_OBJECT))
		row.object = group->object;
	if (frame && profiler_has(profiler, PROFILE_DSO))
		row.dso = frame->dso;
	if (frame && symbol) {
		row.symbol = frame->name;
		if (!row.symbol)
			row.address = profiler->model->locations.data[frame->location].address;
	}
	row.no_frame = symbol && !frame;
	if (frame && profiler_has(profiler, PROFILE_LINE))
		profiler_set_line(profiler, (size_t)at, group->class != CLASS_CPU, &row);
	return row;
}

/* Adds to the part of @row that has @kind and @kernel, see profiler_name_kinds(). */
static int profiler_add_part(struct profiler *profiler, uint32_t row, enum wait_kind kind,
			     uint32_t kernel, uint64_t ns)
{
	uint64_t key = hash__add((uint64_t)row << 32 | kernel, (uint64_t)kind);

	for (;; key++) {
		uint64_t *at = map64__put(&profiler->part_index, key, profiler->parts.n);
		struct part *part;

		if (!at)
			return -ENOMEM;
		if (*at == profiler->parts.n) {
			struct part added = {row, kernel, kind, ns};

			return array__push(&profiler->parts, added);
		}
		part = &profiler->parts.data[*at];
		if (part->row == row && part->kernel == kernel && part->kind == kind) {
			part->ns += ns;
			return 0;
		}
	}
}

static int profiler_add_tree(struct profiler *profiler, uint32_t index,
			     const struct sample_group *group, size_t at)
{
	const struct profile_options *options = profiler->options;
	struct profile *profile = profiler->profile;
	struct profile_row *row = &profile->rows.data[index];
	size_t n = profiler->chain.frames.n;
	char letter = group->class == CLASS_CPU ? '\0' : wait_class__letter(group->class, false);
	size_t from = 0, to = n;

	if (!options->tree || !n)
		return 0;
	if (!row->tree)
		row->tree = calltree__root(&profile->trees);
	if (!row->tree)
		return -ENOMEM;
	/* The tree of a function has its callees, or its callers, only. */
	if (profiler_has(profiler, PROFILE_SYMBOL) || profiler_has(profiler, PROFILE_LINE)) {
		if (options->tree == CALLTREE_CALLEE)
			from = at;
		else if (options->children)
			to = at + 1;
	}
	return calltree__add(&profile->trees, row->tree, profiler->model, &profiler->chain, from,
			     to, options->tree, letter, group->ns);
}

/* Adds the group's time to the row of frame @at, only once if the function is recursive. */
static int profiler_add_total(struct profiler *profiler, const struct sample_group *group,
			      ssize_t at, enum wait_kind kind, bool caller)
{
	struct profile_row keys = profiler_keys(profiler, group, at, kind, caller);
	int64_t index = profiler_row(profiler, &keys);
	struct profile_row *row;

	if (index < 0)
		return (int)index;
	for (size_t i = 0; i < profiler->seen.n; i++)
		if (profiler->seen.data[i] == (uint32_t)index)
			return 0;
	if (array__push(&profiler->seen, (uint32_t)index))
		return -ENOMEM;
	row = &profiler->profile->rows.data[index];
	row->total_ns += group->ns;
	row->total_points += group->points;
	row->idle_ns += group->idle ? group->ns : 0;
	return profiler_add_tree(profiler, (uint32_t)index, group, at < 0 ? 0 : (size_t)at);
}

static int profiler_add_callers(struct profiler *profiler, const struct sample_group *group,
				ssize_t self, enum wait_kind kind)
{
	int err = profiler_add_total(profiler, group, self, kind, false);

	for (size_t at = self < 0 ? 0 : (size_t)self + 1;
	     self >= 0 && at < profiler->chain.frames.n && !err; at++)
		err = profiler_add_total(profiler, group, (ssize_t)at, kind, true);
	return err;
}

static int profiler_add(struct profiler *profiler, const struct sample_group *group)
{
	const struct profile_options *options = profiler->options;
	enum wait_kind kind = sample_group__kind(profiler->kinds, group);
	bool off_cpu = group->class != CLASS_CPU;
	struct profile_row keys, *row;
	uint32_t kernel = 0;
	int64_t index;
	ssize_t self;
	int err;

	err = callchain__set(&profiler->chain, profiler->model, group->kernel, group->user,
			     off_cpu);
	if (err)
		return err;
	self = callchain__row(&profiler->chain, profiler->model, off_cpu, options->kernel);
	if (profiler->chain.n_kernel)
		kernel = profiler->chain.frames.data[0].name;
	keys = profiler_keys(profiler, group, self, kind, false);
	index = profiler_row(profiler, &keys);
	if (index < 0)
		return (int)index;
	row = &profiler->profile->rows.data[index];
	row->points += group->points;
	row->self_ns += group->ns;
	row->count += group->count;
	err = profiler_add_part(profiler, (uint32_t)index, kind, kernel, group->ns);
	profiler->seen.n = 0;
	if (options->children)
		return err ? err : profiler_add_callers(profiler, group, self, kind);
	return err ? err : profiler_add_total(profiler, group, self, kind, false);
}

/* Sets each row's kind and kernel function to those of its largest part. */
static void profiler_name_kinds(struct profiler *profiler)
{
	for (size_t i = 0; i < profiler->parts.n; i++) {
		const struct part *part = &profiler->parts.data[i];
		struct profile_row *row = &profiler->profile->rows.data[part->row];

		if (row->best_ns >= part->ns && row->kind)
			continue;
		row->best_ns = part->ns;
		row->kind = part->kind;
		row->kernel = part->kernel;
	}
}

static int row_order(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	/* Any order that is reproducible. */
	return (x->number > y->number) - (x->number < y->number);
}

int profile__make(const struct model *model, struct kinds *kinds,
		  const struct sample_filter *filter, const struct profile_options *options,
		  struct profile *profile)
{
	struct profiler profiler = {
		.model = model, .kinds = kinds, .options = options, .profile = profile};
	int err;

	*profile = (struct profile){};
	err = sample_groups__collect(model, filter, &profile->groups);
	profile->ns = profile->groups.ns - (options->idle ? 0 : profile->groups.idle_ns);
	profile->points =
		profile->groups.points - (options->idle ? 0 : profile->groups.idle_points);
	for (size_t i = 0; i < profile->groups.groups.n && !err; i++)
		if (options->idle || !profile->groups.groups.data[i].idle)
			err = profiler_add(&profiler, &profile->groups.groups.data[i]);
	profiler_name_kinds(&profiler);
	err = err ? err : calltree__sort(&profile->trees);
	if (profile->rows.n)
		qsort(profile->rows.data, profile->rows.n, sizeof(*profile->rows.data), row_order);
	map64__free(&profiler.row_index);
	map64__free(&profiler.part_index);
	array__free(&profiler.parts);
	array__free(&profiler.seen);
	callchain__free(&profiler.chain);
	if (err)
		profile__free(profile);
	return err;
}

void profile__free(struct profile *profile)
{
	array__free(&profile->rows);
	calltree__free(&profile->trees);
	sample_groups__free(&profile->groups);
}
