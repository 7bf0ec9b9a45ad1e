// SPDX-License-Identifier: BSD-2-Clause
#include "arch/x86_64/processor.h"

#include <elf.h>
#include <string.h>

static bool decode_x86_64_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot,
			       uint64_t *number)
{
	int32_t value;
	size_t at = 0;

	if (size >= ENDBR64_BYTES && !memcmp(code, ENDBR64, ENDBR64_BYTES))
		at += ENDBR64_BYTES;
	if (size - at >= 5 && code[at] == 0x68) { /* push $number */
		memcpy(&value, code + at + 1, sizeof(value));
		*number = (uint32_t)value;
		return true;
	}
	if (size - at >= 1 && code[at] == 0xf2) /* bnd */
		at++;
	if (size - at < 6 || code[at] != 0xff || code[at + 1] != 0x25) /* jmp *slot(%rip) */
		return false;
	memcpy(&value, code + at + 2, sizeof(value));
	*slot = address + at + 6 + (uint64_t)(int64_t)value;
	return true;
}

const struct processor processor_x86_64 = {
	.elf = EM_X86_64,
	.plt = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, decode_x86_64_stub},
	.instructions = &x86_64_instructions,
	.unwind = &x86_64_unwind,
};
