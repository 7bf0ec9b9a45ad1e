// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/idle_names.h"

#include <ctype.h>
#include <stdio.h>
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

/*
 * Functions in which workers of a scheduler of tasks wait; workers wake each other. A name ends at
 * "::" or "." or its end.
 */
static const char *const scheduler_functions[] = {
	"runtime.stopm",	     /* Go */
	"runtime.notesleep",	     /* Go, of several kinds */
	"runtime.findRunnable",	     /* Go */
	"runtime.gcBgMarkWorker",    /* Go */
	"runtime.sysmon",	     /* Go */
	"rayon_core::sleep",	     /* Rust */
	"tokio::runtime::scheduler", /* Rust */
	"tokio::runtime::blocking",  /* Rust */
	"tokio::runtime::park",	     /* Rust */
	"crossbeam_deque",	     /* Rust */
	"tbb::detail::r1::market",   /* oneTBB */
};

/* Of the user stack, only this many innermost functions are considered, without the C library's. */
#define WORK_FRAMES	 4
#define SCHEDULER_FRAMES 12

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

static bool is_scheduler(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(scheduler_functions); i++) {
		const char *at = strstr(name, scheduler_functions[i]);
		size_t n = strlen(scheduler_functions[i]);

		if (at && (!at[n] || at[n] == '.' || at[n] == ':' || at[n] == '('))
			return true;
	}
	return false;
}

static uint8_t hints_of(const char *name)
{
	return (has_idle_word(name) ? IDLE_HINT_WORK : 0) |
	       (is_scheduler(name) ? IDLE_HINT_SCHEDULER : 0);
}

static uint8_t *find_locations(const struct model *model)
{
	uint8_t *hints = calloc(model->locations.n, sizeof(*hints));

	for (size_t i = 1; hints && i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		for (size_t k = 0; !location->kernel && k < location->n_frames; k++)
			hints[i] |= hints_of(
				model__string(model, model->frames.data[location->frame + k].name));
	}
	return hints;
}

/* The hints of the innermost locations outside of the C library. */
static uint8_t hints_on(const struct model *model, const struct model_stack *stack,
			const uint8_t *locations)
{
	uint8_t hints = 0;
	size_t seen = 0;

	for (size_t i = 0; i < stack->depth; i++) {
		uint32_t at = model->stack_locations.data[stack->first + i];
		uint8_t mask = 0;

		if (model__is_c_library(model, model->locations.data[at].dso))
			continue;
		if (seen < WORK_FRAMES)
			mask = IDLE_HINT_WORK | IDLE_HINT_SCHEDULER;
		else if (seen < SCHEDULER_FRAMES)
			mask = IDLE_HINT_SCHEDULER;
		hints |= locations[at] & mask;
		seen++;
	}
	return hints;
}

uint8_t *idle_hints__make(const struct model *model)
{
	_cleanup_free_ uint8_t *locations = find_locations(model);
	uint8_t *hints = locations ? calloc(model->stacks.n, sizeof(*hints)) : NULL;

	for (size_t i = 1; hints && i < model->stacks.n; i++)
		hints[i] = hints_on(model, &model->stacks.data[i], locations);
	return hints;
}
