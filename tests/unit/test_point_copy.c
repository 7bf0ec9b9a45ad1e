// SPDX-License-Identifier: BSD-2-Clause
/* Progress points as a program writes them that means harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collect/causal/point_copy.h"

static void names_end(void **state)
{
	struct dwell_point shared;
	struct point_copy copy;

	memset(&shared, 0xff, sizeof(shared));
	assert_true(point_copy__take(&shared, &copy));
	assert_int_equal(strnlen(copy.name, sizeof(copy.name)), DWELL_POINT_NAME - 1);
	shared.named = 0;
	assert_false(point_copy__take(&shared, &copy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_end)};

	return cmocka_run_group_tests_name("point_copy", tests, NULL, NULL);
}
