// SPDX-License-Identifier: BSD-2-Clause
/* What is known of the running kernel is what its version has, at least. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <cmocka.h>

#include <bpf/btf.h>

#include "collect/core/kernel.h"

static void features_of_the_version(void **state)
{
	struct kernel_info info = {};
	struct btf *types = NULL;
	struct utsname names;
	unsigned int major = 0, minor = 0, version;

	assert_int_equal(uname(&names), 0);
	assert_int_equal(sscanf(names.release, "%u.%u", &major, &minor), 2);
	version = major * 1000 + minor;
	if (kernel__probe(&info, &types))
		skip();
	assert_true(info.bpf_loop || version < 5017);
	assert_true(info.copy_from_user_task || version < 5018);
	assert_true(info.hash_allocates || version < 6001);
	assert_true(info.reliable_task_storage || version < 6002);
	assert_true(info.user_worker || version < 6004);
	assert_true(info.io_start || version < 6005);
	assert_true(info.uprobe_multi || version < 6006);
	btf__free(types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_of_the_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
