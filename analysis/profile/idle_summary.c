// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/profile/idle_summary.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/profile/profile.h"
#include "analysis/stack_hashes.h"

struct summarizer {
	const struct model *model;
	struct kinds *kinds;
	struct idle_summary *out;
	uint64_t *hashes;     /* by stack */
	struct map64 index;   /* hash -> place */
	struct map64 threads; /* thread -> 1 */
	struct map64 times;   /* place and thread -> ns */
	ARRAY(uint64_t) most; /* by place: ns of its thread with most */
};

static int find_place(struct summarizer *summarizer, const struct sample_group *group,
		      uint32_t *place)
{
	struct idle_summary *out = summarizer->out;
	struct idle_place fresh = {
		.reason = group->idle,
		.kind = sample_group__kind(summarizer->kinds, group),
		.kernel = group->kernel,
		.user = group->user,
	};
	uint32_t process = summarizer->model->threads.data[group->thread].process;
	uint64_t key = hash__add((uint64_t)process << 32 | (uint64_t)fresh.kind << 8 |
					 (uint64_t)fresh.reason,
				 summarizer->hashes[group->user]);
	uint64_t *at = map64__put(&summarizer->index, key, out->places.n);

	if (!at)
		return -ENOMEM;
	*place = (uint32_t)*at;
	if (*at < out->places.n)
		return 0;
	return array__push(&summarizer->most, 0) ?: array__push(&out->places, fresh);
}

static int add_group(struct summarizer *summarizer, const struct sample_group *group)
{
	struct idle_summary *out = summarizer->out;
	struct idle_place *place;
	uint64_t *ns, *known;
	uint32_t number;

	if (find_place(summarizer, group, &number))
		return -ENOMEM;
	place = &out->places.data[number];
	known = map64__put(&summarizer->threads, group->thread, 0);
	if (!known)
		return -ENOMEM;
	out->n_threads += !*known;
	*known = 1;
	ns = map64__put(&summarizer->times, (uint64_t)number << 32 | group->thread, 0);
	if (!ns)
		return -ENOMEM;
	place->n_threads += !*ns;
	*ns += group->ns ? group->ns : 1; /* not 0: the thread is counted once */
	place->ns += group->ns;
	out->ns += group->ns;
	if (*ns > summarizer->most.data[number]) {
		summarizer->most.data[number] = *ns;
		place->thread = group->thread;
		place->comm = group->comm;
	}
	return 0;
}

static int place_order(const void *a, const void *b)
{
	const struct idle_place *one = a, *two = b;

	if (one->ns != two->ns)
		return one->ns < two->ns ? 1 : -1;
	return (one->thread > two->thread) - (one->thread < two->thread);
}

int idle_summary__make(const struct model *model, struct kinds *kinds,
		       const struct sample_groups *groups, struct idle_summary *out)
{
	struct summarizer summarizer = {.model = model, .kinds = kinds, .out = out};
	int err = 0;

	summarizer.hashes = stack_hashes__make(model);
	if (!summarizer.hashes)
		err = -ENOMEM;
	for (size_t i = 0; i < groups->groups.n && !err; i++)
		if (groups->groups.data[i].idle)
			err = add_group(&summarizer, &groups->groups.data[i]);
	if (out->places.n)
		qsort(out->places.data, out->places.n, sizeof(*out->places.data), place_order);
	free(summarizer.hashes);
	map64__free(&summarizer.index);
	map64__free(&summarizer.threads);
	map64__free(&summarizer.times);
	array__free(&summarizer.most);
	return err;
}

void idle_summary__free(struct idle_summary *summary)
{
	array__free(&summary->places);
}
