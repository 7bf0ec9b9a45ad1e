// SPDX-License-Identifier: BSD-2-Clause
/* Who had the CPUs that threads of the path waited for: the sums of what the tree shows. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/path/path_parts.h"

int path_competitors__begin(struct path_competitors *competitors, size_t n_threads)
{
	competitors->known = calloc(n_threads, sizeof(*competitors->known));
	return competitors->known ? 0 : -ENOMEM;
}

void path_competitors__free(struct path_competitors *competitors)
{
	free(competitors->known);
	map64__free(&competitors->stacks);
}

int path_competitors__step(struct path_competitors *competitors, struct path *path,
			   const struct path_step *step)
{
	uint64_t ns = step->until - step->from, key, *stack;
	uint32_t *known = &competitors->known[step->id];
	const struct model_sample *sample;
	struct path_competitor *one;

	if (!*known) {
		if (!array__add(&path->competitors))
			return -ENOMEM;
		*known = (uint32_t)path->competitors.n;
		path->competitors.data[*known - 1].thread = step->id;
	}
	one = &path->competitors.data[*known - 1];
	one->ns += ns;
	if (!step->sample)
		return 0;
	sample = &path->model->threads.data[step->thread].samples.data[step->sample - 1];
	key = hash__add(hash__mix(step->id), (uint64_t)sample->kernel << 32 | sample->user);
	stack = map64__put(&competitors->stacks, key, 0);
	if (!stack)
		return -ENOMEM;
	*stack += ns;
	if (*stack > one->stack_ns) {
		one->stack_ns = *stack;
		one->kernel = sample->kernel;
		one->user = sample->user;
	}
	return 0;
}

void path_competitors__clear(struct path_competitors *competitors, struct path *path)
{
	for (size_t i = 0; i < path->competitors.n; i++)
		competitors->known[path->competitors.data[i].thread] = 0;
	path->competitors.n = 0;
	map64__clear(&competitors->stacks);
}

static int compare_competitors(const void *a, const void *b)
{
	const struct path_competitor *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

void path_competitors__finish(struct path *path)
{
	if (path->competitors.n)
		qsort(path->competitors.data, path->competitors.n, sizeof(*path->competitors.data),
		      compare_competitors);
}
