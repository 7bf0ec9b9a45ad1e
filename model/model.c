// SPDX-License-Identifier: BSD-2-Clause
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

uint32_t model__intern(struct model *model, const char *text)
{
	int64_t id = text ? intern__id(&model->strings, text, strlen(text), NULL) : 0;

	return id < 0 ? 0 : (uint32_t)id;
}

const char *model__meta(const struct model *model, const char *key)
{
	for (size_t i = 0; i < model->metas.n; i++)
		if (!strcmp(model__string(model, model->metas.data[i].key), key))
			return model__string(model, model->metas.data[i].value);
	return NULL;
}

uint64_t model__meta_number(const struct model *model, const char *key, uint64_t otherwise)
{
	const char *value = model__meta(model, key);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

bool model__is_c_library(const struct model *model, uint32_t index)
{
	static const char *const names[] = {"libc.", "libc-", "libpthread", "ld-musl"};
	const char *name = model__string(model, model->dsos.data[index].name);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return model->dsos.data[index].c_library;
}

uint32_t model_thread__comm(const struct model_thread *thread, uint64_t time)
{
	size_t low = 0, high = thread->comms.n;

	/* The last name given at or before @time. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (thread->comms.data[middle].time <= time)
			low = middle;
		else
			high = middle;
	}
	return thread->comms.n ? thread->comms.data[low].name : 0;
}

size_t model_thread__intervals_until(const struct model_thread *thread, uint64_t time, size_t near)
{
	return SORTED_COUNT_UNTIL(thread->intervals.data, thread->intervals.n, t_out, time, near);
}

bool model_thread__lost_before(const struct model_thread *thread, size_t interval)
{
	const struct model_interval *intervals = thread->intervals.data;
	uint32_t last = interval ? intervals[interval - 1].sequence : 0;

	if (interval == thread->intervals.n)
		return thread->totals_lost || (thread->counted && thread->sequence != last);
	if (!interval)
		return thread->counted && intervals[0].sequence > 1;
	if (!intervals[interval].sequence || !last)
		return false;
	return intervals[interval].sequence != last % INTERVAL_SEQUENCES + 1;
}

bool model_thread__run_before(const struct model_thread *thread, size_t interval,
			      struct model_run *run)
{
	const struct model_interval *intervals = thread->intervals.data;
	bool last = interval == thread->intervals.n;
	uint64_t stolen = last ? thread->last_stolen_ns : intervals[interval].stolen_ns, length;

	run->from = thread->created;
	if (interval)
		run->from = intervals[interval - 1].t_out + intervals[interval - 1].blocked_ns +
			    intervals[interval - 1].runq_ns;
	run->until = last ? thread->ended : intervals[interval].t_out;
	if (run->until <= run->from || model_thread__lost_before(thread, interval))
		return false;
	length = run->until - run->from;
	run->stolen_ns = stolen < length ? stolen : length;
	return true;
}

/* The number of mappings that start at or below @address. */
static size_t maps_until(const struct model_process *process, uint64_t address)
{
	size_t low = 0, high = process->maps.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->maps.data[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct model_map *model_process__map(const struct model_process *process, uint64_t address,
					   uint64_t time, uint64_t *from, uint64_t *until)
{
	const struct model_map *maps = process->maps.data;
	const struct model_map *later = NULL;

	*from = 0;
	*until = MODEL_FOREVER;
	for (size_t i = maps_until(process, address); i-- && maps[i].reach > address;) {
		if (maps[i].end <= address)
			continue;
		if (maps[i].until <= time) {
			*from = maps[i].until > *from ? maps[i].until : *from;
		} else if (maps[i].from <= time) {
			*from = maps[i].from;
			*until = maps[i].until;
			return &maps[i];
		} else if (maps[i].from < *until) {
			*until = maps[i].from;
			later = &maps[i];
		}
	}
	return later;
}

/* So many mappings that do not exist at the time are passed over. */
#define MAX_PASSED_OVER 64

const struct model_map *model_process__map_below(const struct model_process *process,
						 uint64_t address, uint64_t time)
{
	const struct model_map *maps = process->maps.data;
	size_t below = maps_until(process, address);

	for (size_t i = below; i-- > 0 && below - i <= MAX_PASSED_OVER;)
		if (maps[i].from <= time && time < maps[i].until)
			return &maps[i];
	return NULL;
}

static void free_thread(struct model_thread *thread)
{
	array__free(&thread->comms);
	array__free(&thread->execs);
	array__free(&thread->samples);
	array__free(&thread->intervals);
	array__free(&thread->wakes);
	array__free(&thread->segments);
	array__free(&thread->calls);
	array__free(&thread->short_calls);
	array__free(&thread->annotations);
}

void model__free(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->threads.n; i++)
		free_thread(&model->threads.data[i]);
	for (size_t i = 0; i < model->processes.n; i++)
		array__free(&model->processes.data[i].maps);
	array__free(&model->threads);
	array__free(&model->processes);
	array__free(&model->dsos);
	array__free(&model->objects);
	for (size_t i = 0; i < model->devices.n; i++)
		array__free(&model->devices.data[i].idles);
	array__free(&model->devices);
	array__free(&model->requests);
	array__free(&model->cpu_runs);
	array__free(&model->spans);
	array__free(&model->pushes);
	array__free(&model->probes);
	array__free(&model->span_parts);
	array__free(&model->stacks);
	array__free(&model->locations);
	array__free(&model->variables);
	array__free(&model->stack_locations);
	array__free(&model->frames);
	array__free(&model->metas);
	array__free(&model->losts);
	intern__free(&model->strings);
	free(model->warning);
	model_diagnostics__free(&model->diagnostics);
	free(model);
}
