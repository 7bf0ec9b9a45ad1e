// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/probe_set.h"

#include <stdlib.h>

int probe_places__add(struct probe_places *places, const struct function_places *function,
		      uint32_t number)
{
	const struct uprobe_place entry = {.offset = function->entry, .cookie = number};
	int err = array__push(&places->entries, entry);

	if (!err && function->return_probe)
		err = array__push(&places->returns, entry);
	for (size_t i = 0; i < function->exits.n && !err; i++) {
		struct uprobe_place place = function->exits.data[i];

		place.cookie |= number;
		err = array__push(&places->exits, place);
	}
	return err;
}

void probe_places__free(struct probe_places *places)
{
	array__free(&places->entries);
	array__free(&places->returns);
	array__free(&places->exits);
}

static int attach(const struct call_programs *programs, struct bpf_program *program, int fd,
		  const uprobe_places *places, bool at_return, struct uprobes **out)
{
	size_t refused;

	return places->n ? uprobes__attach(program, programs->kernel, fd, places->data, places->n,
					   at_return, &refused, out)
			 : 0;
}

/* The ends first: a begin without an end would stay open. */
int probe_set__replace(struct probe_set *set, const struct call_programs *programs, int fd,
		       const struct probe_places *places)
{
	struct probe_set new = {};
	int err = attach(programs, programs->on_return, fd, &places->returns, true, &new.returns);

	err = err ? err
		  : attach(programs, programs->on_exit, fd, &places->exits, false, &new.exits);
	err = err ? err
		  : attach(programs, programs->on_entry, fd, &places->entries, false, &new.entries);
	probe_set__free(set);
	*set = new;
	return err;
}

void probe_set__free(struct probe_set *set)
{
	uprobes__free(set->entries);
	uprobes__free(set->returns);
	uprobes__free(set->exits);
	*set = (struct probe_set){};
}
