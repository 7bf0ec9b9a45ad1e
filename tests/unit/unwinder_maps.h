/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel side's maps that an unwinder fills, without the kernel side. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "abi/unwind.h"
#include "collect/stacks/unwinder.h"

static int new_map(enum bpf_map_type type, uint32_t value, uint32_t n,
		   const struct bpf_map_create_opts *options, uint32_t key)
{
	return bpf_map_create(type, "test", key, value, n, options);
}

/* The maps of bpf/core/unwind.bpf.h. False without the privileges. */
static bool unwinder_maps__create(struct unwinder_maps *maps)
{
	LIBBPF_OPTS(bpf_map_create_opts, rows, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	LIBBPF_OPTS(bpf_map_create_opts, outer);
	LIBBPF_OPTS(bpf_map_create_opts, pool, .map_flags = BPF_F_MMAPABLE);
	int inner = new_map(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_row), 1, &rows, 4);

	if (inner < 0)
		return false;
	outer.inner_map_fd = (uint32_t)inner;
	maps->tables = new_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, UNWIND_MAX_TABLES, &outer, 4);
	maps->mappings = new_map(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_mapping),
				 UNWIND_MAX_MAPPINGS, &pool, 4);
	maps->processes = new_map(BPF_MAP_TYPE_HASH, sizeof(struct unwind_process), 1000, NULL, 4);
	maps->files = new_map(BPF_MAP_TYPE_HASH, sizeof(struct unwind_file), UNWIND_MAX_TABLES,
			      NULL, sizeof(struct unwind_file_key));
	close(inner);
	return maps->tables >= 0 && maps->mappings >= 0 && maps->processes >= 0 && maps->files >= 0;
}

static void unwinder_maps__close(const struct unwinder_maps *maps)
{
	close(maps->tables);
	close(maps->mappings);
	close(maps->processes);
	close(maps->files);
}
