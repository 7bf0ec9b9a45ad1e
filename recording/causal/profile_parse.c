// SPDX-License-Identifier: BSD-2-Clause
/* Parsing lines of a causal profile. Nothing in them is trusted. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "recording/causal/profile_lines.h"

#define NOT_READ 1

static const char *const point_kinds[] = {
	[CAUSAL_THROUGHPUT] = "throughput",
	[CAUSAL_LATENCY] = "latency",
	[CAUSAL_SAMPLED] = "sampled",
	[CAUSAL_END_TO_END] = "end-to-end",
};

static const char *const target_kinds[] = {
	[CAUSAL_LINE] = "line",
	[CAUSAL_FUNCTION] = "function",
	[CAUSAL_CLASS] = "class",
};

const char *causal_point_kind__name(enum causal_point_kind kind)
{
	return point_kinds[kind];
}

const char *causal_target_kind__name(enum causal_target_kind kind)
{
	return target_kinds[kind];
}

/* Whether @value is a number from 0 to @max, which is rounded to *@number. */
static bool read_number(const json_t *value, uint64_t max, uint64_t *number)
{
	if (json_is_integer(value)) {
		json_int_t integer = json_integer_value(value);

		*number = (uint64_t)integer;
		return integer >= 0 && *number <= max;
	}
	if (json_is_real(value)) {
		double real = json_real_value(value);

		if (!(real >= 0) || real >= 0x1p63)
			return false;
		*number = (uint64_t)llround(real);
		return *number <= max;
	}
	return false;
}

/* Gets the member @key, 0 if it is missing. False if it is not a number from 0 to @max. */
static bool get_number(const json_t *object, const char *key, uint64_t max, uint64_t *number)
{
	const json_t *value = json_object_get(object, key);

	*number = 0;
	return !value || read_number(value, max, number);
}

static bool get_id(const json_t *object, const char *key, uint32_t *id)
{
	const json_t *value = json_object_get(object, key);
	uint64_t number;

	if (!value || !read_number(value, UINT32_MAX, &number))
		return false;
	*id = (uint32_t)number;
	return true;
}

/* Sets *@kept to the profile's copy of @text. 0 or -ENOMEM. */
static int keep_bytes(struct causal_parser *parser, const char *text, size_t size,
		      const char **kept)
{
	bool fresh;
	int64_t id = intern__id(&parser->strings, text, size, &fresh);
	char *copy;

	if (id < 0)
		return (int)id;
	if (fresh) {
		copy = causal_memory__take(&parser->memory, size + 1);
		if (!copy || array__push(&parser->texts, copy))
			return -ENOMEM;
		memcpy(copy, text, size);
	}
	*kept = parser->texts.data[id];
	return 0;
}

static int keep_text(struct causal_parser *parser, const char *text, const char **kept)
{
	return keep_bytes(parser, text, strlen(text), kept);
}

/* Gets the member @key, "" if it is missing. 0, NOT_READ or -ENOMEM. */
static int get_text(struct causal_parser *parser, const json_t *object, const char *key,
		    const char **text)
{
	const json_t *value = json_object_get(object, key);

	if (value && !json_is_string(value))
		return NOT_READ;
	return keep_text(parser, value ? json_string_value(value) : "", text);
}

static bool get_kind(const json_t *object, const char *const *names, size_t n, int *kind)
{
	const char *name = json_string_value(json_object_get(object, "kind"));

	for (size_t i = 0; name && i < n; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*kind = (int)i;
		return true;
	}
	return false;
}

/* The number of a run id in parser->runs, added if it is new; or -ENOMEM. */
static int64_t run_number(struct causal_parser *parser, const char *id, size_t size)
{
	bool fresh;
	int64_t number = intern__id(&parser->runs, id, size, &fresh);

	if (number >= 0 && fresh && array__push(&parser->run_indexes, UINT32_MAX))
		return -ENOMEM;
	return number;
}

/* Gets the index of the run with @id. 0, NOT_READ if there is none, or -ENOMEM. */
static int find_run(struct causal_parser *parser, const char *id, size_t size, uint32_t *run)
{
	int64_t number = run_number(parser, id, size);

	if (number < 0)
		return (int)number;
	*run = parser->run_indexes.data[number];
	return *run == UINT32_MAX ? NOT_READ : 0;
}

