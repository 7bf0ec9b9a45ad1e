// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/core/kernel_functions.h"
#include "recording/wait_class.h"

#define TURNS_NS 100000000ULL

/* A target that was asked for. */
struct asked {
	const char *text;
	struct causal_aim aim;
	struct causal_target_at *at; /* once it was found */
	uint32_t index;		     /* of virtual time's target, for one sped up all the time */
	double speedup;
	bool found;
};

struct causal_targets {
	const struct causal_config *config;
	struct virtual_time *vtime;
	struct causal_files *files;
	ARRAY(struct asked) asked;
	ARRAY(struct asked) also;
	char *also_text;
	ARRAY(struct causal_target_at *) all; /* those that can be chosen */
	ARRAY(struct causal_target_at *) others;
	uint32_t used; /* of virtual time's targets */
};

static void target_at__free(struct causal_target_at *at)
{
	free((void *)at->target.name);
	free((void *)at->target.file);
	free((void *)at->target.function);
	free((void *)at->target.caller);
	array__free(&at->ranges.ranges);
	array__free(&at->callers.ranges);
	free(at);
}

DEFINE_CLEANUP(struct causal_target_at *, target_at__free)
#define _cleanup_target_at_ _cleanup_(target_at__freep)

static struct causal_target_at *target_at__new(enum causal_target_kind kind, const char *name)
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

/* A kind of waiting by name, as a target. -EINVAL: there is none. */
static int kind_target(const struct causal_kinds *kinds, const char *name,
		       struct causal_target_at **out)
{
	struct kind_set found;

	if (!kinds || !kinds->find(name, &found))
		return -EINVAL;
	*out = target_at__new(CAUSAL_CLASS, name);
	if (!*out)
		return -ENOMEM;
	(*out)->match = CAUSAL_MATCH_KIND;
	(*out)->kinds = found;
	return 0;
}

/* A class of waiting by name, as a target. */
static int class_target(const struct causal_kinds *kinds, const char *name,
			struct causal_target_at **out)
{
	_cleanup_free_ char *names = NULL;
	int class = wait_class__find(name);
	int err;

	if (class >= 0 && wait_class__info(class)->words) {
		*out = target_at__new(CAUSAL_CLASS, name);
		if (!*out)
			return -ENOMEM;
		(*out)->match = CAUSAL_MATCH_CLASS;
		(*out)->class = class;
		return 0;
	}
	err = kind_target(kinds, name, out);
	if (err != -EINVAL)
		return err;
	if (!strcmp(name, "lock") || !strcmp(name, "futex")) {
		error__set(-EINVAL, "waiting for locks cannot be made faster by itself");
		error__hint("what the holder does meanwhile can: make the critical section a "
			    "target (--target)");
		return -EINVAL;
	}
	error__set(-EINVAL, "there is no class '%s'", name);
	names = kinds ? kinds->names() : NULL;
	error__hint("there is io, sched (waiting for a CPU), other and cpu; and %s",
		    names ? names : "nothing else");
	return -EINVAL;
}

static int add_classes(struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->config->classes.texts.n; i++) {
		struct causal_target_at *at;
		int err = class_target(targets->config->kinds,
				       targets->config->classes.texts.data[i], &at);

		if (err)
			return err;
		if (array__push(&targets->all, at))
			return target_at__free(at), -ENOMEM;
	}
	return 0;
}

/* What can be faster: no probe. */
static int parse_code(const char *text, struct causal_aim *aim)
{
	int err = causal_aim__parse(text, aim);

	if (!err && aim->probe)
		err = error__set(-EINVAL, "'%s' is no code that could be faster", text);
	if (err)
		causal_aim__free(aim);
	return err;
}

static int add_asked(struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->config->targets.texts.n; i++) {
		struct asked asked = {.text = targets->config->targets.texts.data[i]};
		int err = parse_code(asked.text, &asked.aim);

		if (!err)
			err = array__push(&targets->asked, asked);
		if (err)
			return causal_aim__free(&asked.aim), err;
	}
	return 0;
}

