/* SPDX-License-Identifier: BSD-2-Clause */
/* The "#" lines at the top of each view: what was recorded, and diagnostics. */
#pragma once

#include <stdio.h>

#include "model/model.h"

/* Prints "# LABEL : TEXT", unless @text is NULL or empty. */
void header__line(FILE *to, const char *label, const char *text);

/* Prints the command, duration, mode and machine. */
void header__recording(const struct model *model, FILE *to);

/* Prints the model's diagnostics, one line each. */
void header__diagnostics(const struct model *model, FILE *to);

/*
 * Prints the diagnostics that report a problem, as messages: for views without a header. What is
 * wrong with the file is not among them: a command says it when it loads the file.
 */
void header__warnings(const struct model *model, FILE *to);
