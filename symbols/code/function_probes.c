// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/function_probes.h"

#include <errno.h>

#include "symbols/code/code_unit.h"

int code__uprobe(const struct code *code, uint64_t address, uint64_t *offset,
		 struct uprobe_offset *choice)
{
	int err = code__offset(code, address, offset);

	*choice = (struct uprobe_offset){};
	if (!err)
		*choice = uprobe_offset__at(object__program(code->object)->fd, *offset);
	return err;
}

/* Sets the entry to @address if that is the first place, or better. */
static int consider_entry(const struct code *code, uint64_t address, struct function_probes *probes)
{
	struct uprobe_offset choice;
	uint64_t offset;
	int err = code__uprobe(code, address, &offset, &choice);

	if (err)
		return err;
	if (probes->entry && choice.single_stepped)
		return 0;
	probes->entry = offset + choice.bytes;
	probes->single_stepped = choice.single_stepped;
	return 0;
}

/* The first instruction of the prologue that the kernel emulates, else the first one. */
static int find_entry(const struct code *code, uint64_t address, const struct code_exits *found,
		      struct function_probes *probes)
{
	int err = consider_entry(code, address, probes);

	for (size_t i = 1; i < found->prologue.n && probes->single_stepped && !err; i++)
		err = consider_entry(code, found->prologue.data[i], probes);
	return err;
}

static int add_exits(const struct code *code, const struct code_exits *found,
		     struct function_probes *probes)
{
	int err = 0;

	for (size_t i = 0; i < found->exits.n && !err; i++) {
		struct code_exit exit = {.condition = found->exits.data[i].condition};

		err = code__offset(code, found->exits.data[i].address, &exit.address);
		err = err ? err : array__push(&probes->exits, exit);
	}
	return err;
}

int function_probes__find(struct code *code, uint64_t address, struct function_probes *probes)
{
	struct code_exits found = {};
	int swept = code__exits(code, address, &found);
	int err = swept == -ENOMEM ? swept : 0;

	if (swept)
		found.prologue.n = 0;
	probes->return_probe = !code__has_exceptions(code);
	err = err ? err : find_entry(code, address, &found, probes);
	if (!err && !probes->return_probe)
		err = swept ? -ENOTSUP : add_exits(code, &found, probes);
	if (!err && code__is_go(code))
		err = -ENOTSUP;
	code_exits__free(&found);
	return err;
}
