// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/unwind/frame_functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbols/unwind/unwind_input.h"
#include "symbols/unwind/go_table.h"

static int add_described(struct frame_functions *functions, const struct cfi_section *section)
{
	struct cfi_entries entries = {};
	int err = cfi__read(section, &entries);

	for (size_t i = 0; i < entries.fdes.n && !err; i++) {
		const struct cfi_fde *fde = &entries.fdes.data[i];

		if (fde->end > fde->begin)
			err = array__push(&functions->list,
					  ((struct frame_function){fde->begin, fde->end, NULL}));
	}
	cfi__free(&entries);
	return err;
}

static int add_go(struct frame_functions *functions, const struct unwind_input *input)
{
	struct go_table table;
	int err = go_table__read(input->go, input->go_size, input->section.text, &table);

	for (size_t i = 0; i < table.functions.n && !err; i++) {
		const struct go_function *function = &table.functions.data[i];

		err = array__push(
			&functions->list,
			((struct frame_function){function->start, function->end, function->name}));
	}
	go_table__free(&table);
	return err == -ENOENT ? 0 : err;
}

int frame_functions__read(const struct elf_file *file, struct frame_functions *functions)
{
	struct unwind_input input;
	int err = unwind_input__read(&input, file);

	if (!err && input.section.data)
		err = add_described(functions, &input.section);
	if (!err && input.go)
		err = add_go(functions, &input);
	functions->names = TAKE_PTR(input.go);
	unwind_input__release(&input);
	return err == -ENOMEM ? err : 0;
}

void frame_functions__free(struct frame_functions *functions)
{
	array__free(&functions->list);
	free(functions->names);
}
