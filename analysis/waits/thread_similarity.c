// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/thread_similarity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* wPerf's own threshold: the part of their time that two threads spend alike. */
#define ALIKE 0.45

/* A thread that lived for less than this part of the recording came for a task. */
#define SHORT_PART  10
#define SHORT_LEAST 3 /* as many of them make a kind */

/* Where on the CPU a thread is says less about what it is for than who called that. */
#define OUTER_FRAMES 5

/* As many of what a thread does are compared: what it spends most time on. */
#define MOST_SHARES 128

/* How a thread spends its time: shares of stacks, in the order of their names. */
struct share {
	uint64_t name;
	double part;
};

struct habits {
	ARRAY(struct share) shares;
};

struct finder {
	const struct model *model;
	struct own_strings *strings;
	const struct similarity_options *options;
	struct thread_similarity *out;
	uint64_t *names;       /* of stacks */
	uint64_t *outer;       /* of stacks' outermost frames */
	uint64_t *patterns;    /* of threads: what those that may be merged have in common */
	uint32_t *texts;       /* of threads: string, the name with * for digits */
	struct habits *habits; /* of threads */
};

/* Code without names (of a JIT compiler, mostly) is all the same here: ~0. */
static uint64_t frame_name(const struct model *model, const struct model_location *location,
			   size_t k)
{
	uint32_t name = model->frames.data[location->frame + k].name;

	return name ? name : ~0ULL;
}

static uint64_t names_from(const struct model *model, const struct model_stack *stack, size_t from)
{
	uint64_t hash = 1, last = 0;

	for (size_t i = from; i < stack->depth; i++) {
		const struct model_location *location = model__location(model, stack, i);

		for (size_t k = 0; k < location->n_frames; k++) {
			uint64_t name = frame_name(model, location, k);

			if (name != ~0ULL || last != name)
				hash = hash__add(hash, name);
			last = name;
		}
	}
	return hash;
}

uint64_t *stack_names__make(const struct model *model)
{
	uint64_t *names = calloc(model->stacks.n, sizeof(*names));

	for (size_t i = 1; names && i < model->stacks.n; i++)
		names[i] = names_from(model, &model->stacks.data[i], 0);
	return names;
}

static uint64_t *outer_names(const struct model *model)
{
	uint64_t *names = calloc(model->stacks.n, sizeof(*names));

	for (size_t i = 1; names && i < model->stacks.n; i++) {
		const struct model_stack *stack = &model->stacks.data[i];

		names[i] =
			names_from(model, stack,
				   stack->depth > OUTER_FRAMES ? stack->depth - OUTER_FRAMES : 0);
	}
	return names;
}

/* "worker-12" as "worker-*". */
static uint32_t pattern_of(struct own_strings *strings, uint32_t comm)
{
	const char *name = own_strings__text(strings, comm);
	char text[64];
	size_t n = 0;

	for (size_t i = 0; name[i] && n + 1 < sizeof(text); i++) {
		bool digit = isdigit((unsigned char)name[i]);

		if (!digit)
			text[n++] = name[i];
		else if (!n || text[n - 1] != '*')
			text[n++] = '*';
	}
	text[n] = '\0';
	return own_strings__add(strings, text);
}

static uint32_t last_comm(const struct model_thread *thread)
{
	return thread->comms.n ? thread->comms.data[thread->comms.n - 1].name : 0;
}

/* What a process is: of which program, started by which other one. */
static uint64_t process_pattern(struct finder *finder, uint32_t index)
{
	const struct model_process *process = &finder->model->processes.data[index];
	const struct model_thread *leader = &finder->model->threads.data[process->leader];

	return hash__add(process->parent, pattern_of(finder->strings, last_comm(leader)));
}

static int find_patterns(struct finder *finder)
{
	const struct model *model = finder->model;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		finder->texts[i] = pattern_of(finder->strings, last_comm(thread));
		finder->patterns[i] =
			hash__add(process_pattern(finder, thread->process), finder->texts[i]);
	}
	return 0;
}

static int share__order(const void *a, const void *b)
{
	uint64_t one = ((const struct share *)a)->name, two = ((const struct share *)b)->name;

	return (one > two) - (one < two);
}

static int share__by_part(const void *a, const void *b)
{
	double one = ((const struct share *)a)->part, two = ((const struct share *)b)->part;

	return (one < two) - (one > two);
}

