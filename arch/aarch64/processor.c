// SPDX-License-Identifier: BSD-2-Clause
#include "arch/aarch64/processor.h"

#include <elf.h>
#include <string.h>

/* [bti c;] adrp x16, page; ldr x17, [x16, #offset]; add ...; br x17 */
static bool decode_aarch64_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot,
				uint64_t *number)
{
	uint32_t insn[2];
	int64_t page;

	if (size >= 4 && !memcmp(code, "\x5f\x24\x03\xd5", 4)) {
		code += 4;
		size -= 4;
		address += 4;
	}
	if (size < sizeof(insn))
		return false;
	memcpy(insn, code, sizeof(insn));
	if ((insn[0] & 0x9f00001f) != 0x90000010 || (insn[1] & 0xffc003ff) != 0xf9400211)
		return false;
	page = (int64_t)((insn[0] >> 5 & 0x7ffff) << 2 | (insn[0] >> 29 & 3));
	page = (int64_t)((uint64_t)page << 43) >> 43;
	*slot = (address & ~0xfffULL) + ((uint64_t)page << 12) +
		((uint64_t)(insn[1] >> 10 & 0xfff) << 3);
	return true;
}

const struct processor processor_aarch64 = {
	.elf = EM_AARCH64,
	.plt = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE, decode_aarch64_stub},
};
