// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/thread_similarity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stack_hashes.h"

/* The least similarity of threads that are merged, as in wPerf. */
#define SIMILARITY_MIN 0.45

/* A thread is short-lived if its lifetime is less than 1/10 of the recording's length. */
#define SHORT_LIVED_DIVISOR 10
#define SHORT_LIVED_MIN	    3 /* fewer such threads are not merged */

/* On-CPU samples are compared by their outermost frames: the leaf says little about the task. */
#define OUTER_FRAMES 5

/* Threads are compared by this many stacks, those with the largest shares. */
#define MAX_SHARES 128

/* The share of a thread's time, 0 to 1, that a stack has. */
struct share {
	uint64_t stack; /* its hash */
	double part;
};

struct time_profile {
	ARRAY(struct share) shares; /* by stack */
};

struct finder {
	const struct model *model;
	struct own_strings *strings;
	const struct similarity_options *options;
	struct thread_similarity *out;
	uint64_t *stack_hashes;	       /* by stack */
	uint64_t *outer_hashes;	       /* by stack, of its outermost frames */
	uint64_t *merge_keys;	       /* by thread: only threads with the same key may be merged */
	uint32_t *name_patterns;       /* by thread: string, the name with * for digits */
	struct time_profile *profiles; /* by thread */
};

static uint64_t *outer_hashes(const struct model *model)
{
	uint64_t *names = calloc(model->stacks.n, sizeof(*names));

	for (size_t i = 1; names && i < model->stacks.n; i++) {
		const struct model_stack *stack = &model->stacks.data[i];

		names[i] = stack_hash__from(
			model, stack,
			stack->depth > OUTER_FRAMES ? stack->depth - OUTER_FRAMES : 0);
	}
	return names;
}

/* "worker-12" as "worker-*". */
static uint32_t name_pattern(struct own_strings *strings, uint32_t comm)
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

/* Equal for processes with the same parent and the same name pattern. */
static uint64_t process_key(struct finder *finder, uint32_t index)
{
	const struct model_process *process = &finder->model->processes.data[index];
	const struct model_thread *leader = &finder->model->threads.data[process->leader];

	return hash__add(process->parent, name_pattern(finder->strings, last_comm(leader)));
}

static int find_merge_keys(struct finder *finder)
{
	const struct model *model = finder->model;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		finder->name_patterns[i] = name_pattern(finder->strings, last_comm(thread));
		finder->merge_keys[i] =
			hash__add(process_key(finder, thread->process), finder->name_patterns[i]);
		/* Not those of another instance of the program, which only woke its threads. */
		finder->merge_keys[i] =
			hash__add(finder->merge_keys[i], model_thread__is_helper(thread));
	}
	return 0;
}

static int share_order(const void *a, const void *b)
{
	uint64_t one = ((const struct share *)a)->stack, two = ((const struct share *)b)->stack;

	return (one > two) - (one < two);
}

static int share_by_part(const void *a, const void *b)
{
	double one = ((const struct share *)a)->part, two = ((const struct share *)b)->part;

	return (one < two) - (one > two);
}

/* Merges shares of the same stack, scales them to a sum of 1, and keeps the MAX_SHARES largest. */
static void normalize(struct time_profile *profile)
{
	size_t n = 0;
	double sum = 0;

	if (!profile->shares.n)
		return;
	qsort(profile->shares.data, profile->shares.n, sizeof(struct share), share_order);
	for (size_t i = 0; i < profile->shares.n; i++) {
		struct share *share = &profile->shares.data[i];

		sum += share->part;
		if (n && profile->shares.data[n - 1].stack == share->stack)
			profile->shares.data[n - 1].part += share->part;
		else
			profile->shares.data[n++] = *share;
	}
	profile->shares.n = n;
	for (size_t i = 0; i < n && sum > 0; i++)
		profile->shares.data[i].part /= sum;
	if (n <= MAX_SHARES)
		return;
	qsort(profile->shares.data, n, sizeof(struct share), share_by_part);
	profile->shares.n = MAX_SHARES;
	qsort(profile->shares.data, MAX_SHARES, sizeof(struct share), share_order);
}

