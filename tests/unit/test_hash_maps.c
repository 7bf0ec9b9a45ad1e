// SPDX-License-Identifier: BSD-2-Clause
/* The memory of hash maps, on kernels that do and do not let perf_event programs allocate it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>

#include "abi/call_probe.h"
#include "abi/capture.h"
#include "abi/delay_area.h"
#include "abi/kind_steps.h"
#include "bpf/causal.skel.h"
#include "bpf/record.skel.h"
#include "collect/kernel/hash_maps.h"

#define ELEMENT_BYTES 48 /* of struct htab_elem, before key and value */
#define MIB	      (1 << 20)

/* Of the object's hash maps: how many allocate elements when they are needed, and bytes of others.
 */
static unsigned int count(const struct bpf_object *object, size_t *bytes)
{
	const struct bpf_map *map;
	unsigned int n = 0;

	*bytes = 0;
	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__type(map) != BPF_MAP_TYPE_HASH)
			continue;
		if (bpf_map__map_flags(map) & BPF_F_NO_PREALLOC)
			n++;
		else
			*bytes += bpf_map__max_entries(map) *
				  (ELEMENT_BYTES + (size_t)(bpf_map__key_size(map) + 7) / 8 * 8 +
				   (size_t)(bpf_map__value_size(map) + 7) / 8 * 8);
	}
	return n;
}

/* What is allocated on an old kernel, in addition, is at most @more bytes. */
static void check(const struct bpf_object *object, unsigned int n, size_t more)
{
	const struct kernel_info new_kernel = {.hash_allocates = true}, old_kernel = {};
	size_t before, after;

	assert_non_null(object);
	assert_int_equal(hash_maps__allocate(object, &new_kernel), 0);
	assert_int_equal(count(object, &before), n);
	assert_int_equal(hash_maps__allocate(object, &old_kernel), 0);
	assert_int_equal(count(object, &after), 0);
	assert_in_range(after - before, 1, more);
}

static void test_record(void **state)
{
	struct record_bpf *skeleton = record_bpf__open();

	check(skeleton->obj, 3, 14 * MIB);
	record_bpf__destroy(skeleton);
}

static void test_causal(void **state)
{
	struct causal_bpf *skeleton = causal_bpf__open();

	check(skeleton->obj, 4, 18 * MIB);
	causal_bpf__destroy(skeleton);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_causal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
