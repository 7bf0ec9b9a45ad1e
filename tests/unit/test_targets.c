// SPDX-License-Identifier: BSD-2-Clause
/* The processes of a target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/capture/targets.h"

#define ROOT "test-targets-cgroup"

static const char *const groups[] = {ROOT, ROOT "/a", ROOT "/a/b", ROOT "/.c"};

/* Directories as those of cgroups, which have the pids 1, 2, ... */
static int make_groups(void **state)
{
	char template[] = "/tmp/test-targets-XXXXXX";

	if (!mkdtemp(template) || chdir(template))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		char path[128];
		FILE *file;

		if (mkdir(groups[i], 0700))
			return -1;
		snprintf(path, sizeof(path), "%s/cgroup.procs", groups[i]);
		file = fopen(path, "we");
		if (!file)
			return -1;
		fprintf(file, "%zu\n", i + 1);
		fclose(file);
	}
	*state = realpath(".", NULL);
	return *state ? 0 : -1;
}

static int remove_groups(void **state)
{
	for (size_t i = ARRAY_SIZE(groups); i-- > 0;) {
		char path[128];

		snprintf(path, sizeof(path), "%s/cgroup.procs", groups[i]);
		unlink(path);
		rmdir(groups[i]);
	}
	rmdir(*state);
	free(*state);
	return 0;
}

static void count_pid(void *arg, uint32_t pid)
{
	unsigned int *seen = arg;

	assert_in_range(pid, 1, ARRAY_SIZE(groups));
	seen[pid]++;
}

static void test_groups_below(void **state)
{
	unsigned int seen[ARRAY_SIZE(groups) + 1] = {};

	targets__each_process(CAPTURE_CGROUP, NULL, 0, ROOT, count_pid, seen);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		assert_int_equal(seen[i + 1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_groups_below, make_groups, remove_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
