// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/kernel/kernel_functions.h"
#include "recording/wait_class.h"
#include "wait_kinds/kind_clues.h"
#include "wait_kinds/kind_target.h"

#define SCHED_SETTLE_NS 100000000ULL

/* A target named on the command line. */
struct requested_target {
	const char *text;
	struct causal_location location;
	struct causal_target_at *at; /* NULL: not found yet */
	uint32_t index;		     /* of virtual time's target, with --also */
	double speedup;
	bool found;
};

struct causal_targets {
	const struct causal_config *config;
	struct virtual_time *vtime;
	struct causal_files *files;
	ARRAY(struct requested_target) requested;
	ARRAY(struct requested_target) also;
	char *also_texts;
	ARRAY(struct causal_target_at *) candidates; /* requested targets found so far */
	ARRAY(struct causal_target_at *) drawn;
	size_t n_written; /* candidates whose requests are in the profile */
	uint32_t n_used;  /* number of virtual time's targets in use */
};

static void target_at_free(struct causal_target_at *at)
{
	free((void *)at->target.name);
	free((void *)at->target.file);
	free((void *)at->target.function);
	free((void *)at->target.caller);
	array__free(&at->ranges.ranges);
	array__free(&at->callers.ranges);
	free(at);
}

DEFINE_CLEANUP(struct causal_target_at *, target_at_free)
#define _cleanup_target_at_ _cleanup_(target_at_freep)

static struct causal_target_at *target_at_new(enum causal_target_kind kind, const char *name)
{
	_cleanup_target_at_ struct causal_target_at *at = calloc(1, sizeof(*at));

	if (!at)
		return NULL;
	at->target = (struct causal_target){
		.kind = kind,
		.name = strdup(name),
		.file = strdup(""),
		.function = strdup(""),
		.caller = strdup(""),
	};
	if (!at->target.name || !at->target.file || !at->target.function || !at->target.caller)
		return NULL;
	return TAKE_PTR(at);
}

static int set_text(const char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free((void *)*to);
	*to = copy;
	return 0;
}

/* Makes a target of a kind of waiting. -EINVAL: there is no such kind. */
static int kind_target(const char *name, struct causal_target_at **out)
{
	struct kind_set found;

	if (!kind_target__find(name, &found))
		return -EINVAL;
	*out = target_at_new(CAUSAL_CLASS, name);
	if (!*out)
		return -ENOMEM;
	(*out)->match = CAUSAL_MATCH_KIND;
	(*out)->kinds = found;
	return 0;
}

/* Makes a target of a class or kind of waiting. -EINVAL with error__set(): there is none. */
static int class_target(const char *name, struct causal_target_at **out)
{
	_cleanup_free_ char *names = NULL;
	int class = wait_class__find(name);
	int err;

	if (class >= 0 && wait_class__info(class)->words) {
		*out = target_at_new(CAUSAL_CLASS, name);
		if (!*out)
			return -ENOMEM;
		(*out)->match = CAUSAL_MATCH_CLASS;
		(*out)->class = class;
		return 0;
	}
	err = kind_target(name, out);
	if (err != -EINVAL)
		return err;
	if (!strcmp(name, "lock") || !strcmp(name, "futex")) {
		error__set(-EINVAL, "waiting for locks cannot be made faster by itself");
		error__hint("the holder's work can: make the critical section a target "
			    "(--target)");
		return -EINVAL;
	}
	error__set(-EINVAL, "there is no class '%s'", name);
	names = kind_target__names();
	error__hint("there is io, sched (waiting for a CPU), other and cpu; and %s",
		    names ? names : "nothing else");
	return -EINVAL;
}

static int add_classes(struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->config->classes.texts.n; i++) {
		struct causal_target_at *at;
		int err = class_target(targets->config->classes.texts.data[i], &at);

		if (err)
			return err;
		if (array__push(&targets->candidates, at))
			return target_at_free(at), -ENOMEM;
	}
	return 0;
}

