// SPDX-License-Identifier: BSD-2-Clause
/* Functions of the kernel that runs, each wanted under several numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/kernel/kernel_functions.h"

static const char *const wanted[] = {"schedule", "vfs_read", "no_such_function",
				     "schedule", "vfs_read", "schedule"};

/* Without privileges, /proc/kallsyms has zeroes. */
static bool are_told(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	bool told = false;

	while (file && !told && fgets(line, sizeof(line), file))
		told = strspn(line, "0") < 16;
	if (file)
		fclose(file);
	return told;
}

static void finds_every_number(void **state)
{
	struct kernel_functions functions = {};
	uint32_t seen = 0;

	(void)state;
	if (!are_told())
		skip();
	for (uint32_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(kernel_functions__add(&functions, wanted[i], i), 0);
	assert_int_equal(kernel_functions__find(&functions), 0);
	for (size_t i = 0; i < functions.found.n; i++) {
		const struct kernel_function *found = &functions.found.data[i];

		assert_true(found->end > found->start);
		assert_true(!i || found->start > found[-1].start ||
			    (found->start == found[-1].start && found->number > found[-1].number));
		seen |= 1U << found->number;
	}
	assert_int_equal(seen, 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5);
	kernel_functions__free(&functions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