static int find_profile(struct finder *finder, uint32_t index)
{
	const struct model_thread *thread = &finder->model->threads.data[index];
	struct time_profile all = {}, *profile = &finder->profiles[index];
	int err = array__reserve(&all.shares, thread->intervals.n + thread->samples.n);

	for (size_t i = 0; i < thread->intervals.n && !err; i++) {
		const struct model_interval *at = &thread->intervals.data[i];
		struct share share = {
			hash__add(finder->stack_hashes[at->user], finder->stack_hashes[at->kernel]),
			(double)at->blocked_ns};

		if (at->blocked_ns)
			err = array__push(&all.shares, share);
	}
	for (size_t i = 0; i < thread->samples.n && !err; i++) {
		const struct model_sample *at = &thread->samples.data[i];
		struct share share = {hash__add(finder->outer_hashes[at->user], 1),
				      (double)at->weight * (double)finder->model->period_ns};

		err = array__push(&all.shares, share);
	}
	normalize(&all);
	for (size_t i = 0; i < all.shares.n && !err; i++)
		err = array__push(&profile->shares, all.shares.data[i]);
	array__free(&all.shares);
	return err;
}

/* The similarity of two threads, 0 to 1: Dice's coefficient of their shares. */
static double similarity_of(const struct time_profile *one, const struct time_profile *two)
{
	double sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < one->shares.n; i++) {
		const struct share *share = &one->shares.data[i];

		while (k < two->shares.n && two->shares.data[k].stack < share->stack)
			k++;
		if (k < two->shares.n && two->shares.data[k].stack == share->stack)
			sum += share->part < two->shares.data[k].part ? share->part
								      : two->shares.data[k].part;
	}
	return sum;
}

static bool is_unfolded(const struct finder *finder, uint32_t thread)
{
	const struct model *model = finder->model;
	const char *name = model__string(model, last_comm(&model->threads.data[thread]));
	const char *pattern = own_strings__text(finder->strings, finder->name_patterns[thread]);

	for (size_t i = 0; i < finder->options->unfolded.n; i++)
		if (!strcmp(finder->options->unfolded.data[i], name) ||
		    !strcmp(finder->options->unfolded.data[i], pattern))
			return true;
	return finder->options->separate;
}

static bool is_short_lived(const struct model *model, const struct model_thread *thread)
{
	return thread->flags & THREAD_CREATED && thread->parent && thread->exited &&
	       thread->ended - thread->created < (model->end - model->start) / SHORT_LIVED_DIVISOR;
}

/* Adds @thread to the group with @key, which is created if needed. */
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
 * Merges short-lived threads with the same name pattern and creator. If the creator is short-lived
 * itself (a compiler driver's processes), its group takes its place.
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
		keys[i] = hash__add(parent, finder->name_patterns[i]);
		count = map64__put(&counts, keys[i], 0);
		err = count ? (++*count, 0) : -ENOMEM;
	}
	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		if (keys[i] && *map64__get(&counts, keys[i]) >= SHORT_LIVED_MIN)
			err = join(finder, &groups, keys[i], i, MERGED_SHORT_LIVED);
	map64__free(&counts);
	map64__free(&groups);
	return err;
}

/* The group with @thread's merge key whose leader is most similar to it; 0: none. */
static uint32_t most_similar_group(const struct finder *finder, uint32_t thread)
{
	const struct thread_similarity *out = finder->out;
	double best = SIMILARITY_MIN;
	uint32_t found = 0;

	for (uint32_t g = 1; g < out->groups.n; g++) {
		const struct thread_group *group = &out->groups.data[g];
		double similarity;

		if (group->merged == MERGED_SHORT_LIVED ||
		    finder->merge_keys[group->leader] != finder->merge_keys[thread] ||
		    is_unfolded(finder, group->leader))
			continue;
		similarity =
			similarity_of(&finder->profiles[group->leader], &finder->profiles[thread]);
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
		group = is_unfolded(finder, i) ? 0 : most_similar_group(finder, i);
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

/* A group has the name of its threads or, if names differ, their pattern. */
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
			group->name = finder->name_patterns[group->leader];
	}
}

static void release(struct finder *finder)
{
	for (size_t i = 0; finder->profiles && i < finder->model->threads.n; i++)
		array__free(&finder->profiles[i].shares);
	free(finder->profiles);
	free(finder->stack_hashes);
	free(finder->outer_hashes);
	free(finder->merge_keys);
	free(finder->name_patterns);
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
		.stack_hashes = stack_hashes__make(model),
		.outer_hashes = outer_hashes(model),
		.merge_keys = calloc(model->threads.n, sizeof(*finder.merge_keys)),
		.name_patterns = calloc(model->threads.n, sizeof(*finder.name_patterns)),
		.profiles = calloc(model->threads.n, sizeof(*finder.profiles)),
	};
	int err = 0;

	out->group_of = calloc(model->threads.n, sizeof(*out->group_of));
	if (!finder.stack_hashes || !finder.outer_hashes || !finder.merge_keys ||
	    !finder.name_patterns || !finder.profiles || !out->group_of ||
	    !array__add(&out->groups))
		err = -ENOMEM;
	err = err ? err : find_merge_keys(&finder);
	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		err = find_profile(&finder, i);
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
