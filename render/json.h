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

/*
 * A document that is written member by member, for those that would not fit into memory as a whole.
 * Functions that write return nothing: what fails is told by json_stream__end().
 */
struct json_stream {
	FILE *to;
	bool first; /* nothing was written yet at this level */
	int err;    /* the first error, negative errno */
};

/* Begins the document with the members of @first, which it releases. */
void json_stream__begin(struct json_stream *stream, json_t *first, FILE *to);

/* Opens array @name, a member of the object that was opened last. */
void json_stream__open_array(struct json_stream *stream, const char *name);

/* Opens an object, the next of the array that was opened last, with the members of @first. */
void json_stream__open_object(struct json_stream *stream, json_t *first);

void json_stream__close_array(struct json_stream *stream);
void json_stream__close_object(struct json_stream *stream);

/* Ends the document. Returns 0 or -ENOMEM. */
int json_stream__end(struct json_stream *stream);
