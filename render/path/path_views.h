/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell path`: the account, the verdict and the pseudo-stacks, as text, JSON and folded lines. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analysis/path/path.h"
#include "analysis/requests/requests.h"

struct path_view {
	const struct model *model;
	const struct path *path;
	double percent_limit; /* branches below this share of the wall time are left out */
	uint64_t depth;	      /* at most this many waits deep; 0: all */
	bool color;
	const struct requests *requests; /* NULL: the path of a thread */
	struct requests_group shown;	 /* those that the path is of */
	struct requests_group compared;	 /* those that they are compared with; n 0: none */
};

/* All return 0 or -ENOMEM. */
int path_view__text(const struct path_view *view, FILE *to);
int path_view__background(const struct path_view *view, FILE *to);
int path_view__chronological(const struct path_view *view, FILE *to);
int path_view__json(const struct path_view *view, FILE *to);
int path_view__folded(const struct path_view *view, FILE *to);

/* Prints the parts of the header that are about requests: which, and what the slow ones did. */
void path_requests__text(const struct path_view *view, FILE *to);
void path_requests__compare(const struct path_view *view, FILE *to);

/* The same as an object for JSON. */
json_t *path_requests__json(const struct path_view *view);

/* Times by category, as an object for JSON. */
json_t *path_categories__json(const uint64_t ns[PATH_CATEGORY_COUNT]);

/* Mean of @ns over the windows of the path, or of those that it is compared with. */
uint64_t path_view__mean(const struct path_view *view, uint64_t ns);
uint64_t path_view__mean_compared(const struct path_view *view, uint64_t ns);

/* Prints the header of both texts: the account and the verdict. Returns 0 or -ENOMEM. */
int path_view__account(const struct path_view *view, FILE *to);

/* Prints @tree, which took @whole ns. */
void path_view__tree(const struct path_view *view, const struct path_tree *tree, uint64_t whole,
		     FILE *to);

/* "nginx/812", or "php-fpm (several)"; a thread with a name of its own: "mariadbd/812 (io)". */
void path_node__thread(const struct path_view *view, const struct path_node *node, char *text,
		       size_t size);

/* What a node that is no thread stands for: "main", "fsync /data/x", "run queue". */
void path_node__text(const struct path_view *view, const struct path_node *node, char *text,
		     size_t size);

/* "nginx/812" of thread @index at @time. */
void path_thread__text(const struct path_view *view, uint32_t index, uint64_t time, char *text,
		       size_t size);

/* A few words on @category, as in the account: "running but not sampled". */
const char *path_category__text(enum path_category category);

/* The verdict, in sentences. Returns 0 or -ENOMEM. */
int path_view__verdict(const struct path_view *view, char *text, size_t size);
