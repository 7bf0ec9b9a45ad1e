/* SPDX-License-Identifier: BSD-2-Clause */
/* What the JSON documents of all views have in common. NULL stands for out of memory. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"

/* @text with what is no UTF-8 written as \xNN. */
json_t *json__text(const char *text);

/* String @id of @model. */
json_t *json__string(const struct model *model, uint32_t id);

/* @value, at most 2^63 - 1. */
json_t *json__number(uint64_t value);

/* Puts what was recorded, and what of it was lost, into @document. */
void json__put_recording(json_t *document, const struct model *model);

/* Writes @document, and releases it; NULL is an error. Returns 0 or -ENOMEM. */
int json__write(json_t *document, FILE *to);
