// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/idle_waits.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Words in the names of functions that wait for work. */
static const char *const idle_words[] = {
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

/* Of the user stack, only this many functions are considered, without the C library's. */
#define INNER_FRAMES 4

struct idle_waits {
	bool *flagged_stacks; /* by stack: user: it has an idle word; kernel: it sends a signal */
};

/* Whether @text begins with the arguments of a C++ function. */
static bool is_arguments(const char *text)
{
	static const char unnamed[] = "(anonymous namespace)";

	return *text == '(' && strncmp(text, unnamed, sizeof(unnamed) - 1) != 0;
}

/* "WaitForWork" becomes "_wait_for_work_". */
static void to_snake_case(const char *name, char *text, size_t size)
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

static bool has_idle_word(const char *name)
{
	char text[512], wanted[64];

	to_snake_case(name, text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(idle_words); i++) {
		snprintf(wanted, sizeof(wanted), "_%s_", idle_words[i]);
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

/* Flags user locations with an idle word in a function's name, kernel ones that send a signal. */
static bool *flag_locations(const struct model *model)
{
	bool *flagged = calloc(model->locations.n, sizeof(*flagged));

	for (size_t i = 1; flagged && i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		for (size_t k = 0; k < location->n_frames; k++) {
			const char *name =
				model__string(model, model->frames.data[location->frame + k].name);

			flagged[i] |= location->kernel ? sends_signal(name) : has_idle_word(name);
		}
	}
	return flagged;
}

/* Whether one of the @deep innermost locations outside of the C library is flagged. */
static bool has_flagged(const struct model *model, const struct model_stack *stack,
			const bool *flagged, size_t deep)
{
	size_t seen = 0;

	for (size_t i = 0; i < stack->depth && seen < deep; i++) {
		uint32_t at = model->stack_locations.data[stack->first + i];

		if (model__is_c_library(model, model->locations.data[at].dso))
			continue;
		if (flagged[at])
			return true;
		seen++;
	}
	return false;
}

int idle_waits__new(const struct model *model, struct idle_waits **out)
{
	_cleanup_free_ bool *flagged = flag_locations(model);
	struct idle_waits *idle = calloc(1, sizeof(*idle));

	if (idle)
		idle->flagged_stacks = calloc(model->stacks.n, sizeof(*idle->flagged_stacks));
	if (!flagged || !idle || !idle->flagged_stacks) {
		idle_waits__free(idle);
		return -ENOMEM;
	}
	for (size_t i = 1; i < model->stacks.n; i++) {
		const struct model_stack *stack = &model->stacks.data[i];
		size_t deep = stack->kernel ? stack->depth : INNER_FRAMES;

		idle->flagged_stacks[i] = has_flagged(model, stack, flagged, deep);
	}
	*out = idle;
	return 0;
}

void idle_waits__free(struct idle_waits *idle)
{
	if (!idle)
		return;
	free(idle->flagged_stacks);
	free(idle);
}

bool idle_waits__is(const struct idle_waits *idle, enum wait_kind kind, uint32_t user,
		    uint32_t waker)
{
	/* A thread that is woken by a signal waited for its sender, rather than for work. */
	if (idle->flagged_stacks[waker])
		return false;
	return kind__info(kind)->role == KIND_ROLE_IDLE || idle->flagged_stacks[user];
}
