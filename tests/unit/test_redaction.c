// SPDX-License-Identifier: BSD-2-Clause
/* What --redact makes of names: functions stay, files do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/redaction.h"

/* The key of the reference vectors: bytes 0 to 15. */
static const struct redaction fixed = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

typedef char *(*redact_fn)(const struct redaction *, const char *);

static void assert_becomes(redact_fn redact, const char *text, const char *expected)
{
	_cleanup_free_ char *got = redact(&fixed, text);
	_cleanup_free_ char *again = redact(&fixed, text);

	assert_non_null(got);
	assert_string_equal(got, again);
	/* "#" stands for a hash. */
	for (const char *at = got; *expected; expected++) {
		if (*expected != '#') {
			if (*at++ != *expected)
				fail_msg("'%s' became '%s'", text, got);
			continue;
		}
		if (!strspn(at, "0123456789abcdef"))
			fail_msg("'%s' became '%s'", text, got);
		at += strspn(at, "0123456789abcdef");
		if (!expected[1])
			assert_int_equal(*at, 0);
	}
}

/* SipHash-2-4 of the bytes 0 to 7, by its authors: 93f5f5799a932462. */
static void the_hash_is_siphash(void **state)
{
	assert_true(redaction__number(&fixed, 0x0706050403020100) == 0x93f5f5799a93);
	assert_int_equal(redaction__number(&fixed, 0), 0);
}

static void keys_differ(void **state)
{
	struct redaction one, two;
	_cleanup_free_ char *left = NULL, *right = NULL;

	assert_int_equal(redaction__init(&one), 0);
	assert_int_equal(redaction__init(&two), 0);
	left = redaction__path(&one, "/etc/passwd");
	right = redaction__path(&two, "/etc/passwd");
	assert_string_not_equal(left, right);
}

static void files_are_hashed(void **state)
{
	assert_becomes(redaction__path, "/home/user/a.c", "file-#");
	assert_becomes(redaction__path, "a", "file-#");
	assert_becomes(redaction__path, "", "");
	assert_becomes(redaction__path, "[kernel]", "[kernel]");
}

static void threads_of_a_pool_are_similar(void **state)
{
	_cleanup_free_ char *one = redaction__thread(&fixed, "worker-1");
	_cleanup_free_ char *two = redaction__thread(&fixed, "worker-22");

	assert_int_equal(strlen(one), strlen("thread-01234567-1"));
	assert_memory_equal(one, two, strlen(one) - 1);
	assert_becomes(redaction__thread, "worker-1", "thread-#-1");
	assert_becomes(redaction__thread, "worker-22", "thread-#-22");
	assert_becomes(redaction__thread, "worker", "thread-#");
	assert_becomes(redaction__thread, "7", "thread-#");
	assert_becomes(redaction__thread, "id4711", "thread-#");
	assert_becomes(redaction__thread, "[unknown]", "[unknown]");
}

static void ports_stay(void **state)
{
	assert_becomes(redaction__address, "192.0.2.7:443", "address-#:443");
	assert_becomes(redaction__address, "[2001:db8::1]:80", "address-#:80");
	assert_becomes(redaction__address, "/run/a:1", "file-#");
	assert_becomes(redaction__address, "netlink", "file-#");
	assert_becomes(redaction__address, "", "");
}

static void functions_stay(void **state)
{
	static const char *const names[] = {
		"main",
		"std::vector<int, std::allocator<int>>::push_back(int&&)",
		"operator/(A const&, B const&)",
		"operator=",
		"github.com/acme/pkg.(*Type).Method",
		"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
		"core::fmt::write::{{closure}}",
		"Lcom/acme/Server;::handle",
		"tcp:8080",
		"usdt:nginx:http_request_start,http_request_done",
		"",
		"__x64_sys_read",
		"ns::f(int) [clone .isra.0]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_becomes(redaction__name, names[i], names[i]);
}

static void files_in_names_are_hashed(void **state)
{
	assert_becomes(redaction__name, "server.c:120", "file-#:120");
	assert_becomes(redaction__name, "../src/server.c:120", "file-#:120");
	assert_becomes(redaction__name, "called from a.c:1", "called from file-#:1");
	assert_becomes(redaction__name, "a.c:1=50%, f=20%", "file-#:1=50%, f=20%");
	assert_becomes(redaction__name, "unix:/run/a.sock", "unix:file-#");
	assert_becomes(redaction__name, "unix:a.sock", "unix:file-#");
	assert_becomes(redaction__name, "tcp:192.0.2.7:80", "tcp:file-#:80");
	assert_becomes(redaction__name, "py::f:/home/u/a.py", "py::f:file-#");
	assert_becomes(redaction__name, "py::f:a.py", "py::f:file-#");
	assert_becomes(redaction__name, "LazyCompile:*f /srv/a.js:12:3",
		       "LazyCompile:*f file-#:12:3");
	assert_becomes(redaction__name, "JS:~f file:///srv/a.js:12:3", "JS:~f file:file-#:12:3");
	assert_becomes(redaction__name, "Script:~/srv/a.js", "Script:~file-#");
	assert_becomes(redaction__name, "f (/usr/lib/a.so)", "f (file-#)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_siphash),
		cmocka_unit_test(keys_differ),
		cmocka_unit_test(files_are_hashed),
		cmocka_unit_test(threads_of_a_pool_are_similar),
		cmocka_unit_test(ports_stay),
		cmocka_unit_test(functions_stay),
		cmocka_unit_test(files_in_names_are_hashed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
