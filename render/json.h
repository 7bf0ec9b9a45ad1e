/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the JSON documents of all views. Functions return NULL when out of memory. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"

/* @text as a JSON string, with bytes that are not UTF-8 as \xNN. */
json_t *json__text(const char *text);

/* String @id of @model, the same way. */
json_t *json__string(const struct model *model, uint32_t id);

/* @value, at most 2^63 - 1. */
json_t *json__number(uint64_t value);

/* Adds the recording's metadata, lost events and diagnostics to @document. */
void json__put_recording(json_t *document, const struct model *model);

/* Writes and releases @document. Returns 0, or -ENOMEM also for a @document of NULL. */
int json__write(json_t *document, FILE *to);