int causal_targets__reserve(struct causal_targets *targets)
{
	if (targets->used >= CAUSAL_TARGETS)
		return -ENOSPC;
	return (int)targets->used++;
}

/* "TARGET=SPEEDUP" */
static int parse_also(struct causal_targets *targets, const char *text, struct asked *also)
{
	const char *equals = strrchr(text, '=');
	_cleanup_free_ char *name = strndup(text, equals ? (size_t)(equals - text) : 0);
	double percent;
	char *end;
	int index, err;

	*also = (struct asked){.text = text};
	if (!name)
		return -ENOMEM;
	percent = equals ? strtod(equals + 1, &end) : -1;
	if (!equals || end == equals + 1 || (*end && strcmp(end, "%") != 0) || !(percent >= 0) ||
	    percent > 100)
		return error__set(-EINVAL, "'%s' is not TARGET=PERCENT", text);
	index = causal_targets__reserve(targets);
	if (index < 0)
		return error__set(-EINVAL, "only %d targets can be sped up besides",
				  CAUSAL_TARGETS - 1);
	also->index = (uint32_t)index;
	also->speedup = percent / 100;
	err = class_target(targets->config->kinds, name, &also->at);
	if (!err)
		return 0;
	error__clear();
	return err == -ENOMEM ? err : parse_code(name, &also->aim);
}

static int add_also(struct causal_targets *targets)
{
	const struct causal_texts *texts = &targets->config->also;
	size_t size = 0;
	FILE *out = open_memstream(&targets->also_text, &size);
	int err = 0;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < texts->texts.n && !err; i++) {
		struct asked also;

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
	targets->used = 1;
	err = add_classes(targets);
	if (!err)
		err = add_asked(targets);
	if (!err)
		err = add_also(targets);
	if (err)
		return err;
	*out = TAKE_PTR(targets);
	return 0;
}

/* Describes a piece of code that was found. */
static int describe(struct causal_target_at *at, const struct causal_aim *aim,
		    const struct code_place *place)
{
	int err = 0;

	if (aim->file) {
		at->target.kind = CAUSAL_LINE;
		at->target.line = place->line;
		if (place->file)
			err = set_text(&at->target.file, place->file);
	}
	if (!err && place->function)
		err = set_text(&at->target.function, place->function);
	if (!err && aim->caller)
		err = set_text(&at->target.caller, aim->caller);
	return err;
}

static int find_asked(struct causal_targets *targets, struct asked *asked)
{
	_cleanup_target_at_ struct causal_target_at *at =
		target_at__new(CAUSAL_FUNCTION, asked->text);
	struct code_place place;
	int err;

	if (!at)
		return -ENOMEM;
	err = causal_files__find(targets->files, &asked->aim, &at->ranges, &at->callers, &place);
	if (err)
		return err;
	at->match = CAUSAL_MATCH_STACK;
	at->target.inclusive = true;
	err = describe(at, &asked->aim, &place);
	if (err)
		return err;
	asked->at = TAKE_PTR(at);
	return 0;
}

static struct virtual_time_target engine_target(const struct causal_target_at *at)
{
	return (struct virtual_time_target){
		.match = at->match,
		.class = at->class,
		.kinds = at->kinds,
		.ranges = at->ranges.ranges.data,
		.n_ranges = at->ranges.ranges.n,
		.callers = at->callers.ranges.data,
		.n_callers = at->callers.ranges.n,
	};
}

/* Why @asked is nowhere, for the user. */
static int missing(struct causal_targets *targets, const struct asked *asked)
{
	_cleanup_free_ char *hint = causal_files__hint(targets->files, asked->text);
	const char *trouble = causal_files__trouble(targets->files);

	error__set(-EINVAL, "there is no code of '%s' in what the command ran", asked->text);
	if (hint)
		error__hint("%s", hint);
	else if (trouble)
		error__hint("%s", trouble);
	return -EINVAL;
}

