// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/idle_waits.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Words in the names of functions that wait for something to do. */
static const char *const words[] = {
	"idle",
	"dequeue",
	"pop",
	"park_worker",
	"wait_for_work",
	"wait_for_task",
	"get_task",
	"get_job",
	"next_task",
	"next_job",
	"take_task",
	"take_job",
	"bgthread",
	"bg_thread",
	"fetch_task",
	"wait_for_job",
	"wait_for_new_connection",
	"block_until_new_connection",
};

/* Only who waits is looked at, not all that called it. */
#define NEAR_FRAMES 4

struct idle_waits {
	bool *stacks; /* a user stack: named so; a kernel stack: it sends a signal */
};

/* Where the arguments of a C++ function begin. */
static bool is_arguments(const char *text)
{
	static const char unnamed[] = "(anonymous namespace)";

	return *text == '(' && strncmp(text, unnamed, sizeof(unnamed) - 1) != 0;
}

/* @name in lower case with _ between words: "WaitForWork" as "_wait_for_work_". */
static void spell(const char *name, char *text, size_t size)
{
	size_t n = 0;

	text[n++] = '_';
	for (size_t i = 0; name[i] && !is_arguments(name + i) && n + 3 < size; i++) {
		unsigned char c = (unsigned char)name[i];
		bool lower_before = i && (islower((unsigned char)name[i - 1]) ||
					  isdigit((unsigned char)name[i - 1]));

		if (!isalnum(c)) {
			if (text[n - 1] != '_')
				text[n++] = '_';
			continue;
		}
		if (isupper(c) && lower_before && text[n - 1] != '_')
			text[n++] = '_';
		text[n++] = (char)tolower(c);
	}
	text[n++] = '_';
	text[n] = '\0';
}

static bool is_named_so(const char *name)
{
	char text[512], wanted[64];

	spell(name, text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		snprintf(wanted, sizeof(wanted), "_%s_", words[i]);
		if (strstr(text, wanted))
			return true;
	}
	return false;
}

static bool sends_signal(const char *name)
{
	return !strcmp(name, "send_signal_locked") || !strcmp(name, "__send_signal_locked") ||
	       !strcmp(name, "complete_signal");
}

/* Bits of all locations: whether a function there is named so, or sends a signal. */
static bool *named_locations(const struct model *model)
{
	bool *named = calloc(model->locations.n, sizeof(*named));

	for (size_t i = 1; named && i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		for (size_t k = 0; k < location->n_frames; k++) {
			const char *name =
				model__string(model, model->frames.data[location->frame + k].name);

			named[i] |= location->kernel ? sends_signal(name) : is_named_so(name);
		}
	}
	return named;
}

/* Of the innermost @deep functions, those of the C library not counted. */
static bool has_named(const struct model *model, const struct model_stack *stack, const bool *named,
		      size_t deep)
{
	size_t seen = 0;

	for (size_t i = 0; i < stack->depth && seen < deep; i++) {
		uint32_t at = model->stack_locations.data[stack->first + i];

		if (model__is_c_library(model, model->locations.data[at].dso))
			continue;
		if (named[at])
			return true;
		seen++;
	}
	return false;
}

int idle_waits__new(const struct model *model, struct idle_waits **out)
{
	_cleanup_free_ bool *named = named_locations(model);
	struct idle_waits *idle = calloc(1, sizeof(*idle));

	if (idle)
		idle->stacks = calloc(model->stacks.n, sizeof(*idle->stacks));
	if (!named || !idle || !idle->stacks) {
		idle_waits__free(idle);
		return -ENOMEM;
	}
	for (size_t i = 1; i < model->stacks.n; i++) {
		const struct model_stack *stack = &model->stacks.data[i];
		size_t deep = stack->kernel ? stack->depth : NEAR_FRAMES;

		idle->stacks[i] = has_named(model, stack, named, deep);
	}
	*out = idle;
	return 0;
}

void idle_waits__free(struct idle_waits *idle)
{
	if (!idle)
		return;
	free(idle->stacks);
	free(idle);
}

bool idle_waits__is(const struct idle_waits *idle, enum wait_kind kind, uint32_t user,
		    uint32_t waker)
{
	if (idle->stacks[waker]) /* whoever sends a signal to an event loop means more by it */
		return false;
	return kind__info(kind)->role == KIND_ROLE_IDLE || idle->stacks[user];
}
