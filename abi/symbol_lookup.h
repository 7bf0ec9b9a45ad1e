/* SPDX-License-Identifier: BSD-2-Clause */
/* A question to bpf/symbols.bpf.c and its answers. */
#pragma once

#include <linux/types.h>

struct symbol_lookup {
	char name[64];	/* asked for; 0 to its end */
	char text[128]; /* answer: name+0x0/0xSIZE */
	__u64 address;	/* answer */
};
