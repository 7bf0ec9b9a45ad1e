// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/hash_maps.h"

#include <bpf/libbpf.h>

#define MAX_ALLOCATED 32768 /* elements */

int hash_maps__allocate(const struct bpf_object *object, const struct kernel_info *kernel)
{
	struct bpf_map *map;
	int err = 0;

	if (kernel->hash_allocates)
		return 0;
	bpf_object__for_each_map(map, object)
	{
		__u32 flags = bpf_map__map_flags(map);

		if (err || bpf_map__type(map) != BPF_MAP_TYPE_HASH || !(flags & BPF_F_NO_PREALLOC))
			continue;
		err = bpf_map__set_map_flags(map, flags & ~BPF_F_NO_PREALLOC);
		if (!err && bpf_map__max_entries(map) > MAX_ALLOCATED)
			err = bpf_map__set_max_entries(map, MAX_ALLOCATED);
	}
	return err;
}