static int parse_run(struct causal_parser *parser, const json_t *line, const char *id)
{
	struct causal_profile *profile = parser->profile;
	struct causal_run run = {.status = -1};
	int64_t number = run_number(parser, id, strlen(id));
	uint64_t version;
	int err;

	if (number < 0)
		return (int)number;
	if (!get_number(line, "version", UINT32_MAX, &version) || !version)
		return NOT_READ;
	if (version > CAUSAL_FORMAT_VERSION) {
		parser->newer++;
		return NOT_READ;
	}
	if (parser->run_indexes.data[number] != UINT32_MAX)
		return 0; /* the same profile was appended twice */
	if (!get_number(line, "start_realtime", INT64_MAX, &run.start_realtime) ||
	    !get_number(line, "period_ns", CAUSAL_HALF_MAX, &run.period_ns))
		return NOT_READ;
	err = keep_text(parser, id, &run.id);
	err = err ? err : get_text(parser, line, "command", &run.command);
	err = err ? err : array__push(&profile->runs, run);
	if (!err)
		parser->run_indexes.data[number] = (uint32_t)(profile->runs.n - 1);
	return err;
}

static void key_add(struct buffer *key, const char *text)
{
	buffer__put(key, text, strlen(text) + 1);
}

/*
 * The index of the point or target with the members in @key. *@fresh says whether it is new.
 */
static int64_t key_index(struct intern *table, const struct buffer *key, bool *fresh)
{
	return key->failed ? -ENOMEM : intern__id(table, key->data, key->n, fresh);
}

/* Maps @id of @run to @index. */
static int put_number(struct map64 *numbers, uint32_t run, uint32_t id, uint64_t index)
{
	uint64_t *at = map64__put(numbers, (uint64_t)run << 32 | id, index);

	if (!at)
		return -ENOMEM;
	*at = index;
	return 0;
}

static int parse_point(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	_cleanup_(buffer__free) struct buffer key = {};
	struct causal_point point = {};
	int64_t index;
	uint32_t id;
	bool fresh;
	int kind, err;

	if (!get_id(line, "id", &id) ||
	    !get_kind(line, point_kinds, ARRAY_SIZE(point_kinds), &kind))
		return NOT_READ;
	err = get_text(parser, line, "name", &point.name);
	if (err)
		return err;
	point.kind = (enum causal_point_kind)kind;
	key_add(&key, point_kinds[kind]);
	key_add(&key, point.name);
	index = key_index(&parser->points, &key, &fresh);
	if (index < 0 || (fresh && array__push(&parser->profile->points, point)))
		return -ENOMEM;
	return put_number(&parser->point_numbers, run, id, (uint64_t)index);
}

static int get_target(struct causal_parser *parser, const json_t *line,
		      struct causal_target *target)
{
	const json_t *inclusive = json_object_get(line, "inclusive");
	uint64_t number;
	int kind, err;

	if (!get_kind(line, target_kinds, ARRAY_SIZE(target_kinds), &kind) ||
	    !get_number(line, "line", UINT32_MAX, &number) ||
	    (inclusive && !json_is_boolean(inclusive)))
		return NOT_READ;
	target->kind = (enum causal_target_kind)kind;
	target->line = (uint32_t)number;
	target->inclusive = json_is_true(inclusive);
	err = get_text(parser, line, "name", &target->name);
	err = err ? err : get_text(parser, line, "file", &target->file);
	err = err ? err : get_text(parser, line, "function", &target->function);
	return err ? err : get_text(parser, line, "caller", &target->caller);
}

static int parse_target(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	_cleanup_(buffer__free) struct buffer key = {};
	struct causal_target target = {};
	int64_t index;
	uint32_t id;
	bool fresh;
	int err;

	if (!get_id(line, "id", &id))
		return NOT_READ;
	err = get_target(parser, line, &target);
	if (err)
		return err;
	key_add(&key, target_kinds[target.kind]);
	key_add(&key, target.name);
	key_add(&key, target.file);
	key_add(&key, target.function);
	key_add(&key, target.caller);
	buffer__varint(&key, target.line);
	buffer__varint(&key, target.inclusive);
	index = key_index(&parser->targets, &key, &fresh);
	if (index < 0 || (fresh && array__push(&parser->profile->targets, target)))
		return -ENOMEM;
	return put_number(&parser->target_numbers, run, id, (uint64_t)index);
}