static int find_all_asked(struct causal_targets *targets, bool all)
{
	for (size_t i = 0; i < targets->asked.n; i++) {
		struct asked *asked = &targets->asked.data[i];
		int err = asked->found ? 0 : find_asked(targets, asked);

		if (err == -ENOENT || err == -ENODATA)
			err = all ? missing(targets, asked) : 0;
		else if (!err && !asked->found)
			err = array__push(&targets->all, asked->at);
		if (err)
			return err;
		asked->found = asked->at;
	}
	return 0;
}

int causal_targets__find(struct causal_targets *targets, bool all)
{
	int err = find_all_asked(targets, all);

	for (size_t i = 0; i < targets->also.n && !err; i++) {
		struct asked *also = &targets->also.data[i];
		struct virtual_time_target target;

		if (also->found)
			continue;
		if (!also->at) {
			err = find_asked(targets, also);
			if (err == -ENOENT || err == -ENODATA) {
				err = all ? missing(targets, also) : 0;
				continue;
			}
			if (err)
				break;
		}
		target = engine_target(also->at);
		err = virtual_time__set_target(targets->vtime, also->index, &target);
		virtual_time__speed_up(targets->vtime, also->index, also->speedup);
		also->found = true;
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

/* A new target, of what @place is in. */
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
	at = name ? target_at__new(function ? CAUSAL_FUNCTION : CAUSAL_LINE, name) : NULL;
	if (!at || set_text(&at->target.function, place->function) ||
	    (!function && set_text(&at->target.file, file)))
		return NULL;
	at->target.line = function ? 0 : place->line;
	at->match = CAUSAL_MATCH_CODE;
	if (causal_files__find_place(targets->files, place, function, &at->ranges) ||
	    array__push(&targets->others, at))
		return NULL;
	return TAKE_PTR(at);
}

static bool wants_kinds(const struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->all.n; i++)
		if (targets->all.data[i]->match == CAUSAL_MATCH_KIND)
			return true;
	for (size_t i = 0; i < targets->also.n; i++)
		if (targets->also.data[i].at &&
		    targets->also.data[i].at->match == CAUSAL_MATCH_KIND)
			return true;
	return false;
}

int causal_targets__tell_kinds(struct causal_targets *targets)
{
	const struct causal_kinds *kinds = targets->config->kinds;
	struct kernel_functions functions = {};
	ARRAY(struct kind_range) ranges = {};
	struct kind_clue clue;
	const char *name;
	int err = 0;

	if (!wants_kinds(targets))
		return 0;
	for (size_t i = 0; (name = kinds->function(i, &clue)) && !err; i++)
		err = kernel_functions__add(&functions, name, (uint32_t)i);
	if (!err)
		err = kernel_functions__find(&functions);
	for (size_t i = 0; i < functions.found.n && !err; i++) {
		const struct kernel_function *found = &functions.found.data[i];

		kinds->function(found->number, &clue);
		err = array__push(&ranges,
				  ((struct kind_range){
					  .start = found->start, .end = found->end, .clue = clue}));
	}
	if (!err)
		err = virtual_time__tell_kinds(targets->vtime, ranges.data, ranges.n,
					       kinds->of_call);
	kernel_functions__free(&functions);
	array__free(&ranges);
	return err;
}

/* What runs at present, by a sample drawn at random. */
static struct causal_target_at *choose_by_sample(struct causal_targets *targets)
{
	uint64_t code = virtual_time__candidate(targets->vtime);
	struct code_place place;

	if (!code || !causal_files__place(targets->files, code, 0, &place))
		return NULL;
	if (causal_files__leave_out(targets->files, code) || !place.in_scope ||
	    (!place.line && !*place.function))
		return NULL;
	for (size_t i = 0; i < targets->others.n; i++)
		if (same_place(&targets->others.data[i]->target, &place,
			       targets->config->functions))
			return targets->others.data[i];
	return add_place(targets, &place);
}

struct causal_target_at *causal_targets__choose(struct causal_targets *targets, uint64_t random)
{
	if (targets->asked.n || targets->config->classes.texts.n)
		return targets->all.n ? targets->all.data[random % targets->all.n] : NULL;
	return choose_by_sample(targets);
}

/*
 * The sooner debts are paid, the more the program does in the order in which it would. But
 * those who wait for a CPU take turns, and a pause would only let another one run.
 */
