/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The origins that address spaces know (address_spaces.h), a bounded number of which no process
 * maps any more; and the descriptors of their files.
 */
#pragma once

#include "base/hash.h"
#include "collect/stacks/address_spaces.h"

struct kept_origin {
	struct code_origin origin;
	uint64_t used;	/* higher: mapped later */
	bool same_root; /* its process saw the same files under the same paths as dwell */
	bool closed;	/* its file was open */
};

struct origins {
	struct unwinder *unwinder; /* NULL: there is none */
	bool keep_all;		   /* without unwinder it is not known what is mapped */
	struct map64 by_number;	   /* -> struct kept_origin * */
	uint32_t last;		   /* number */
	uint64_t uses;
	size_t fresh; /* added or opened since the last origins__forget_unused() */
	size_t n_fds;
	size_t max_fds;
	uint64_t lost; /* see address_spaces__lost_files() */
};

/* Errors: -EMFILE: too few descriptors are left. */
int origins__init(struct origins *origins, struct unwinder *unwinder);

/* Origin @number, or NULL. */
struct kept_origin *origins__get(const struct origins *origins, uint32_t number);

/* It is mapped. */
void origins__use(struct origins *origins, struct kept_origin *kept);

/* Adds @origin, with @path, and takes its descriptor. Returns its number, 0 without memory. */
uint32_t origins__add(struct origins *origins, struct code_origin origin, const char *path);

/* Gives @kept, which has none, the descriptor @fd. */
void origins__open(struct origins *origins, struct kept_origin *kept, int fd);

/*
 * If there are many new ones: closes files and forgets origins that no process maps. True: some
 * were forgotten, so their numbers mean nothing any more.
 */
bool origins__forget_unused(struct origins *origins);

/* The descriptor of a file with @build_id, which stays the origin's; -1: none is open. */
int origins__fd_of(const struct origins *origins, const char *build_id);

/* Closes the files that were used longest ago, as far as there are too many for the limit. */
void origins__limit_open(struct origins *origins);

void origins__free(struct origins *origins);