/* Parses a target that is code. */
static int parse_code_target(const char *text, struct causal_location *location)
{
	int err = causal_location__parse(text, location);

	if (!err && location->probe)
		err = error__set(
			-EINVAL,
			"'%s' is a probe, which cannot be made faster: name a line or a function",
			text);
	if (err)
		causal_location__free(location);
	return err;
}

static int add_requested(struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->config->targets.texts.n; i++) {
		struct requested_target requested = {
			.text = targets->config->targets.texts.data[i]};
		int err = parse_code_target(requested.text, &requested.location);

		if (!err)
			err = array__push(&targets->requested, requested);
		if (err)
			return causal_location__free(&requested.location), err;
	}
	return 0;
}

int causal_targets__reserve(struct causal_targets *targets)
{
	if (targets->n_used >= CAUSAL_TARGETS)
		return -ENOSPC;
	return (int)targets->n_used++;
}

/* "TARGET=SPEEDUP" */
static int parse_also(struct causal_targets *targets, const char *text,
		      struct requested_target *also)
{
	const char *equals = strrchr(text, '=');
	_cleanup_free_ char *name = strndup(text, equals ? (size_t)(equals - text) : 0);
	double percent;
	char *end;
	int index, err;

	*also = (struct requested_target){.text = text};
	if (!name)
		return -ENOMEM;
	percent = equals ? strtod(equals + 1, &end) : -1;
	if (!equals || end == equals + 1 || (*end && strcmp(end, "%") != 0) || !(percent >= 0) ||
	    percent > 100)
		return error__set(-EINVAL, "'%s' is not TARGET=PERCENT", text);
	index = causal_targets__reserve(targets);
	if (index < 0)
		return error__set(-EINVAL,
				  "at most %d --also targets and sampled points are possible",
				  CAUSAL_TARGETS - 1);
	also->index = (uint32_t)index;
	also->speedup = percent / 100;
	err = class_target(name, &also->at);
	if (!err)
		return 0;
	error__clear();
	return err == -ENOMEM ? err : parse_code_target(name, &also->location);
}

static int add_also(struct causal_targets *targets)
{
	const struct causal_texts *texts = &targets->config->also;
	size_t size = 0;
	FILE *out = open_memstream(&targets->also_texts, &size);
	int err = 0;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < texts->texts.n && !err; i++) {
		struct requested_target also;

		fprintf(out, "%s%s", i ? ", " : "", texts->texts.data[i]);
		err = parse_also(targets, texts->texts.data[i], &also);
		if (!err)
			err = array__push(&targets->also, also);
	}
	if (fclose(out) && !err)
		err = -ENOMEM;
	return err;
}

int causal_targets__new(const struct causal_config *config, struct virtual_time *vtime,
			struct causal_files *files, struct causal_targets **out)
{
	_cleanup_(causal_targets__freep) struct causal_targets *targets =
		calloc(1, sizeof(*targets));
	int err;

	if (!targets)
		return -ENOMEM;
	targets->config = config;
	targets->vtime = vtime;
	targets->files = files;
	targets->n_used = 1;
	err = add_classes(targets);
	if (!err)
		err = add_requested(targets);
	if (!err)
		err = add_also(targets);
	if (err)
		return err;
	*out = TAKE_PTR(targets);
	return 0;
}

/* Fills in the description of a target that was found at @place. */
static int describe(struct causal_target_at *at, const struct causal_location *location,
		    const struct code_place *place)
{
	int err = 0;

	if (location->file) {
		at->target.kind = CAUSAL_LINE;
		at->target.line = place->line;
		if (place->file)
			err = set_text(&at->target.file, place->file);
	}
	if (!err && place->function)
		err = set_text(&at->target.function, place->function);
	if (!err && location->caller)
		err = set_text(&at->target.caller, location->caller);
	return err;
}

static int find_code(struct causal_targets *targets, struct requested_target *requested)
{
	_cleanup_target_at_ struct causal_target_at *at =
		target_at_new(CAUSAL_FUNCTION, requested->text);
	struct code_place place;
	int err;

	if (!at)
		return -ENOMEM;
	err = causal_files__find(targets->files, &requested->location, &at->ranges, &at->callers,
				 &place);
	if (err)
		return err;
	at->match = CAUSAL_MATCH_STACK;
	at->target.inclusive = true;
	err = describe(at, &requested->location, &place);
	if (err)
		return err;
	requested->at = TAKE_PTR(at);
	return 0;
}