static uint64_t settle(const struct causal_targets *targets, const struct causal_target_at *at)
{
	if (targets->config->settle_ns != CAUSAL_SETTLE)
		return targets->config->settle_ns;
	return at->match == CAUSAL_MATCH_CLASS && at->class == CLASS_SCHED ? TURNS_NS : 0;
}

int causal_targets__aim(struct causal_targets *targets, struct causal_target_at *target)
{
	struct virtual_time_target code = engine_target(target);
	int err = virtual_time__set_target(targets->vtime, 0, &code);

	if (err)
		return error__errno(err, "'%s' has too much code", target->target.name);
	virtual_time__settle(targets->vtime, settle(targets, target));
	target->experiments++;
	return 0;
}

const char *causal_targets__also(const struct causal_targets *targets)
{
	return targets->also_text;
}

/* A walk over all places with samples. */
struct seeing {
	struct causal_targets *targets;
	struct causal_run *about;
	uint64_t *by_target; /* of others */
	int error;
};

static void see_place(void *arg, uint64_t code, uint64_t ns)
{
	struct seeing *seeing = arg;
	struct causal_targets *targets = seeing->targets;
	struct causal_place seen = {.ns = ns};
	struct code_place place;

	if (!causal_files__place(targets->files, code, ns, &place))
		return;
	for (size_t i = 0; i < targets->others.n; i++)
		if (same_place(&targets->others.data[i]->target, &place,
			       targets->config->functions))
			seeing->by_target[i] += ns;
	for (size_t i = 0; i < seeing->about->places.n; i++) {
		struct causal_place *known = &seeing->about->places.data[i];

		if (known->line == place.line && known->function == place.function &&
		    known->file == (place.file ? place.file : "")) {
			known->ns += ns;
			return;
		}
	}
	seen.file = place.file ? place.file : "";
	seen.line = place.line;
	seen.function = place.function;
	if (array__push(&seeing->about->places, seen))
		seeing->error = -ENOMEM;
}

static int add_seen(struct causal_run *about, struct causal_writer *writer,
		    const struct causal_target_at *at, uint64_t ns)
{
	int number = causal_writer__target(writer, &at->target);
	struct causal_seen seen = {.target = (uint32_t)number, .ns = ns};

	return number < 0 ? number : array__push(&about->seen, seen);
}

int causal_targets__seen(struct causal_targets *targets, const struct virtual_time_counts *counts,
			 struct causal_writer *writer, struct causal_run *about)
{
	struct seeing seeing = {.targets = targets, .about = about};
	int err;

	seeing.by_target = calloc(targets->others.n + 1, sizeof(*seeing.by_target));
	if (!seeing.by_target)
		return -ENOMEM;
	virtual_time__places(targets->vtime, see_place, &seeing);
	err = seeing.error;
	for (size_t i = 0; i < targets->others.n && !err; i++)
		err = add_seen(about, writer, targets->others.data[i], seeing.by_target[i]);
	for (size_t i = 0; i < targets->all.n && !err; i++)
		if (targets->all.data[i]->match == CAUSAL_MATCH_CLASS)
			err = add_seen(about, writer, targets->all.data[i],
				       counts->class_ns[targets->all.data[i]->class]);
	free(seeing.by_target);
	return err;
}

void causal_targets__free(struct causal_targets *targets)
{
	for (size_t i = 0; i < targets->asked.n; i++)
		causal_aim__free(&targets->asked.data[i].aim);
	for (size_t i = 0; i < targets->also.n; i++) {
		causal_aim__free(&targets->also.data[i].aim);
		if (targets->also.data[i].at)
			target_at__free(targets->also.data[i].at);
	}
	for (size_t i = 0; i < targets->all.n; i++)
		target_at__free(targets->all.data[i]);
	for (size_t i = 0; i < targets->others.n; i++)
		target_at__free(targets->others.data[i]);
	array__free(&targets->asked);
	array__free(&targets->also);
	array__free(&targets->all);
	array__free(&targets->others);
	free(targets->also_text);
	free(targets);
}