/* [point, visits, span_ns, ends, occupied_ns]; trailing zeros may be omitted. */
static bool get_visits(const json_t *entry, struct causal_visits *visits)
{
	uint64_t *const counts[] = {&visits->visits, &visits->span_ns, &visits->ends};
	const json_t *occupied = json_array_get(entry, 4);
	size_t n = json_array_size(entry);
	uint64_t number;

	if (n < 2 || !read_number(json_array_get(entry, 0), UINT32_MAX, &number))
		return false;
	visits->point = (uint32_t)number;
	for (size_t i = 0; i < ARRAY_SIZE(counts) && i + 1 < n; i++)
		if (!read_number(json_array_get(entry, i + 1), CAUSAL_HALF_MAX, counts[i]))
			return false;
	visits->occupied_ns = json_number_value(occupied);
	return !occupied || (json_is_number(occupied) && visits->occupied_ns >= 0 &&
			     visits->occupied_ns <= (double)CAUSAL_RUN_MAX);
}

static int get_half(const json_t *object, struct causal_parsed_half *half)
{
	const json_t *points = json_object_get(object, "points"), *entry;
	size_t i;

	if (!json_is_object(object) || (points && !json_is_array(points)) ||
	    !get_number(object, "duration_ns", CAUSAL_HALF_MAX, &half->duration_ns) ||
	    !get_number(object, "delay_ns", CAUSAL_HALF_MAX, &half->delay_ns) ||
	    !get_number(object, "hit_ns", CAUSAL_RUN_MAX, &half->hit_ns) ||
	    !get_number(object, "in_flight_ns", CAUSAL_RUN_MAX, &half->in_flight_ns))
		return NOT_READ;
	half->visits.n = 0;
	json_array_foreach(points, i, entry)
	{
		struct causal_visits visits = {};

		if (!get_visits(entry, &visits))
			return NOT_READ;
		if (array__push(&half->visits, visits))
			return -ENOMEM;
	}
	return 0;
}

/* Copies a parsed half to the profile, without points that are not defined. */
static int take_half(struct causal_parser *parser, const struct causal_parsed_half *raw,
		     uint32_t run, struct causal_half *half)
{
	if (!raw->duration_ns)
		return NOT_READ;
	half->duration_ns = raw->duration_ns;
	half->delay_ns = raw->delay_ns;
	half->hit_ns = raw->hit_ns;
	half->in_flight_ns = raw->in_flight_ns;
	if (!raw->visits.n)
		return 0;
	half->points = causal_memory__take(&parser->memory, raw->visits.n * sizeof(*half->points));
	if (!half->points)
		return -ENOMEM;
	for (size_t i = 0; i < raw->visits.n; i++) {
		const struct causal_visits *visits = &raw->visits.data[i];
		const uint64_t *index =
			map64__get(&parser->point_numbers, (uint64_t)run << 32 | visits->point);

		/* The line that defines the point may have been cut by a full disk. */
		if (!index)
			continue;
		half->points[half->n_points] = *visits;
		half->points[half->n_points++].point = (uint32_t)*index;
	}
	return 0;
}

static int take_experiment(struct causal_parser *parser, uint32_t run)
{
	const struct causal_parsed *raw = &parser->raw;
	struct causal_experiment experiment = {
		.run = run,
		.speedup = raw->speedup,
		.whole_run = raw->whole_run,
		.at_ns = raw->at_ns,
	};
	const uint64_t *target =
		map64__get(&parser->target_numbers, (uint64_t)run << 32 | raw->target);
	int err;

	if (!target || !(raw->speedup >= 0) || raw->speedup > 1)
		return NOT_READ;
	experiment.target = (uint32_t)*target;
	err = keep_bytes(parser, raw->also, raw->also_size, &experiment.also);
	if (!err && !raw->whole_run)
		err = take_half(parser, &raw->base, run, &experiment.base);
	if (!err)
		err = take_half(parser, &raw->with, run, &experiment.with);
	return err ? err : array__push(&parser->profile->experiments, experiment);
}

static int parse_experiment(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	const json_t *base = json_object_get(line, "base");
	const json_t *speedup = json_object_get(line, "speedup");
	const json_t *also = json_object_get(line, "also");
	struct causal_parsed *raw = &parser->raw;
	int err = 0;

	if (!json_is_number(speedup) || (also && !json_is_string(also)) ||
	    !get_id(line, "target", &raw->target) ||
	    !get_number(line, "at_ns", CAUSAL_RUN_MAX, &raw->at_ns))
		return NOT_READ;
	raw->speedup = json_number_value(speedup);
	raw->also = also ? json_string_value(also) : "";
	raw->also_size = strlen(raw->also);
	raw->whole_run = !base;
	if (base)
		err = get_half(base, &raw->base);
	err = err ? err : get_half(json_object_get(line, "with"), &raw->with);
	return err ? err : take_experiment(parser, run);
}

