// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/uprobe.h"

#include <string.h>

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* A register: none of memory, or of a number, which the kernel steps over. */
static bool is_push(const uint8_t *code, size_t n)
{
	if (n && (code[0] & 0xf0) == 0x40) { /* REX */
		code++;
		n--;
	}
	return n && (code[0] & 0xf8) == 0x50;
}

/* No operation, and jumps and calls by a distance. */
static bool is_branch(const uint8_t *code, size_t n)
{
	if (!n)
		return false;
	if (code[0] == 0x0f)
		return n > 1 && ((code[1] & 0xf0) == 0x80 || code[1] == 0x1f);
	return code[0] == 0x90 || code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb ||
	       (code[0] & 0xf0) == 0x70;
}

struct uprobe_place uprobe__place(const uint8_t *code, size_t n)
{
	struct uprobe_place place = {};

	if (n > sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)) &&
	    is_push(code + sizeof(endbr64), n - sizeof(endbr64)))
		place.skip = sizeof(endbr64);
	else
		place.stepped = !is_push(code, n) && !is_branch(code, n);
	return place;
}
