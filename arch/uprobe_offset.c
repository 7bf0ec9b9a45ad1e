// SPDX-License-Identifier: BSD-2-Clause
#include "arch/uprobe_offset.h"

#include <string.h>
#include <unistd.h>

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

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

struct uprobe_offset uprobe_offset__choose(const uint8_t *code, size_t n)
{
	struct uprobe_offset offset = {};

	if (n > sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)) &&
	    is_push(code + sizeof(endbr64), n - sizeof(endbr64)))
		offset.bytes = sizeof(endbr64);
	else
		offset.single_stepped = !is_push(code, n) && !is_branch(code, n);
	return offset;
}

struct uprobe_offset uprobe_offset__at(int fd, uint64_t offset)
{
	uint8_t code[UPROBE_CODE_BYTES];
	ssize_t n = pread(fd, code, sizeof(code), (off_t)offset);

	return uprobe_offset__choose(code, n > 0 ? (size_t)n : 0);
}