static int parse_seen(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	const uint64_t *target;
	struct causal_seen seen;
	uint32_t id;

	if (!get_id(line, "target", &id) || !get_number(line, "ns", CAUSAL_RUN_MAX, &seen.ns))
		return NOT_READ;
	target = map64__get(&parser->target_numbers, (uint64_t)run << 32 | id);
	if (!target)
		return NOT_READ;
	seen.target = (uint32_t)*target;
	return array__push(&parser->profile->runs.data[run].seen, seen);
}

static int parse_place(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	struct causal_place place = {};
	uint64_t number;
	int err;

	if (!get_number(line, "line", UINT32_MAX, &number) ||
	    !get_number(line, "ns", CAUSAL_RUN_MAX, &place.ns))
		return NOT_READ;
	place.line = (uint32_t)number;
	err = get_text(parser, line, "file", &place.file);
	err = err ? err : get_text(parser, line, "function", &place.function);
	return err ? err : array__push(&parser->profile->runs.data[run].places, place);
}

static int parse_diagnostic(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	const char *text;
	int err = get_text(parser, line, "text", &text);

	return err ? err : array__push(&parser->profile->runs.data[run].diagnostics, text);
}

/* [requests, io, timers] */
static bool get_outside(const json_t *line, struct causal_pause_test *test)
{
	const json_t *outside = json_object_get(line, "outside_ns");

	for (size_t i = 0; i < CAUSAL_OUTSIDES && i < json_array_size(outside); i++)
		if (!read_number(json_array_get(outside, i), CAUSAL_RUN_MAX, &test->outside_ns[i]))
			return false;
	return true;
}

static int parse_pause_test(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	struct causal_pause_test test = {.run = run};
	struct causal_parsed *raw = &parser->raw;
	const json_t *share = json_object_get(line, "share");
	int err;

	test.share = json_number_value(share);
	if (!(test.share > 0) || test.share > 1 || !get_outside(line, &test) ||
	    !get_number(line, "at_ns", CAUSAL_RUN_MAX, &test.at_ns))
		return NOT_READ;
	err = get_half(json_object_get(line, "base"), &raw->base);
	err = err ? err : get_half(json_object_get(line, "with"), &raw->with);
	err = err ? err : take_half(parser, &raw->base, run, &test.base);
	err = err ? err : take_half(parser, &raw->with, run, &test.with);
	return err ? err : array__push(&parser->profile->pause_tests, test);
}

static int parse_probe(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	struct causal_probe probe;
	const uint64_t *point;
	uint32_t id;

	if (!get_id(line, "point", &id) || !get_number(line, "ns", CAUSAL_HALF_MAX, &probe.ns))
		return NOT_READ;
	point = map64__get(&parser->point_numbers, (uint64_t)run << 32 | id);
	if (!point)
		return NOT_READ;
	probe.point = (uint32_t)*point;
	return array__push(&parser->profile->runs.data[run].probes, probe);
}

static int parse_request(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	const json_t *speedups = json_object_get(line, "speedups");
	struct causal_request request = {};
	const uint64_t *target;
	uint32_t id;

	target = get_id(line, "target", &id)
			 ? map64__get(&parser->target_numbers, (uint64_t)run << 32 | id)
			 : NULL;
	if (!target)
		return NOT_READ;
	request.target = (uint32_t)*target;
	request.speedups = causal_memory__take(&parser->memory, (json_array_size(speedups) + 1) *
									sizeof(*request.speedups));
	if (!request.speedups)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(speedups); i++) {
		double speedup = json_number_value(json_array_get(speedups, i));

		if (!(speedup >= 0) || speedup > 1)
			return NOT_READ;
		request.speedups[request.n_speedups++] = speedup;
	}
	return array__push(&parser->profile->runs.data[run].requests, request);
}

static int parse_build(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	struct causal_build build;
	int err = get_text(parser, line, "path", &build.path);

	err = err ? err : get_text(parser, line, "id", &build.id);
	return err ? err : array__push(&parser->profile->runs.data[run].builds, build);
}

