/* SPDX-License-Identifier: BSD-2-Clause */
/* The input and output of bpf/symbols.bpf.c. */
#pragma once

#include <linux/types.h>

struct symbol_lookup {
	char name[64];	/* input of find_symbol: function, padded with zeros */
	char text[512]; /* output: NAME+0x0/0xSIZE of find_symbol, NAME or NAME [MODULE] of
			   name_function */
	__u64 address;	/* output of find_symbol, input of name_function */
};
