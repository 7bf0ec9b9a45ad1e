// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "wait_kinds/kind_clues.h"
#include "analysis/kinds/tcp_holds.h"
#include "arch/syscalls.h"

/* The clues of a function: [first, first + n) of the sorted table. */
struct kind_match {
	uint16_t first;
	uint16_t n;
	bool looked_up;
};

/* What the functions of a kernel stack say. */
struct stack_evidence {
	struct kind_evidence evidence;
	uint8_t running; /* enum wait_kind: what a thread does that runs there */
	bool looked_up;
};

struct kinds {
	const struct model *model;
	const struct kind_function **sorted;
	struct kind_match *matches; /* by string of the model */
	size_t n_matches;
	struct stack_evidence *evidence; /* by stack of the model */
	size_t n_evidence;
	uint8_t by_syscall[SYSCALLS_MAX];
};

/* By function name, then in the order of kind_functions[]. */
static int function_order(const void *a, const void *b)
{
	const struct kind_function *left = *(const struct kind_function *const *)a;
	const struct kind_function *right = *(const struct kind_function *const *)b;
	int order = strcmp(left->name, right->name);

	return order ? order : (left > right) - (left < right);
}

int kinds__new(const struct model *model, struct kinds **out)
{
	_cleanup_kinds_ struct kinds *kinds = calloc(1, sizeof(*kinds));
	const char *machine = model__meta(model, "machine");

	if (!kinds)
		return -ENOMEM;
	kinds->model = model;
	kinds->n_matches = model->strings.n;
	kinds->matches = calloc(kinds->n_matches, sizeof(*kinds->matches));
	kinds->n_evidence = model->stacks.n;
	kinds->evidence = calloc(kinds->n_evidence, sizeof(*kinds->evidence));
	kinds->sorted = calloc(n_kind_functions, sizeof(void *));
	if (!kinds->matches || !kinds->evidence || !kinds->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n_kind_functions; i++)
		kinds->sorted[i] = &kind_functions[i];
	qsort(kinds->sorted, n_kind_functions, sizeof(void *), function_order);
	for (int nr = 0; nr < SYSCALLS_MAX; nr++)
		kinds->by_syscall[nr] = (uint8_t)kind_syscall__kind(machine, nr);
	*out = TAKE_PTR(kinds);
	return 0;
}

void kinds__free(struct kinds *kinds)
{
	if (!kinds)
		return;
	free(kinds->matches);
	free(kinds->evidence);
	free(kinds->sorted);
	free(kinds);
}

/* strcmp() of @name, without a suffix like ".isra.0" or ".constprop.0", and @function. */
static int function_compare(const char *name, const char *function)
{
	size_t n = strcspn(name, ".");
	int order = strncmp(name, function, n);

	return order ? order : -(int)(unsigned char)function[n];
}

static struct kind_match kinds_look_up(const struct kinds *kinds, const char *name)
{
	struct kind_match match = {.looked_up = true};
	size_t low = 0, high = n_kind_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function_compare(name, kinds->sorted[middle]->name) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	match.first = (uint16_t)low;
	while (low + match.n < n_kind_functions &&
	       !function_compare(name, kinds->sorted[low + match.n]->name))
		match.n++;
	return match;
}

static struct kind_match kinds_match(struct kinds *kinds, uint32_t name)
{
	if (name >= kinds->n_matches)
		return kinds_look_up(kinds, model__string(kinds->model, name));
	if (!kinds->matches[name].looked_up)
		kinds->matches[name] = kinds_look_up(kinds, model__string(kinds->model, name));
	return kinds->matches[name];
}

/* A thread that runs in these functions frees memory, or makes room for large pages. */
static uint8_t running_kind(uint8_t kind)
{
	switch (kind) {
	case KIND_RECLAIM:
		return KIND_RECLAIMING;
	case KIND_COMPACTION:
		return KIND_COMPACTING;
	default:
		return KIND_RUNNING;
	}
}

static void add_clue(struct stack_evidence *evidence, const struct kind_clue *clue)
{
	kind_evidence__add(&evidence->evidence, clue);
	if (evidence->running == KIND_RUNNING && clue->strength == KIND_STRONG)
		evidence->running = running_kind(clue->kind);
}

static struct stack_evidence kinds_look_at(struct kinds *kinds, uint32_t stack)
{
	const struct model *model = kinds->model;
	const struct model_stack *frames = &model->stacks.data[stack];
	struct stack_evidence evidence = {.running = KIND_RUNNING, .looked_up = true};