static struct virtual_time_target to_virtual_target(const struct causal_target_at *at)
{
	return (struct virtual_time_target){
		.name = at->target.name,
		.match = at->match,
		.class = at->class,
		.kinds = at->kinds,
		.ranges = at->ranges.ranges.data,
		.n_ranges = at->ranges.ranges.n,
		.callers = at->callers.ranges.data,
		.n_callers = at->callers.ranges.n,
	};
}

/* Sets the error for a target that was not found. */
static int not_found_error(struct causal_targets *targets, const struct requested_target *requested)
{
	_cleanup_free_ char *hint = causal_files__hint(targets->files, requested->text);
	const char *diagnostic = causal_files__diagnostic(targets->files);

	error__set(-EINVAL, "there is no code of '%s' in what the command ran", requested->text);
	if (hint)
		error__hint("%s", hint);
	else if (diagnostic)
		error__hint("%s", diagnostic);
	return -EINVAL;
}

int causal_targets__check_expected(struct causal_targets *targets)
{
	int err = 0;

	for (size_t i = 0; i < targets->requested.n && !err; i++)
		err = causal_files__expect(targets->files, &targets->requested.data[i].location, "",
					   targets->requested.data[i].text);
	for (size_t i = 0; i < targets->also.n && !err; i++)
		if (!targets->also.data[i].at)
			err = causal_files__expect(targets->files, &targets->also.data[i].location,
						   "", targets->also.data[i].text);
	return err;
}

static int find_requested(struct causal_targets *targets, bool all)
{
	for (size_t i = 0; i < targets->requested.n; i++) {
		struct requested_target *requested = &targets->requested.data[i];
		int err = requested->found ? 0 : find_code(targets, requested);

		if (err == -ENOENT || err == -ENODATA)
			err = all ? not_found_error(targets, requested) : 0;
		else if (!err && !requested->found)
			err = array__push(&targets->candidates, requested->at);
		if (err)
			return err;
		requested->found = requested->at;
	}
	return 0;
}

int causal_targets__find(struct causal_targets *targets, bool all)
{
	int err = find_requested(targets, all);

	for (size_t i = 0; i < targets->also.n && !err; i++) {
		struct requested_target *also = &targets->also.data[i];
		struct virtual_time_target target;

		if (also->found)
			continue;
		if (!also->at) {
			err = find_code(targets, also);
			if (err == -ENOENT || err == -ENODATA) {
				err = all ? not_found_error(targets, also) : 0;
				continue;
			}
			if (err)
				break;
		}
		target = to_virtual_target(also->at);
		err = virtual_time__set_target(targets->vtime, also->index, &target);
		if (err)
			break;
		virtual_time__speed_up(targets->vtime, also->index, also->speedup);
		also->found = true;
	}
	return err;
}

int causal_targets__write_requests(struct causal_targets *targets, struct causal_writer *writer)
{
	int err = 0;

	for (; targets->n_written < targets->candidates.n && !err; targets->n_written++) {
		const struct causal_target_at *at = targets->candidates.data[targets->n_written];
		int number = causal_writer__target(writer, &at->target);
		const struct causal_request request = {
			.target = (uint32_t)number,
			.speedups = targets->config->speedups.data,
			.n_speedups = (uint32_t)targets->config->speedups.n,
		};

		err = number < 0 ? number : causal_writer__request(writer, &request);
	}
	return err;
}

static bool same_place(const struct causal_target *target, const struct code_place *place,
		       bool function)
{
	if (function || !place->line)
		return target->kind == CAUSAL_FUNCTION && !strcmp(target->name, place->function);
	return target->kind == CAUSAL_LINE && target->line == place->line &&
	       !strcmp(target->file, place->file ? place->file : "");
}

