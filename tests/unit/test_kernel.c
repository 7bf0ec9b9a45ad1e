// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is known of the running kernel is what its version has, at least. A counter whose place it
 * has by the kernel's types is as wide as it is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include <bpf/btf.h>

#include "collect/kernel/kernel.h"
#include "tests/unit/kernel_fields.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"

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

/* Mounts @types, in mounts of this process's own, where the kernel has its own. */
static bool mount_types(const struct btf *types)
{
	char path[] = "/tmp/dwell-types-XXXXXX";
	uint32_t size;
	const void *raw = btf__raw_data(types, &size);
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, raw, size), size);
	close(fd);
	err = unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	      mount(path, TYPES_FILE, NULL, MS_BIND, NULL);
	unlink(path);
	return !err;
}

/* Where stolen time is in a kernel in which it is mutated so. */
static int64_t steal_time_if(const struct btf *kernel, enum mutation mutation)
{
	static const char *names[] = {"steal"};
	struct field field;
	struct kernel_info info;
	struct btf *types, *found = NULL;

	assert_true(find_field(kernel, "kvm_steal_time", names, 1, &field));
	types = mutated_types(kernel, &field, mutation);
	assert_non_null(types);
	if (!mount_types(types))
		skip();
	btf__free(types);
	assert_int_equal(kernel__probe(&info, &found), 0);
	btf__free(found);
	assert_int_equal(umount(TYPES_FILE), 0);
	return info.steal_time_from_rq;
}

/* Runs last: it leaves the process in mounts of its own. */
static void stolen_time_of_other_width(void **state)
{
	struct btf *kernel = geteuid() ? NULL : btf__load_vmlinux_btf();

	if (!kernel || btf__find_by_name_kind(kernel, "kvm_steal_time", BTF_KIND_STRUCT) < 0)
		skip();
	assert_true(steal_time_if(kernel, OTHER_SIGN) != 0);
	assert_true(steal_time_if(kernel, NARROWED) == 0);
	assert_true(steal_time_if(kernel, REMOVED) == 0);
	btf__free(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_of_the_version),
		cmocka_unit_test(stolen_time_of_other_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
