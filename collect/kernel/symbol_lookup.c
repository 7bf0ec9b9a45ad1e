// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/symbol_lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/symbol_lookup.h"
#include "bpf/symbols.skel.h"

struct symbols_bpf *symbol_lookup__open(void)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* older kernels cannot load it */
	struct symbols_bpf *lookup = symbols_bpf__open_and_load();

	libbpf_set_print(print);
	return lookup;
}

bool symbol_lookup__find(struct symbols_bpf *lookup, const char *name, uint64_t range[2])
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct symbol_lookup *query = &lookup->bss->lookup;
	const char *size;

	memset(query, 0, sizeof(*query));
	snprintf(query->name, sizeof(query->name), "%s", name);
	if (bpf_prog_test_run_opts(bpf_program__fd(lookup->progs.find_symbol), &options) ||
	    options.retval)
		return false;
	size = strstr(query->text, "+0x0/0x");
	if (!size)
		return false;
	range[0] = query->address;
	range[1] = query->address + strtoull(size + strlen("+0x0/"), NULL, 16);
	return range[1] > range[0];
}

int symbol_lookup__name(struct symbols_bpf *lookup, uint64_t address, char *name, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct symbol_lookup *query = &lookup->bss->lookup;
	int err;

	query->address = address;
	err = bpf_prog_test_run_opts(bpf_program__fd(lookup->progs.name_function), &options);
	if (err || options.retval)
		return err ? err : -EINVAL;
	query->text[strcspn(query->text, " ")] = '\0'; /* the module */
	snprintf(name, size, "%s", strncmp(query->text, "0x", 2) != 0 ? query->text : "");
	return 0;
}

void symbol_lookup__close(struct symbols_bpf *lookup)
{
	symbols_bpf__destroy(lookup);
}
