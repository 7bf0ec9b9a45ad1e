/* SPDX-License-Identifier: BSD-2-Clause */
/* The probes of some functions of a file: where they are entered, and where they are left. */
#pragma once

#include "collect/probes/function_places.h"
#include "collect/probes/probe_cost.h"

typedef ARRAY(struct uprobe_place) uprobe_places;

struct probe_places {
	uprobe_places entries, returns, exits;
};

/* All NULL: there are none. */
struct probe_set {
	struct uprobes *entries, *returns, *exits;
};

/* Adds the places of a function, whose probes have @number. 0 or -ENOMEM. */
int probe_places__add(struct probe_places *places, const struct function_places *function,
		      uint32_t number);
void probe_places__free(struct probe_places *places);

/*
 * Sets probes at @places of the file open at @fd, in place of those of @set. Returns 0, or an error
 * as of uprobes__attach(), with some of them set.
 */
int probe_set__replace(struct probe_set *set, const struct call_programs *programs, int fd,
		       const struct probe_places *places);

void probe_set__free(struct probe_set *set);
