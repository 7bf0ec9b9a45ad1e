/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording while its blocks are written. For render/html only. */
#pragma once

#include "analysis/chain_tree.h"
#include "render/html/blocks.h"
#include "render/html/html.h"

struct page_recording {
	const struct html_recording *from;
	const struct model *model;
	size_t number;
	FILE *to;
	json_t *entry;	/* in the index */
	json_t *chunks; /* members of @entry */
	json_t *waits;
	json_t *blocks;
	struct page_strings strings;
	struct chain_tree tree;
	struct table stacks;	  /* nodes of the tree */
	struct map64 stacks_seen; /* by node: the number of the stack */
	struct table wakers;
	struct page_strings objects; /* the numbers are those in the index */
	struct map64 objects_seen;   /* by process and object: the number */
	struct intern waits_seen;    /* by their properties: the number in @waits */
	struct intern wakers_seen;   /* by what tells them apart: the row */
};

/* Writes the intervals and samples of all threads, in chunks. Return 0 or -ENOMEM. */
int page_intervals__write(struct page_recording *page);
int page_samples__write(struct page_recording *page);

/* Writes the path of thread @thread, and what the index says of it. Returns 0 or -ENOMEM. */
int page_path__write(struct page_recording *page, uint32_t thread);

/* The name of a block of @page: "r0.frames", and adds it to the index. */
void page__block_name(struct page_recording *page, const char *part, char name[static 48]);

/* Of times in the page of @model: ns. */
uint64_t page__unit(const struct model *model);

/* @time since the start of @model, in units, not below 0. */
uint64_t page__time(const struct model *model, uint64_t time);

/* A length in units, rounded. */
uint64_t page__length(const struct model *model, uint64_t ns);

/* The number of the stack, as chain_tree__add() joins it; 0: none. Or -ENOMEM. */
int64_t page__stack(struct page_recording *page, uint32_t kernel, uint32_t user, bool off_cpu);

/* Adds row 0 of `wakers`. Returns 0 or -ENOMEM. */
int page_wakers__begin(struct page_recording *page);

/*
 * The row in `wakers` of what ended @interval of thread @thread, or -ENOMEM. Sets *@stack to the
 * number of the stack of the thread that did.
 */
int64_t page_wakers__row(struct page_recording *page, uint32_t thread,
			 const struct model_interval *interval, int64_t *stack);
