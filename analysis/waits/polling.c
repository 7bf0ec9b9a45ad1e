// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/polling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What functions of the kernel say of a sample that is in them. */
enum poll_hint {
	HINT_POLL = 1 << 0,
	HINT_SUBMITTER = 1 << 1, /* of io_uring: it polls unless it works */
	HINT_WORK = 1 << 2,	 /* with HINT_SUBMITTER */
};

static const struct {
	const char *function;
	uint8_t hint;
} functions[] = {
	{"do_epoll_wait", HINT_POLL},	  {"ep_poll", HINT_POLL},
	{"do_sys_poll", HINT_POLL},	  {"do_poll", HINT_POLL},
	{"do_select", HINT_POLL},	  {"core_sys_select", HINT_POLL},
	{"kern_select", HINT_POLL},	  {"do_pselect", HINT_POLL},
	{"__x64_sys_poll", HINT_POLL},	  {"__x64_sys_epoll_wait", HINT_POLL},
	{"io_sq_thread", HINT_SUBMITTER}, {"io_submit_sqes", HINT_WORK},
	{"io_submit_sqe", HINT_WORK},	  {"io_issue_sqe", HINT_WORK},
	{"io_handle_tw_list", HINT_WORK}, {"handle_tw_list", HINT_WORK},
};

/* User functions whose call is a poll: the time to enter and leave the kernel is part of it. */
static const char *const calls[] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll",
				    "__poll",	  "ppoll",	 "__ppoll",	 "select",
				    "__select",	  "pselect"};

static uint8_t hints_of(const char *name, bool kernel)
{
	for (size_t i = 0; kernel && i < ARRAY_SIZE(functions); i++)
		if (!strcmp(name, functions[i].function))
			return functions[i].hint;
	for (size_t i = 0; !kernel && i < ARRAY_SIZE(calls); i++)
		if (!strcmp(name, calls[i]))
			return HINT_POLL;
	return 0;
}

/* By location. NULL without memory. */
static uint8_t *find_locations(const struct model *model)
{
	uint8_t *hints = calloc(model->locations.n, sizeof(*hints));

	for (size_t i = 1; hints && i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		for (size_t k = 0; k < location->n_frames; k++)
			hints[i] |= hints_of(
				model__string(model, model->frames.data[location->frame + k].name),
				location->kernel);
	}
	return hints;
}

static uint8_t hints_on(const struct model *model, const uint8_t *locations, uint32_t index,
			size_t most)
{
	const struct model_stack *stack = &model->stacks.data[index];
	uint8_t hints = 0;

	for (size_t i = 0; i < stack->depth && i < most; i++)
		hints |= locations[model->stack_locations.data[stack->first + i]];
	return hints;
}

static bool is_poll(const struct model *model, const uint8_t *locations,
		    const struct model_sample *sample)
{
	uint8_t hints = hints_on(model, locations, sample->kernel, SIZE_MAX) |
			hints_on(model, locations, sample->user, 1);

	return hints & HINT_POLL || (hints & HINT_SUBMITTER && !(hints & HINT_WORK));
}

/* What samples of a vertex weigh. */
struct weights {
	uint64_t all;
	uint64_t polls;
};

int polling__find(struct waitgraph *graph)
{
	const struct model *model = graph->model;
	_cleanup_free_ uint8_t *locations = find_locations(model);
	_cleanup_free_ struct weights *weights = calloc(graph->vertices.n + 1, sizeof(*weights));

	if (!locations || !weights)
		return -ENOMEM;
	for (size_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];
		struct weights *of = &weights[graph->vertex_of[t]];

		for (size_t i = 0; i < thread->samples.n; i++) {
			const struct model_sample *sample = &thread->samples.data[i];

			if (sample->time < graph->list.from || sample->time >= graph->list.until)
				continue;
			of->all += sample->weight;
			of->polls += is_poll(model, locations, sample) ? sample->weight : 0;
		}
	}
	for (size_t i = 0; i < graph->vertices.n; i++)
		if (graph->vertices.data[i].type == CAUSE_THREAD && weights[i].all)
			graph->vertices.data[i].polling =
				(double)weights[i].polls / (double)weights[i].all;
	return 0;
}
