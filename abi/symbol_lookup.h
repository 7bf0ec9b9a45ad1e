/* SPDX-License-Identifier: BSD-2-Clause */
/* The input and output of bpf/symbols.bpf.c. */
#pragma once

#include <linux/types.h>

struct symbol_lookup {
	char name[64];	/* input: function, padded with zeros */
	char text[128]; /* output: name+0x0/0xSIZE */
	__u64 address;	/* output */
};