	for (size_t i = 0; i < frames->depth; i++) {
		const struct model_location *location = model__location(model, frames, i);

		for (size_t k = 0; k < location->n_frames; k++) {
			uint32_t name = model->frames.data[location->frame + k].name;
			struct kind_match match = {};

			if (name)
				match = kinds_match(kinds, name);
			for (size_t row = 0; row < match.n; row++)
				add_clue(&evidence, &kinds->sorted[match.first + row]->clue);
		}
	}
	return evidence;
}

static struct stack_evidence kinds_evidence(struct kinds *kinds, uint32_t stack)
{
	struct stack_evidence *known;

	if (stack >= kinds->n_evidence)
		return kinds_look_at(kinds, stack);
	known = &kinds->evidence[stack];
	if (!known->looked_up)
		*known = kinds_look_at(kinds, stack);
	return *known;
}

enum wait_kind kinds__of_running(struct kinds *kinds, uint32_t kernel)
{
	return (enum wait_kind)kinds_evidence(kinds, kernel).running;
}

enum wait_kind kinds__of(struct kinds *kinds, const struct wait_description *description)
{
	const struct model_object *object = &kinds->model->objects.data[description->object];
	const struct kind_wait wait = {
		.class = (uint8_t)description->class,
		.syscall_kind = description->syscall >= 0 && description->syscall < SYSCALLS_MAX
					? kinds->by_syscall[description->syscall]
					: KIND_NONE,
		.flags = description->flags,
		.object = object->type,
		.family = object->family,
		.protocol = object->protocol,
		.mode = object->mode,
	};
	struct kind_evidence evidence = {};

	if (description->class == CLASS_CPU)
		return kinds__of_running(kinds, description->kernel);
	if (object->hold && description->class != CLASS_SCHED)
		return tcp_hold__kind((enum hold_reason)object->hold);
	if (description->class != CLASS_SCHED)
		evidence = kinds_evidence(kinds, description->kernel).evidence;
	return kind__decide(&evidence, &wait);
}

enum wait_kind kinds__of_interval(struct kinds *kinds, const struct model_interval *interval,
				  uint32_t object)
{
	const struct wait_description description = {
		.class = interval->class,
		.flags = interval->flags,
		.syscall = interval->syscall,
		.kernel = interval->kernel,
		.object = object,
	};

	return kinds__of(kinds, &description);
}

/* "/batch (20 of 100 ms)", "by strace (123)" */
static void limit_text(const char *name, const char *value, bool since_unknown, char *text,
		       size_t size)
{
	snprintf(text, size, "%s%s%s%s%s", name, *name && *value ? " (" : "", value,
		 *name && *value ? ")" : "",
		 !since_unknown ? ""
		 : *name	? " (since when is unknown)"
				: "(since when is unknown)");
}

void object__text(const struct model *model, uint32_t index, char *text, size_t size)
{
	const struct model_object *object = &model->objects.data[index];
	const char *name = model__string(model, object->name);
	const char *local = model__string(model, object->local);
	char why[160];

	text[0] = '\0';
	switch (object->type) {
	case OBJECT_FILE:
		if (*name)
			snprintf(text, size, "%s", name);
		else if (object->id && S_ISFIFO(object->mode))
			snprintf(text, size, "pipe:[%" PRIu64 "]", object->id);
		else if (object->id)
			snprintf(text, size, "inode %" PRIu64, object->id);
		break;
	case OBJECT_SOCKET:
		if (*name || *local)
			snprintf(text, size, "%s", *name ? name : local);
		else if (object->id)
			snprintf(text, size, "socket:[%" PRIu64 "]", object->id);
		break;
	case OBJECT_CHILD:
		if (object->id)
			snprintf(text, size, "%" PRIu64, object->id);
		break;
	case OBJECT_LIMIT:
		limit_text(name, local, object->extra, text, size);
		break;
	case OBJECT_FUTEX:
	case OBJECT_KLOCK:
		snprintf(text, size, "0x%" PRIx64, object->id);
		break;
	default:
		break;
	}
	if (!object->hold)
		return;
	tcp_hold__text(model, object, why, sizeof(why));
	snprintf(text + strlen(text), size - strlen(text), "%s(%s)", *text ? " " : "", why);
}

void kind__describe(const struct model *model, enum wait_kind kind, uint32_t object, char *text,
		    size_t size)
{
	char what[512];

	object__text(model, object, what, sizeof(what));
	snprintf(text, size, "%s%s%s", kind__name(kind), *what ? " " : "", what);
}
