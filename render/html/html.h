/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report page, `dwell html`: the viewer with the data of recordings and causal profiles, as
 * docs/page.md describes it. The page is a stream: blocks are written as they are made.
 *
 *	html__begin(); for each recording html__recording(), html__block()...; html__end();
 *
 * Functions return 0 or -ENOMEM. Errors of the stream stay in it.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analysis/kinds/idle.h"
#include "analysis/kinds/wait_causes.h"

struct table;

struct html {
	FILE *to;
	json_t *index; /* the block `index`, which is written last */
};

struct html_recording {
	const struct model *model; /* symbolized */
	struct kinds *kinds;
	const struct idle_waits *idle;
	const struct wait_causes *causes;
	const struct own_strings *strings; /* those of @causes */
	const char *name;		   /* of the file */
	/* The thread whose path is in the page: 0: none. */
	uint32_t path;
};

/* @html is to be released with html__free() in any case. */
int html__begin(struct html *html, FILE *to);

/* Writes @recording; *@number is what its blocks are called by: rN. */
int html__recording(struct html *html, const struct html_recording *recording, size_t *number);

/* Writes the @n bytes of text, such as a JSON document, as block @name. */
int html__block(struct html *html, const char *name, const char *text, size_t n);

/* Writes the first @n columns of @table as block @name, and empties it. */
int html__table(struct html *html, const char *name, struct table *table, size_t n);

/* Adds a causal profile: block cN has it, the number is *@number. */
int html__causal(struct html *html, const char *name, size_t *number);

/* Adds a sentence to the summary. @recording is its number, -1: none; @view: "waits", "path", ...
 */
int html__verdict(struct html *html, int64_t recording, const char *view, const char *text);

int html__end(struct html *html);
void html__free(struct html *html);
