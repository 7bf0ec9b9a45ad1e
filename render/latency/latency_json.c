// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>

#include "base/round.h"
#include "render/json.h"
#include "render/latency/latency_cause.h"
#include "render/latency/latency_views.h"

/* So many slow calls of a function are listed. */
#define MAX_LONGEST 20

static json_t *name_json(const struct model *model, uint32_t name)
{
	return name ? json__string(model, name) : json_null();
}

/* Adds @thread as the members "thread" and "comm". */
static void put_thread(json_t *entry, const struct model *model, uint32_t number)
{
	const struct model_thread *thread = &model->threads.data[number];

	json_object_set_new(entry, "thread", json__number(thread->tid));
	json_object_set_new(entry, "comm",
			    json__string(model, model_thread__comm(thread, thread->ended)));
}

static void put_parts(json_t *entry, const uint64_t parts[LATENCY_PARTS])
{
	static const char *const keys[LATENCY_PARTS] = {"cpu_ns",   "runqueue_ns", "lock_ns",
							"disk_ns",  "network_ns",  "other_ns",
							"stolen_ns"};

	for (int i = 0; i < LATENCY_PARTS; i++)
		json_object_set_new(entry, keys[i], json__number(parts[i]));
}

static json_t *competitors_json(const struct model *model, const struct latency_function *function)
{
	json_t *competitors = json_array();

	for (size_t i = 0; i < function->competitors.n; i++) {
		json_t *entry = json_object();

		if (function->competitors.data[i].thread)
			put_thread(entry, model, function->competitors.data[i].thread);
		json_object_set_new(entry, "ns", json__number(function->competitors.data[i].ns));
		json_array_append_new(competitors, entry);
	}
	return competitors;
}

static json_t *holder_json(const struct model *model, const struct latency_wait *wait)
{
	json_t *entry = json_object();

	put_thread(entry, model, wait->cause.id);
	json_object_set_new(entry, "function", name_json(model, wait->function));
	json_object_set_new(entry, "ns", json__number(wait->ns));
	return entry;
}

static json_t *wait_json(const struct model *model, const struct latency_wait *wait)
{
	json_t *entry = json_object();

	json_object_set_new(entry, "kind", json_string(kind__name(wait->kind)));
	latency_cause__json(model, wait->cause, entry);
	json_object_set_new(entry, "function", name_json(model, wait->function));
	json_object_set_new(entry, "ns", json__number(wait->ns));
	return entry;
}