/* Adds a drawn target: the line or function of @place. NULL: no memory, or no code. */
static struct causal_target_at *add_place(struct causal_targets *targets,
					  const struct code_place *place)
{
	bool function = targets->config->functions || !place->line;
	_cleanup_target_at_ struct causal_target_at *at = NULL;
	_cleanup_free_ char *name = NULL;
	const char *file = place->file ? place->file : "";

	if (function)
		name = strdup(place->function);
	else if (asprintf(&name, "%s:%u", strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
			  place->line) < 0)
		name = NULL;
	at = name ? target_at_new(function ? CAUSAL_FUNCTION : CAUSAL_LINE, name) : NULL;
	if (!at || set_text(&at->target.function, place->function) ||
	    (!function && set_text(&at->target.file, file)))
		return NULL;
	at->target.line = function ? 0 : place->line;
	at->match = CAUSAL_MATCH_CODE;
	if (causal_files__find_place(targets->files, place, function, &at->ranges) ||
	    array__push(&targets->drawn, at))
		return NULL;
	return TAKE_PTR(at);
}

static bool wants_kinds(const struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->candidates.n; i++)
		if (targets->candidates.data[i]->match == CAUSAL_MATCH_KIND)
			return true;
	for (size_t i = 0; i < targets->also.n; i++)
		if (targets->also.data[i].at &&
		    targets->also.data[i].at->match == CAUSAL_MATCH_KIND)
			return true;
	return false;
}

int causal_targets__load_kinds(struct causal_targets *targets)
{
	struct kernel_functions functions = {};
	ARRAY(struct kind_range) ranges = {};
	int err = 0;

	if (!wants_kinds(targets))
		return 0;
	for (size_t i = 0; i < n_kind_functions && !err; i++)
		err = kernel_functions__add(&functions, kind_functions[i].name, (uint32_t)i);
	if (!err)
		err = kernel_functions__find(&functions);
	for (size_t i = 0; i < functions.found.n && !err; i++) {
		const struct kernel_function *found = &functions.found.data[i];

		err = array__push(&ranges, ((struct kind_range){
						   .start = found->start,
						   .end = found->end,
						   .clue = kind_functions[found->number].clue,
					   }));
	}
	if (!err)
		err = virtual_time__set_kinds(targets->vtime, ranges.data, ranges.n);
	kernel_functions__free(&functions);
	array__free(&ranges);
	return err;
}

/* Chooses the code of a sample drawn at random since the last call; NULL: there was none. */
static struct causal_target_at *choose_drawn(struct causal_targets *targets)
{
	uint64_t code = virtual_time__candidate(targets->vtime);
	struct code_place place;

	if (!code || !causal_files__place(targets->files, code, 0, &place))
		return NULL;
	if (causal_files__exclude(targets->files, code) || !place.in_scope ||
	    (!place.line && !*place.function))
		return NULL;
	for (size_t i = 0; i < targets->drawn.n; i++)
		if (same_place(&targets->drawn.data[i]->target, &place, targets->config->functions))
			return targets->drawn.data[i];
	return add_place(targets, &place);
}

struct causal_target_at *causal_targets__choose(struct causal_targets *targets, uint64_t random)
{
	if (targets->requested.n || targets->config->classes.texts.n)
		return targets->candidates.n
			       ? targets->candidates.data[random % targets->candidates.n]
			       : NULL;
	return choose_drawn(targets);
}

/*
 * How long debt must have existed before it is paid, in ns. The sooner debt is paid, the more
 * accurate is the order of events in the program. But threads that wait for a CPU alternate, and
 * a pause would only let another one run.
 */
static uint64_t settle_time(const struct causal_targets *targets, const struct causal_target_at *at)
{
	if (targets->config->settle_ns != CAUSAL_SETTLE_AUTO)
		return targets->config->settle_ns;
	return at->match == CAUSAL_MATCH_CLASS && at->class == CLASS_SCHED ? SCHED_SETTLE_NS : 0;
}

int causal_targets__select(struct causal_targets *targets, struct causal_target_at *target)
{
	struct virtual_time_target code = to_virtual_target(target);
	int err = virtual_time__set_target(targets->vtime, 0, &code);

	if (err)
		return err;
	virtual_time__settle(targets->vtime, settle_time(targets, target));
	return 0;
}

