/* SPDX-License-Identifier: BSD-2-Clause */
/* The "#" lines that views begin with: what was recorded, and what of it was lost. */
#pragma once

#include <stdio.h>

#include "model/model.h"

/* "# LABEL : TEXT"; nothing for a text that is NULL or empty. */
void header__line(FILE *to, const char *label, const char *text);

/* Command, duration, mode and machine. */
void header__what(const struct model *model, FILE *to);

/* What was lost, hidden or cut short, and the file's warning. */
void header__losses(const struct model *model, FILE *to);

/* "why a stack is cut short" of enum stack_end, and its name in JSON. */
const char *stack_end__text(enum stack_end end);
const char *stack_end__name(enum stack_end end);
