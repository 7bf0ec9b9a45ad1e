// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/redaction.h"
#include "recording/causal/profile_lines.h"

#define LEFT_OUT "a diagnostic of the run, which is left out here"

struct redactor {
	struct causal_profile *profile;
	const struct redaction *redaction;
	int err;
};

/* Sets *@kept to a copy of @text in the profile, and frees @text; NULL: no memory. */
static void keep(struct redactor *redactor, const char **kept, char *text)
{
	struct causal_memory *memory = redactor->profile->memory;
	size_t size = text ? strlen(text) + 1 : 0;
	char *copy = text ? causal_memory__take(&memory, size) : NULL;

	redactor->profile->memory = memory;
	if (copy)
		*kept = memcpy(copy, text, size);
	else
		redactor->err = -ENOMEM;
	free(text);
}

static void redact_name(struct redactor *redactor, const char **name)
{
	keep(redactor, name, redaction__name(redactor->redaction, *name));
}

/* "FILE:LINE" of a line is named by the same hash as its file. */
static void redact_target(struct redactor *redactor, struct causal_target *target)
{
	char *line;

	redact_name(redactor, &target->function);
	redact_name(redactor, &target->caller);
	if (!*target->file) {
		redact_name(redactor, &target->name);
		return;
	}
	keep(redactor, &target->file, redaction__path(redactor->redaction, target->file));
	if (asprintf(&line, "%s:%u", target->file, target->line) < 0)
		line = NULL;
	keep(redactor, &target->name, line);
}

static void redact_run(struct redactor *redactor, struct causal_run *run)
{
	run->command = REDACTED_TEXT;
	for (size_t i = 0; i < run->places.n; i++) {
		struct causal_place *place = &run->places.data[i];

		keep(redactor, &place->file, redaction__path(redactor->redaction, place->file));
		redact_name(redactor, &place->function);
	}
	for (size_t i = 0; i < run->diagnostics.n; i++)
		run->diagnostics.data[i] = LEFT_OUT;
	for (size_t i = 0; i < run->builds.n; i++) {
		const char **path = &run->builds.data[i].path;

		keep(redactor, path, redaction__path(redactor->redaction, *path));
	}
}

int causal_profile__redact(struct causal_profile *profile, const struct redaction *redaction)
{
	struct redactor redactor = {.profile = profile, .redaction = redaction};

	for (size_t i = 0; i < profile->points.n; i++)
		redact_name(&redactor, &profile->points.data[i].name);
	for (size_t i = 0; i < profile->targets.n; i++)
		redact_target(&redactor, &profile->targets.data[i]);
	for (size_t i = 0; i < profile->runs.n; i++)
		redact_run(&redactor, &profile->runs.data[i]);
	for (size_t i = 0; i < profile->experiments.n; i++)
		redact_name(&redactor, &profile->experiments.data[i].also);
	return redactor.err;
}
