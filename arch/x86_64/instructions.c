// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "arch/condition.h"
#include "arch/x86_64/processor.h"

/* The low bits of a jump's opcode. */
static uint32_t condition_of(const cs_x86 *x86)
{
	return CONDITION_FIRST + ((x86->opcode[0] == 0x0f ? x86->opcode[1] : x86->opcode[0]) & 15);
}

/* A load with a scaled index. */
static bool may_load_table(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	return (insn->id == X86_INS_MOV || insn->id == X86_INS_MOVSXD) && x86->op_count == 2 &&
	       x86->operands[1].type == X86_OP_MEM &&
	       x86->operands[1].mem.index != X86_REG_INVALID && x86->operands[1].mem.scale >= 4;
}

static enum instruction_kind indirect_kind(const cs_x86_op *operand)
{
	if (operand->type != X86_OP_MEM)
		return INSTRUCTION_JUMP_BY_REGISTER;
	return operand->mem.index != X86_REG_INVALID ? INSTRUCTION_JUMP_BY_TABLE
						     : INSTRUCTION_JUMP_BY_POINTER;
}

static struct instruction classify(csh handle, const cs_insn *insn)
{
	struct instruction found = {.may_load_table = may_load_table(insn)};
	const cs_x86 *x86 = &insn->detail->x86;

	if (insn->id == X86_INS_RET) {
		found.kind = INSTRUCTION_RETURN;
	} else if (!cs_insn_group(handle, insn, CS_GRP_JUMP) || x86->op_count != 1) {
		found.kind = INSTRUCTION_OTHER;
	} else if (x86->operands[0].type == X86_OP_IMM) {
		found.kind = INSTRUCTION_JUMP;
		found.target = (uint64_t)x86->operands[0].imm;
		found.condition = insn->id == X86_INS_JMP ? 0 : condition_of(x86);
	} else if (insn->id == X86_INS_JMP) {
		found.kind = indirect_kind(&x86->operands[0]);
	}
	return found;
}

static bool changes_stack_pointer(csh handle, const cs_insn *insn)
{
	cs_regs read, written;
	uint8_t n_read = 0, n_written = 0;

	if (cs_regs_access(handle, insn, read, &n_read, written, &n_written))
		return true;
	for (uint8_t i = 0; i < n_written; i++)
		if (written[i] == X86_REG_RSP || written[i] == X86_REG_ESP)
			return true;
	return false;
}

static bool ends_prologue(csh handle, const cs_insn *insn)
{
	return cs_insn_group(handle, insn, CS_GRP_JUMP) ||
	       cs_insn_group(handle, insn, CS_GRP_CALL) ||
	       cs_insn_group(handle, insn, CS_GRP_RET) || changes_stack_pointer(handle, insn);
}

/* Push of a register. The kernel does not emulate a push of memory or of an immediate. */
static bool is_push(const uint8_t *code, size_t n)
{
	if (n && (code[0] & 0xf0) == 0x40) { /* REX */
		code++;
		n--;
	}
	return n && (code[0] & 0xf8) == 0x50;
}

/* A nop, or a relative jump or call, which the kernel emulates. */
static bool is_branch(const uint8_t *code, size_t n)
{
	if (!n)
		return false;
	if (code[0] == 0x0f)
		return n > 1 && ((code[1] & 0xf0) == 0x80 || code[1] == 0x1f);
	return code[0] == 0x90 || code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb ||
	       (code[0] & 0xf0) == 0x70;
}

/*
 * endbr64, with which functions begin for indirect branch tracking, is single-stepped. If a push
 * follows it, the uprobe goes to the push: every entry at the endbr64 executes both.
 */
static struct uprobe_offset choose_uprobe(const uint8_t *code, size_t n)
{
	struct uprobe_offset offset = {};

	if (n > ENDBR64_BYTES && !memcmp(code, ENDBR64, ENDBR64_BYTES) &&
	    is_push(code + ENDBR64_BYTES, n - ENDBR64_BYTES))
		offset.bytes = ENDBR64_BYTES;
	else
		offset.single_stepped = !is_push(code, n) && !is_branch(code, n);
	return offset;
}

const struct processor_instructions x86_64_instructions = {
	.arch = CS_ARCH_X86,
	.mode = CS_MODE_64,
	.classify = classify,
	.ends_prologue = ends_prologue,
	.choose_uprobe = choose_uprobe,
};
