// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Looks up kernel functions by name and by address. The kernel's search takes microseconds; reading
 * /proc/kallsyms takes 50 ms. For 5.16 and later.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "abi/symbol_lookup.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct symbol_lookup lookup;

/* Sets the output of lookup. Returns 0, or 1 if the function was not found. */
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

/* Sets lookup.text to the name of the function at lookup.address; "0x...": there is none. */
SEC("syscall")
int name_function(void *ctx)
{
	__u64 address = lookup.address;

	return bpf_snprintf(lookup.text, sizeof(lookup.text), "%ps", &address, sizeof(address)) <=
	       0;
}