/* Shares of the same name as one, all of them adding up to 1; then only the greatest. */
static void settle(struct habits *habits)
{
	size_t n = 0;
	double sum = 0;

	if (!habits->shares.n)
		return;
	qsort(habits->shares.data, habits->shares.n, sizeof(struct share), share__order);
	for (size_t i = 0; i < habits->shares.n; i++) {
		struct share *share = &habits->shares.data[i];

		sum += share->part;
		if (n && habits->shares.data[n - 1].name == share->name)
			habits->shares.data[n - 1].part += share->part;
		else
			habits->shares.data[n++] = *share;
	}
	habits->shares.n = n;
	for (size_t i = 0; i < n && sum > 0; i++)
		habits->shares.data[i].part /= sum;
	if (n <= MOST_SHARES)
		return;
	qsort(habits->shares.data, n, sizeof(struct share), share__by_part);
	habits->shares.n = MOST_SHARES;
	qsort(habits->shares.data, MOST_SHARES, sizeof(struct share), share__order);
}

static int find_habits(struct finder *finder, uint32_t index)
{
	const struct model_thread *thread = &finder->model->threads.data[index];
	struct habits all = {}, *habits = &finder->habits[index];
	int err = array__reserve(&all.shares, thread->intervals.n + thread->samples.n);

	for (size_t i = 0; i < thread->intervals.n && !err; i++) {
		const struct model_interval *at = &thread->intervals.data[i];
		struct share share = {hash__add(finder->names[at->user], finder->names[at->kernel]),
				      (double)at->blocked_ns};

		if (at->blocked_ns)
			err = array__push(&all.shares, share);
	}
	for (size_t i = 0; i < thread->samples.n && !err; i++) {
		const struct model_sample *at = &thread->samples.data[i];
		struct share share = {hash__add(finder->outer[at->user], 1),
				      (double)at->weight * (double)finder->model->period_ns};

		err = array__push(&all.shares, share);
	}
	settle(&all);
	for (size_t i = 0; i < all.shares.n && !err; i++)
		err = array__push(&habits->shares, all.shares.data[i]);
	array__free(&all.shares);
	return err;
}

/* The part of their time that two threads spend alike (Dice's coefficient of the shares). */
static double alike(const struct habits *one, const struct habits *two)
{
	double sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < one->shares.n; i++) {
		const struct share *share = &one->shares.data[i];

		while (k < two->shares.n && two->shares.data[k].name < share->name)
			k++;
		if (k < two->shares.n && two->shares.data[k].name == share->name)
			sum += share->part < two->shares.data[k].part ? share->part
								      : two->shares.data[k].part;
	}
	return sum;
}

static bool is_unfolded(const struct finder *finder, uint32_t thread)
{
	const struct model *model = finder->model;
	const char *name = model__string(model, last_comm(&model->threads.data[thread]));
	const char *pattern = own_strings__text(finder->strings, finder->texts[thread]);

	for (size_t i = 0; i < finder->options->unfolded.n; i++)
		if (!strcmp(finder->options->unfolded.data[i], name) ||
		    !strcmp(finder->options->unfolded.data[i], pattern))
			return true;
	return finder->options->separate;
}

static bool is_short_lived(const struct model *model, const struct model_thread *thread)
{
	return thread->flags & THREAD_CREATED && thread->parent && thread->exited &&
	       thread->ended - thread->created < (model->end - model->start) / SHORT_PART;
}

/* Puts @thread into the group under @key, a new one if there is none yet. */
static int join(struct finder *finder, struct map64 *groups, uint64_t key, uint32_t thread,
		enum merged merged)
{
	struct thread_similarity *out = finder->out;
	uint64_t *group = map64__put(groups, key, out->groups.n);
	struct thread_group fresh = {
		.merged = merged,
		.leader = thread,
		.creator = finder->model->threads.data[thread].parent,
	};

	if (!group || (*group == out->groups.n && array__push(&out->groups, fresh)))
		return -ENOMEM;
	out->groups.data[*group].n++;
	out->group_of[thread] = (uint32_t)*group;
	return 0;
}

/*
 * Short-lived threads of one name and one creator. That may be such a thread itself
 * (a compiler's processes are children of children): then its kind is the creator.
 */
