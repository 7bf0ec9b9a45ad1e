/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Diagnostics: what is wrong with a recording (lost, truncated, damaged or not found), with hints.
 * The model has one list of them, which all views show.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"

struct model_diagnostic {
	const char *label; /* "lost", "truncated", ...: one word, a literal */
	char *text;	   /* one line, owned; a hint is at its end */
	bool all_well;	   /* nothing is wrong: "nothing", "none of 10 stacks" */
};

typedef ARRAY(struct model_diagnostic) model_diagnostics;

struct model;

/* Adds the diagnostics of the loaded records. Returns 0 or -ENOMEM. */
int model__diagnose(struct model *model);

/* Adds a diagnostic with a formatted text. Returns 0 or -ENOMEM. */
int model__add_diagnostic(struct model *model, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void model_diagnostics__free(model_diagnostics *list);
