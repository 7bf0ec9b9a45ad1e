// SPDX-License-Identifier: BSD-2-Clause
/* Offsets of uprobes. Which instructions the kernel emulates: arch/x86/kernel/uprobes.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arch/uprobe_offset.h"

#define ENDBR64 "\xf3\x0f\x1e\xfa"

struct entry {
	const char *about;
	const char *code;
	size_t n;
	struct uprobe_offset expected;
};

#define ENTRY(about, code, bytes, single_stepped)                                                  \
	{                                                                                          \
		about, code, sizeof(code) - 1,                                                     \
		{                                                                                  \
			bytes, single_stepped                                                      \
		}                                                                                  \
	}

static const struct entry entries[] = {
	ENTRY("push %rbp", "\x55\x48\x89\xe5", 0, false),
	ENTRY("push %r15", "\x41\x57\x41\x56", 0, false),
	ENTRY("jmp", "\xe9\x10\x20\x30\x40", 0, false),
	ENTRY("call", "\xe8\x10\x20\x30\x40", 0, false),
	ENTRY("je, near", "\x74\x10", 0, false),
	ENTRY("je, far", "\x0f\x84\x10\x20\x30\x40", 0, false),
	ENTRY("nop, of a probe", "\x90\x48\x89\xe5", 0, false),
	ENTRY("nopl, of five bytes", "\x0f\x1f\x44\x00\x00", 0, false),
	ENTRY("endbr64, push %rbp", ENDBR64 "\x55\x48\x89\xe5", 4, false),
	ENTRY("endbr64, push %r15", ENDBR64 "\x41\x57\x41\x56", 4, false),
	ENTRY("endbr64, sub", ENDBR64 "\x48\x83\xec\x08", 0, true),
	/* A loop may begin behind it. */
	ENTRY("endbr64, je", ENDBR64 "\x74\x10\x20\x30", 0, true),
	ENTRY("endbr64, push in memory", ENDBR64 "\xff\x77\x08\x90", 0, true),
	ENTRY("endbr64, push of a number", ENDBR64 "\x6a\x08\x90\x90", 0, true),
	ENTRY("endbr64, and no more", ENDBR64, 0, true),
	ENTRY("endbr64, half a push", ENDBR64 "\x41", 0, true),
	ENTRY("sub", "\x48\x83\xec\x08", 0, true),
	ENTRY("lea", "\x8d\x47\x01", 0, true),
	ENTRY("test", "\x48\x85\xff\x74\x10", 0, true),
	ENTRY("pop", "\x58", 0, true),
	ENTRY("half of what begins by 0f", "\x0f", 0, true),
	ENTRY("nothing", "", 0, true),
};

static void offsets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *entry = &entries[i];
		uint8_t code[UPROBE_CODE_BYTES];
		struct uprobe_offset offset;

		memcpy(code, entry->code, entry->n);
		offset = uprobe_offset__choose(code, entry->n);
		if (offset.bytes != entry->expected.bytes ||
		    offset.single_stepped != entry->expected.single_stepped)
			fail_msg("%s: offset %u, %s", entry->about, offset.bytes,
				 offset.single_stepped ? "single-stepped" : "emulated");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets),
	};

	return cmocka_run_group_tests_name("uprobe_offset", tests, NULL, NULL);
}
