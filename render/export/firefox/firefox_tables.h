/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that all threads of a Firefox profile share: stacks, frames, functions, strings. For
 * firefox*.c.
 *
 * The category of a stack is that of its innermost frame. So a stack off the CPU ends with a frame
 * named by what the thread waits for, which has the category of the wait's class.
 */
#pragma once

#include <stdio.h>

#include "analysis/chain_tree.h"
#include "render/export/export_waits.h"

/* The formats's version, of August 2026; newer viewers convert it as they load it. */
#define FIREFOX_PROFILE_VERSION 66

enum firefox_category {
	FIREFOX_OTHER = 0, /* the grey one, which has to be there */
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_IO,
	FIREFOX_LOCK,
	FIREFOX_SCHED,
	FIREFOX_BLOCKED, /* CLASS_OTHER */
	FIREFOX_STOPPED, /* not allowed to run */
	FIREFOX_IDLE,	 /* waits for work, of any class */
	FIREFOX_CATEGORY_COUNT,
};

struct firefox_category_info {
	const char *name;
	const char *color; /* of the viewer's */
};

const struct firefox_category_info *firefox_category__info(enum firefox_category category);

/* The category of @sample's wait, or of the function that runs. */
enum firefox_category firefox_category__of(const struct weighted_sample *sample);

/* A stack that ends with what the thread waits for. */
struct firefox_wait {
	uint32_t node; /* of the tree */
	uint32_t leaf; /* the frame: a number in @leaves */
};

struct firefox_leaf {
	enum wait_kind kind;
	enum firefox_category category;
};

struct firefox_tables {
	const struct model *model;
	struct chain_tree tree;
	ARRAY(struct firefox_wait) waits;
	ARRAY(struct firefox_leaf) leaves;
	struct map64 index;    /* of waits: node and leaf */
	struct intern strings; /* valid UTF-8, or escaped */
	struct buffer text;
	bool failed; /* out of memory */
};

/* Adds the stack of @sample. */
void firefox_tables__add(struct firefox_tables *tables, const struct export_waits *waits,
			 const struct weighted_sample *sample);

/* The number of @sample's stack, which was added, once all were added; -1: none. */
int64_t firefox_tables__stack(struct firefox_tables *tables, const struct export_waits *waits,
			      const struct weighted_sample *sample);

/* The number of a waker's stack; -1: none, or not added. The same way. */
void firefox_tables__add_waker(struct firefox_tables *tables, const struct model_wake *wake);
int64_t firefox_tables__waker(struct firefox_tables *tables, const struct model_wake *wake);

/* The number of @text in the table of strings. */
uint32_t firefox_tables__string(struct firefox_tables *tables, const char *text);

/* Writes the member "shared" of a profile. Strings cannot be added after. */
void firefox_tables__write(struct firefox_tables *tables, FILE *to);
void firefox_tables__free(struct firefox_tables *tables);
