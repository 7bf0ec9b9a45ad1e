// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Looks up functions of the kernel by name, run once at start-up: the kernel's own search takes
 * microseconds, reading /proc/kallsyms 50 ms. From 5.16 on.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "abi/symbol_lookup.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct symbol_lookup lookup;

/* Fills in the answers of lookup; 0 if it was found. */
SEC("syscall")
int find_symbol(void *ctx)
{
	__u64 address = 0;

	if (bpf_kallsyms_lookup_name(lookup.name, sizeof(lookup.name), 0, &address) || !address)
		return 1;
	lookup.address = address;
	return bpf_snprintf(lookup.text, sizeof(lookup.text), "%pS", &address, sizeof(address)) <=
	       0;
}
