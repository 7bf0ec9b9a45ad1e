// SPDX-License-Identifier: BSD-2-Clause
/* Which files a parser may have as debug files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "privsep/debug_path.h"

static void debug_files_are_allowed(void **state)
{
	static const char *const allowed[][2] = {
		{"/usr/lib/debug/.build-id/ab/cdef.debug", NULL},
		{"/usr/lib/debug/.build-id/ab/../../.dwz/x.debug", "/usr/lib/debug/.dwz/x.debug"},
		{"/home/u/app.debug", NULL},
		{"/home/u/.debug/app", NULL},
		{"/home/u//./other.dbg", "/home/u/other.dbg"},
		{"/home/u/app.dwarf", NULL},
		{"/build/x/main.dwo", NULL},
		{"/build/../build/main.dwo", "/build/main.dwo"},
		{"/opt/.dwz/x86_64/app", NULL},
	};
	char clean[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		const char *expected = allowed[i][1] ? allowed[i][1] : allowed[i][0];

		assert_true(debug_path__is_allowed("/home/u/app", allowed[i][0], clean));
		assert_string_equal(clean, expected);
	}
}

static void others_are_not(void **state)
{
	static const char *const refused[] = {
		"",
		"app.debug",
		"/",
		"/etc/shadow",
		"/usr/lib/debug",
		"/usr/lib/debug/../../../etc/shadow",
		"/usr/lib/debug/./.././../x",
		"/usr/lib/debugger/x",
		"/home/u/.bash_history",
		"/home/u/.debug/../notes",
		"/home/u/.debug/.app.debug",
		"/home/u/sub/app.debug",
		"/home/u/notes.txt",
		"/home/app.debug",
		"/etc/app.debug",
		"/home/u/x.dwo/secret",
		"/home/u/.dwz/../secret",
		"/home/u/",
	};
	char clean[PATH_MAX], longest[PATH_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (debug_path__is_allowed("/home/u/app", refused[i], clean))
			fail_msg("%s is allowed", refused[i]);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, DEBUG_ROOT "/", strlen(DEBUG_ROOT "/"));
	longest[PATH_MAX + 1] = '\0';
	assert_false(debug_path__is_allowed("/home/u/app", longest, clean));
	assert_false(debug_path__is_allowed("memfd:x", "/memfd:x.debug", clean));
	assert_false(debug_path__is_allowed("", "/.debug", clean));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_files_are_allowed),
		cmocka_unit_test(others_are_not),
	};

	return cmocka_run_group_tests_name("debug_path", tests, NULL, NULL);
}