static int group_short_lived(struct finder *finder)
{
	const struct model *model = finder->model;
	_cleanup_free_ uint64_t *keys = calloc(model->threads.n, sizeof(*keys));
	struct map64 counts = {}, groups = {};
	int err = keys ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		uint64_t parent = keys[thread->parent] ? keys[thread->parent] : thread->parent;
		uint64_t *count;

		if (!is_short_lived(model, thread) || is_unfolded(finder, i))
			continue;
		keys[i] = hash__add(parent, finder->texts[i]);
		count = map64__put(&counts, keys[i], 0);
		err = count ? (++*count, 0) : -ENOMEM;
	}
	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		if (keys[i] && *map64__get(&counts, keys[i]) >= SHORT_LEAST)
			err = join(finder, &groups, keys[i], i, MERGED_SHORT_LIVED);
	map64__free(&counts);
	map64__free(&groups);
	return err;
}

/* The group of the same pattern whose leader is most like @thread; 0: there is none. */
static uint32_t group_like(const struct finder *finder, uint32_t thread)
{
	const struct thread_similarity *out = finder->out;
	double best = ALIKE;
	uint32_t found = 0;

	for (uint32_t g = 1; g < out->groups.n; g++) {
		const struct thread_group *group = &out->groups.data[g];
		double similarity;

		if (group->merged == MERGED_SHORT_LIVED ||
		    finder->patterns[group->leader] != finder->patterns[thread] ||
		    is_unfolded(finder, group->leader))
			continue;
		similarity = alike(&finder->habits[group->leader], &finder->habits[thread]);
		if (similarity >= best) {
			best = similarity;
			found = g;
		}
	}
	return found;
}

static int group_others(struct finder *finder)
{
	struct thread_similarity *out = finder->out;
	int err = 0;

	for (uint32_t i = 1; i < finder->model->threads.n && !err; i++) {
		struct thread_group fresh = {.leader = i, .n = 1};
		uint32_t group;

		if (out->group_of[i])
			continue;
		group = is_unfolded(finder, i) ? 0 : group_like(finder, i);
		if (!group) {
			out->group_of[i] = (uint32_t)out->groups.n;
			err = array__push(&out->groups, fresh);
			continue;
		}
		out->group_of[i] = group;
		out->groups.data[group].merged = MERGED_SIMILAR;
		out->groups.data[group].n++;
	}
	return err;
}

/* The name its threads share, or what they have in common. */
static void name_groups(struct finder *finder)
{
	const struct model *model = finder->model;
	struct thread_similarity *out = finder->out;

	for (uint32_t i = 1; i < model->threads.n; i++) {
		struct thread_group *group = &out->groups.data[out->group_of[i]];
		uint32_t name = last_comm(&model->threads.data[i]);

		if (i == group->leader)
			group->name = name;
		else if (group->name != name)
			group->name = finder->texts[group->leader];
	}
}

static void release(struct finder *finder)
{
	for (size_t i = 0; finder->habits && i < finder->model->threads.n; i++)
		array__free(&finder->habits[i].shares);
	free(finder->habits);
	free(finder->names);
	free(finder->outer);
	free(finder->patterns);
	free(finder->texts);
}

int thread_similarity__find(struct own_strings *strings, const struct similarity_options *options,
			    struct thread_similarity *out)
{
	const struct model *model = strings->model;
	struct finder finder = {
		.model = model,
		.strings = strings,
		.options = options,
		.out = out,
		.names = stack_names__make(model),
		.outer = outer_names(model),
		.patterns = calloc(model->threads.n, sizeof(*finder.patterns)),
		.texts = calloc(model->threads.n, sizeof(*finder.texts)),
		.habits = calloc(model->threads.n, sizeof(*finder.habits)),
	};
	int err = 0;

	out->group_of = calloc(model->threads.n, sizeof(*out->group_of));
	if (!finder.names || !finder.outer || !finder.patterns || !finder.texts || !finder.habits ||
	    !out->group_of || !array__add(&out->groups))
		err = -ENOMEM;
	err = err ? err : find_patterns(&finder);
	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		err = find_habits(&finder, i);
	err = err ? err : group_short_lived(&finder);
	err = err ? err : group_others(&finder);
	if (!err)
		name_groups(&finder);
	release(&finder);
	return err;
}

void thread_similarity__free(struct thread_similarity *similarity)
{
	free(similarity->group_of);
	array__free(&similarity->groups);
}
