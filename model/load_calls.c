// SPDX-License-Identifier: BSD-2-Clause
/* Requests, calls, and what measured them: what their records add to the model that is being
 * loaded. */
#include <errno.h>

#include "model/loader.h"

int model_loader__span(struct model_loader *loader, const struct record *record)
{
	const struct record_span *from = &record->span;
	uint32_t begun_by = model_loader__thread(loader, from->begun_by);
	struct model_span span = {
		.ended = from->time,
		.begun = from->time - from->ns,
		.arrived = from->time - from->ns - from->queue_ns,
		.name = model_loader__string(loader, from->name),
		.thread = model_loader__thread(loader, from->thread),
		.begun_by = begun_by,
		.object = number_map__get(&loader->objects, from->object),
		.flags = from->flags,
	};

	if (!span.thread)
		return -EINVAL;
	model_loader__extend(loader, span.arrived, span.ended);
	return span.flags ? array__push(&loader->model->pushes, span)
			  : array__push(&loader->model->spans, span);
}

int model_loader__call(struct model_loader *loader, const struct record *record)
{
	const struct record_call *from = &record->call;
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_call call = {
		.begin = from->time - from->ns,
		.end = from->time,
		.stack = model_loader__raw_stack(loader, from->stack),
		.begin_slack = from->begin_slack,
		.end_slack = from->end_slack,
		.depth = from->depth,
		.flags = from->flags,
		.probe = from->probe < MODEL_PROBES ? from->probe : 0,
		.overhead = from->overhead < from->ns ? from->overhead : from->ns,
	};

	if (!thread || !call.stack)
		return -EINVAL;
	model_loader__extend(loader, call.begin, call.end);
	return array__push(&loader->model->threads.data[thread].calls, call);
}

int model_loader__short_calls(struct model_loader *loader, const struct record *record)
{
	const struct record_short_calls *from = &record->short_calls;
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_short_calls calls = {.time = from->time,
					  .stack = model_loader__raw_stack(loader, from->stack),
					  .looks = from->looks,
					  .ended = from->ended,
					  .seen = from->seen,
					  .ns = from->ns};

	calls.nested_ns = from->nested_ns < from->ns ? from->nested_ns : from->ns;

	if (!thread || !calls.stack)
		return -EINVAL;
	return array__push(&loader->model->threads.data[thread].short_calls, calls);
}

/* The last record of a number counts. */
int model_loader__probe(struct model_loader *loader, const struct record *record)
{
	const struct record_probe *from = &record->probe;
	const struct model_probe probe = {
		.name = model_loader__string(loader, from->name),
		.entries = from->entries,
		.set_ns = from->set_ns,
		.times = from->times,
		.cpu_ns = from->cpu_ns,
		.set_cpu_ns = from->set_cpu_ns,
		.cost_ns = from->cost_ns,
		.single_stepped = from->flags & PROBE_SINGLE_STEPPED,
	};

	if (!from->number || from->number >= MODEL_PROBES)
		return -EINVAL;
	while (loader->model->probes.n <= from->number)
		if (!array__add(&loader->model->probes))
			return -ENOMEM;
	loader->model->probes.data[from->number] = probe;
	return 0;
}

static void add_coverage(struct model_coverage *to, const struct record_scan *from)
{
	to->ns += from->ns;
	to->pairs += from->pairs;
	to->pair_ns += from->pair_ns;
	to->pushes += from->pushes;
	to->pushes_ns += from->pushes_ns;
	for (int i = 0; i < SCAN_GAPS; i++)
		to->gap_ns[i] += from->gap_ns[i];
}

int model_loader__scan(struct model_loader *loader, const struct record *record)
{
	const struct record_scan *from = &record->scan;
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_scans *scans = &loader->model->scans;

	add_coverage(&scans->all, from);
	if (thread)
		add_coverage(&loader->model->threads.data[thread].coverage, from);
	scans->reports++;
	scans->torn += from->torn;
	scans->lost += from->lost;
	scans->missed = from->missed > scans->missed ? from->missed : scans->missed;
	scans->longest_ns =
		from->longest_ns > scans->longest_ns ? from->longest_ns : scans->longest_ns;
	return 0;
}