/* The slow calls one by one. */
static json_t *longest_json(const struct model *model, const struct latency_function *function)
{
	json_t *list = json_array();

	for (size_t i = 0; i < function->slow.n && i < MAX_LONGEST; i++) {
		const struct slow_call *call = &function->slow.data[i];
		json_t *entry = json_object();

		put_thread(entry, model, call->thread);
		json_object_set_new(entry, "begin_ns", json__number(call->begin - model->start));
		json_object_set_new(entry, "length_ns", json__number(call->length));
		json_object_set_new(entry, "uncertain_ns", json__number(call->uncertain));
		put_parts(entry, call->parts);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *slow_json(const struct model *model, const struct latency_function *function)
{
	json_t *slow = json_object(), *holders = json_array(), *waits = json_array();

	json_object_set_new(slow, "calls", json__number(function->slow.n));
	json_object_set_new(slow, "ns", json__number(function->slow_ns));
	json_object_set_new(slow, "uncertain_ns", json__number(function->slow_uncertain));
	put_parts(slow, function->parts);
	for (size_t i = 0; i < function->waits.n; i++) {
		const struct latency_wait *wait = &function->waits.data[i];

		if (wait->part == LATENCY_LOCK && wait->cause.type == CAUSE_THREAD)
			json_array_append_new(holders, holder_json(model, wait));
		json_array_append_new(waits, wait_json(model, wait));
	}
	json_object_set_new(slow, "longest", longest_json(model, function));
	json_object_set_new(slow, "holders", holders);
	json_object_set_new(slow, "waits", waits);
	json_object_set_new(slow, "ran_instead", competitors_json(model, function));
	return slow;
}

/* Where the function was called. */
static void put_site(json_t *entry, const struct model *model,
		     const struct latency_function *function)
{
	json_object_set_new(entry, "file", name_json(model, function->file));
	json_object_set_new(entry, "line",
			    function->line ? json__number(function->line) : json_null());
}

/* A bound: calls may be too short to be seen. high is null if it is not known. */
static void put_calls(json_t *entry, const struct latency_function *function)
{
	const struct call_interval *calls = &function->calls;

	json_object_set_new(entry, "calls", json_real(calls->calls));
	json_object_set_new(entry, "calls_low", json_real(calls->low));
	json_object_set_new(entry, "calls_high",
			    isinf(calls->high) ? json_null() : json_real(calls->high));
	json_object_set_new(entry, "calls_are_bound", json_boolean(calls->is_bound));
	json_object_set_new(entry, "partial", json__number(function->partial));
}

static json_t *function_json(const struct model *model, const struct latency_function *function)
{
	static const char *const keys[LATENCY_QUANTILES] = {"p50_ns",  "p90_ns",   "p99_ns",
							    "p999_ns", "p9999_ns", "max_ns"};
	json_t *entry = json_object();

	json_object_set_new(entry, "name", name_json(model, function->name));
	json_object_set_new(entry, "caller", name_json(model, function->caller));
	put_site(entry, model, function);
	put_calls(entry, function);
	json_object_set_new(entry, "total_ns", json__number(round__uint64(function->total_ns)));
	json_object_set_new(entry, "total_error_ns",
			    json__number(round__uint64(function->error_ns)));
	json_object_set_new(entry, "mean_ns", json__number(round__uint64(function->mean_ns)));
	json_object_set_new(entry, "probed", json_boolean(function->probed));
	/* Null: shorter than resolution_ns, or of no call that was there from begin to end. */
	for (int i = 0; i < LATENCY_QUANTILES; i++)
		json_object_set_new(entry, keys[i],
				    function->ns[i] ? json__number(function->ns[i]) : json_null());
	json_object_set_new(entry, "observed",
			    json_real(function->calls.calls > 0
					      ? (double)function->observed / function->calls.calls
					      : 0));
	json_object_set_new(entry, "tail_ns", json__number(round__uint64(function->tail_ns)));
	json_object_set_new(entry, "slow", slow_json(model, function));
	return entry;
}

static json_t *probes_json(const struct latency_view *view)
{
	json_t *probes = json_array();

	for (size_t i = 0; i < view->latency->probes.n; i++) {
		const struct model_probe *probe =
			&view->model->probes.data[view->latency->probes.data[i]];
		json_t *entry = json_object();

		json_object_set_new(entry, "name", name_json(view->model, probe->name));
		json_object_set_new(entry, "calls", json__number(probe->entries));
		json_object_set_new(entry, "cost_ns", json__number(probe->cost_ns));
		json_object_set_new(entry, "set_ns", json__number(probe->set_ns));
		json_object_set_new(
			entry, "set_share",
			json_real(probe->cpu_ns ? (double)probe->set_cpu_ns / (double)probe->cpu_ns
						: 1));
		json_object_set_new(entry, "single_stepped", json_boolean(probe->single_stepped));
		json_array_append_new(probes, entry);
	}
	return probes;
}

int latency_view__json(const struct latency_view *view, FILE *to)
{
	const struct model_scans *scans = &view->model->scans;
	json_t *document = json_object(), *functions = json_array();

	json__put_recording(document, view->model);
	json_object_set_new(document, "resolution_ns", json__number(view->latency->period_ns));
	json_object_set_new(document, "shortest_ns", json__number(view->latency->pair_ns));
	json_object_set_new(document, "longest_gap_ns", json__number(scans->longest_ns));
	json_object_set_new(document, "torn", json__number(scans->torn));
	json_object_set_new(document, "calls_lost", json__number(scans->lost));
	json_object_set_new(document, "calls_too_deep", json__number(scans->missed));
	json_object_set_new(document, "calls",
			    view->latency->calls > 0 ? json_real(view->latency->calls)
						     : json_null());
	json_object_set_new(document, "calls_unexplained",
			    view->latency->calls > 0 ? json_real(view->latency->unexplained)
						     : json_null());
	json_object_set_new(document, "run_ns", json__number(view->latency->ns));
	json_object_set_new(document, "calls_are_counted",
			    json_boolean(view->latency->are_counted));
	json_object_set_new(document, "unseen_ns", json__number(view->latency->unseen_ns));
	json_object_set_new(document, "unlooked_ns", json__number(view->latency->unlooked_ns));
	json_object_set_new(document, "waited_for_cpu_ns", json__number(view->latency->waited_ns));
	json_object_set_new(document, "no_cpu_to_spare",
			    json_boolean(call_latency__lacked_cpus(view->latency)));
	json_object_set_new(document, "probes", probes_json(view));
	for (size_t i = 0; i < view->latency->functions.n; i++)
		json_array_append_new(
			functions, function_json(view->model, &view->latency->functions.data[i]));
	json_object_set_new(document, "functions", functions);
	return json__write(document, to);
}