const char *causal_targets__also(const struct causal_targets *targets)
{
	return targets->also_texts;
}

/* The code of all samples. */
struct code_list {
	ARRAY(uint64_t) codes;
	int error;
};

static void add_code(void *arg, uint64_t code, uint64_t ns)
{
	struct code_list *list = arg;

	if (array__push(&list->codes, code))
		list->error = -ENOMEM;
}

/* Has all places found at once. */
static int prepare_places(struct causal_targets *targets)
{
	struct code_list list = {};

	virtual_time__places(targets->vtime, add_code, &list);
	if (!list.error)
		list.error = causal_files__prepare(targets->files, list.codes.data, list.codes.n);
	array__free(&list.codes);
	return list.error;
}

/* A walk over all places with samples. */
struct place_walk {
	struct causal_targets *targets;
	struct causal_run *about;
	uint64_t *by_target; /* ns of samples, by index in drawn */
	int error;
};

static void add_place_samples(void *arg, uint64_t code, uint64_t ns)
{
	struct place_walk *walk = arg;
	struct causal_targets *targets = walk->targets;
	struct causal_place seen = {.ns = ns};
	struct code_place place;

	if (!causal_files__place(targets->files, code, ns, &place))
		return;
	for (size_t i = 0; i < targets->drawn.n; i++)
		if (same_place(&targets->drawn.data[i]->target, &place, targets->config->functions))
			walk->by_target[i] += ns;
	for (size_t i = 0; i < walk->about->places.n; i++) {
		struct causal_place *known = &walk->about->places.data[i];

		if (known->line == place.line && known->function == place.function &&
		    known->file == (place.file ? place.file : "")) {
			known->ns += ns;
			return;
		}
	}
	seen.file = place.file ? place.file : "";
	seen.line = place.line;
	seen.function = place.function;
	if (array__push(&walk->about->places, seen))
		walk->error = -ENOMEM;
}

static int add_seen(struct causal_run *about, struct causal_writer *writer,
		    const struct causal_target_at *at, uint64_t ns)
{
	int number = causal_writer__target(writer, &at->target);
	struct causal_seen seen = {.target = (uint32_t)number, .ns = ns};

	return number < 0 ? number : array__push(&about->seen, seen);
}

int causal_targets__write_seen(struct causal_targets *targets,
			       const struct virtual_time_counts *counts,
			       struct causal_writer *writer, struct causal_run *about)
{
	struct place_walk walk = {.targets = targets, .about = about};
	int err;

	walk.by_target = calloc(targets->drawn.n + 1, sizeof(*walk.by_target));
	if (!walk.by_target)
		return -ENOMEM;
	err = prepare_places(targets);
	if (!err)
		virtual_time__places(targets->vtime, add_place_samples, &walk);
	err = err ? err : walk.error;
	for (size_t i = 0; i < targets->drawn.n && !err; i++)
		err = add_seen(about, writer, targets->drawn.data[i], walk.by_target[i]);
	for (size_t i = 0; i < targets->candidates.n && !err; i++)
		if (targets->candidates.data[i]->match == CAUSAL_MATCH_CLASS)
			err = add_seen(about, writer, targets->candidates.data[i],
				       counts->class_ns[targets->candidates.data[i]->class]);
	free(walk.by_target);
	return err;
}

void causal_targets__free(struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->requested.n; i++)
		causal_location__free(&targets->requested.data[i].location);
	for (size_t i = 0; i < targets->also.n; i++) {
		causal_location__free(&targets->also.data[i].location);
		if (targets->also.data[i].at)
			target_at_free(targets->also.data[i].at);
	}
	for (size_t i = 0; i < targets->candidates.n; i++)
		target_at_free(targets->candidates.data[i]);
	for (size_t i = 0; i < targets->drawn.n; i++)
		target_at_free(targets->drawn.data[i]);
	array__free(&targets->requested);
	array__free(&targets->also);
	array__free(&targets->candidates);
	array__free(&targets->drawn);
	free(targets->also_texts);
	free(targets);
}