static int parse_unpaused(struct causal_parser *parser, const json_t *line, uint32_t run)
{
	struct causal_unpaused_count count;
	int err;

	if (!get_id(line, "tid", &count.tid) ||
	    !get_number(line, "times", CAUSAL_RUN_MAX, &count.times))
		return NOT_READ;
	err = get_text(parser, line, "reason", &count.reason);
	return err ? err : array__push(&parser->profile->runs.data[run].unpaused, count);
}

static int parse_end(struct causal_parser *parser, const json_t *line, uint32_t index)
{
	struct causal_run *run = &parser->profile->runs.data[index], end = *run;
	const json_t *status = json_object_get(line, "status");

	if (!get_number(line, "runtime_ns", CAUSAL_RUN_MAX, &end.runtime_ns) ||
	    !get_number(line, "delay_ns", CAUSAL_RUN_MAX, &end.delay_ns) ||
	    !get_number(line, "sampled_ns", CAUSAL_RUN_MAX, &end.sampled_ns) ||
	    !get_number(line, "pauses", CAUSAL_RUN_MAX, &end.pauses) ||
	    (status && !json_is_integer(status)))
		return NOT_READ;
	if (status && json_integer_value(status) >= -1 && json_integer_value(status) <= 0xffff)
		end.status = (int)json_integer_value(status);
	/* Failures of earlier versions, which did not write pauses here, are attempts. */
	if (!json_object_get(line, "pauses"))
		end.unpaused.n = 0;
	*run = end;
	return 0;
}

static const struct {
	const char *type;
	int (*parse)(struct causal_parser *parser, const json_t *line, uint32_t run);
} parsers[] = {
	{"experiment", parse_experiment}, {"point", parse_point},
	{"target", parse_target},	  {"seen", parse_seen},
	{"place", parse_place},		  {"trouble", parse_diagnostic},
	{"pause-test", parse_pause_test}, {"probe", parse_probe},
	{"request", parse_request},	  {"build", parse_build},
	{"unpaused", parse_unpaused},	  {"end", parse_end},
};

static int parse_object(struct causal_parser *parser, const json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));
	const char *id = json_string_value(json_object_get(line, "run"));
	uint32_t run = 0;
	int err;

	if (!type || !id)
		return NOT_READ;
	if (!strcmp(type, "run"))
		return parse_run(parser, line, id);
	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		if (strcmp(parsers[i].type, type) != 0)
			continue;
		err = find_run(parser, id, strlen(id), &run);
		return err ? err : parsers[i].parse(parser, line, run);
	}
	return 0; /* a type of a later version, which older readers may ignore */
}

/* The start of the last line within @text, after one that a full disk cut; or NULL. */
static const char *last_begin(const char *text, size_t size)
{
	static const char begin[] = "{\"type\":";
	const char *last = NULL, *at = text + 1, *end = text + size;

	while (size && (at = memmem(at, (size_t)(end - at), begin, sizeof(begin) - 1)))
		last = at++;
	return last;
}

static int parse_text(struct causal_parser *parser, const char *text, size_t size)
{
	_cleanup_(json_decrefp) json_t *line = json_loadb(text, size, 0, NULL);
	const char *begin;
	int err;

	if (json_is_object(line))
		return parse_object(parser, line);
	begin = last_begin(text, size);
	err = begin ? parse_text(parser, begin, size - (size_t)(begin - text)) : 0;
	return err < 0 ? err : NOT_READ;
}

int causal_parser__line(struct causal_parser *parser, const char *text, size_t size)
{
	struct causal_parsed *raw = &parser->raw;
	uint32_t run = 0;
	int err;

	if (!causal_scan__experiment(text, size, raw))
		return parse_text(parser, text, size);
	err = find_run(parser, raw->run, raw->run_size, &run);
	return err ? err : take_experiment(parser, run);
}

void causal_parser__free(struct causal_parser *parser)
{
	causal_memory__free(parser->memory);
	intern__free(&parser->strings);
	array__free(&parser->texts);
	intern__free(&parser->points);
	intern__free(&parser->targets);
	intern__free(&parser->runs);
	array__free(&parser->run_indexes);
	map64__free(&parser->point_numbers);
	map64__free(&parser->target_numbers);
	array__free(&parser->raw.base.visits);
	array__free(&parser->raw.with.visits);
}
