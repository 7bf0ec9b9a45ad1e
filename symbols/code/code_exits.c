// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/code_exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/processor.h"
#include "symbols/code/code_names.h"
#include "symbols/code/code_unit.h"

/* A jump table's address is loaded this many instructions before the jump, at most. */
#define SWITCH_INSTRUCTIONS 6
#define MAX_PARTS	    8
#define MAX_FUNCTION	    (1 << 20) /* bytes */

/* A range of the function's code: the function, or a part that was split off (".cold"). */
struct part {
	uint64_t start;
	uint64_t end;
	const char *raw;
};

struct sweep {
	struct code *code;
	struct code_exits *exits;
	struct part parts[MAX_PARTS];
	size_t n_parts;
	ARRAY(uint64_t) targets; /* of jumps within the function */
	const struct processor_instructions *instructions;
	csh handle;
	cs_insn *insn;
	int since_table; /* instructions since one that may load from a jump table */
	bool in_prologue;
};

static bool is_inside(const struct sweep *sweep, uint64_t address)
{
	for (size_t i = 0; i < sweep->n_parts; i++)
		if (address >= sweep->parts[i].start && address < sweep->parts[i].end)
			return true;
	return false;
}

static int add_part(struct sweep *sweep, const struct symbol *symbol)
{
	if (sweep->n_parts == MAX_PARTS || !symbol->size || symbol->size > MAX_FUNCTION)
		return -ENOTSUP;
	sweep->parts[sweep->n_parts++] =
		(struct part){symbol->start, symbol->start + symbol->size, symbol->raw};
	return 0;
}

/* Whether @symbol is a part of the function that was split off, which it enters by a jump. */
static bool is_own_part(const struct sweep *sweep, const struct symbol *symbol)
{
	size_t stem = code_name__stem(sweep->parts[0].raw);

	return symbol && symbol->raw && strstr(symbol->raw, ".cold") &&
	       code_name__stem(symbol->raw) == stem &&
	       !strncmp(symbol->raw, sweep->parts[0].raw, stem);
}

static int add_exit(struct sweep *sweep, uint32_t condition)
{
	return array__push(&sweep->exits->exits,
			   ((struct code_exit){sweep->insn->address, condition}));
}

static int direct_jump(struct sweep *sweep, const struct instruction *jump)
{
	const struct symbol *symbol;

	if (is_inside(sweep, jump->target))
		return array__push(&sweep->targets, jump->target);
	symbol = object__symbol(sweep->code->object, jump->target);
	if (is_own_part(sweep, symbol))
		return add_part(sweep, symbol);
	return add_exit(sweep, jump->condition);
}

/* The prologue ends with the first instruction that changes the stack pointer, or jumps. */
static int add_to_prologue(struct sweep *sweep)
{
	int err = array__push(&sweep->exits->prologue, sweep->insn->address);

	sweep->in_prologue = !sweep->instructions->ends_prologue(sweep->handle, sweep->insn);
	return err;
}

static int take_instruction(struct sweep *sweep)
{
	struct instruction taken = sweep->instructions->classify(sweep->handle, sweep->insn);
	int err = sweep->in_prologue ? add_to_prologue(sweep) : 0;

	sweep->since_table = taken.may_load_table ? 0 : sweep->since_table + 1;
	if (err)
		return err;
	switch (taken.kind) {
	case INSTRUCTION_RETURN:
	case INSTRUCTION_JUMP_BY_POINTER:
		return add_exit(sweep, 0);
	case INSTRUCTION_JUMP:
		return direct_jump(sweep, &taken);
	case INSTRUCTION_JUMP_BY_REGISTER:
		return sweep->since_table <= SWITCH_INSTRUCTIONS ? 0 : add_exit(sweep, 0);
	case INSTRUCTION_JUMP_BY_TABLE:
	case INSTRUCTION_OTHER:
		break;
	}
	return 0;
}

static int sweep_part(struct sweep *sweep, const struct part *part)
{
	const struct elf_file *file = object__program(sweep->code->object);
	_cleanup_free_ void *bytes = NULL;
	size_t size = part->end - part->start;
	uint64_t offset, address = part->start;
	const uint8_t *at;
	int err = elf_file__offset(file, part->start, &offset);

	err = err ? err : elf_file__read(file, offset, size, &bytes);
	if (err)
		return err == -ENOMEM ? err : -ENOTSUP;
	sweep->since_table = SWITCH_INSTRUCTIONS + 1;
	for (at = bytes; size && !err;) {
		if (!cs_disasm_iter(sweep->handle, &at, &size, &address, sweep->insn))
			return -ENOTSUP;
		err = take_instruction(sweep);
	}
	return err;
}

/* Jumps back into the prologue would visit it again. */
static void end_prologue_at_targets(struct sweep *sweep)
{
	struct code_exits *exits = sweep->exits;

	for (size_t i = 1; i < exits->prologue.n; i++)
		for (size_t k = 0; k < sweep->targets.n; k++)
			if (sweep->targets.data[k] == exits->prologue.data[i])
				exits->prologue.n = i;
}

static int sweep_parts(struct sweep *sweep)
{
	int err = 0;

	sweep->in_prologue = true;
	for (size_t i = 0; i < sweep->n_parts && !err; i++)
		err = sweep_part(sweep, &sweep->parts[i]);
	end_prologue_at_targets(sweep);
	return err;
}

int code__exits(struct code *code, uint64_t address, struct code_exits *exits)
{
	struct sweep sweep = {.code = code, .exits = exits};
	const struct symbol *symbol = object__symbol(code->object, address);
	const struct processor *processor;
	GElf_Ehdr header;
	int err;

	if (!symbol || symbol->start != address || !symbol->raw)
		return -ENOENT;
	if (!gelf_getehdr(object__program(code->object)->elf, &header))
		return -ENOTSUP;
	processor = processor__find(header.e_machine);
	if (!processor || !processor->instructions)
		return -ENOTSUP;
	sweep.instructions = processor->instructions;
	err = add_part(&sweep, symbol);
	if (err)
		return err;
	if (cs_open(sweep.instructions->arch, sweep.instructions->mode, &sweep.handle))
		return -ENOMEM;
	cs_option(sweep.handle, CS_OPT_DETAIL, CS_OPT_ON);
	sweep.insn = cs_malloc(sweep.handle);
	err = sweep.insn ? sweep_parts(&sweep) : -ENOMEM;
	if (sweep.insn)
		cs_free(sweep.insn, 1);
	cs_close(&sweep.handle);
	array__free(&sweep.targets);
	return err;
}

static bool has_section(const struct code *code, const char *name)
{
	GElf_Shdr header;

	return elf_file__section(object__program(code->object), name, &header) != NULL;
}

bool code__has_exceptions(const struct code *code)
{
	return has_section(code, ".gcc_except_table");
}

bool code__is_go(const struct code *code)
{
	return has_section(code, ".gopclntab");
}
