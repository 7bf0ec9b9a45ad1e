// SPDX-License-Identifier: BSD-2-Clause
/* Names of functions and paths of files, and which of overlapping ranges counts. */
#include "tests/unit/test_symbols_support.h"

#include "symbols/code/code_names.h"
#include "symbols/ranges.h"
#include "symbols/dwarf/line_header.h"
#include "symbols/dwarf/source_path.h"

static void paths_are_made_plain(void **state)
{
	static const char *const paths[][2] = {
		{"/a/b.c", "/a/b.c"},
		{"/a//b/./c.c", "/a/b/c.c"},
		{"/a/../b.c", "/b.c"},
		{"/a/b/../../c", "/c"},
		{"/../../a", "/a"},
		{"../a.c", "../a.c"},
		{"../../a.c", "../../a.c"},
		{"a/../../b", "../b"},
		{"./a.c", "a.c"},
		{"a/..", ""},
		{"/", "/"},
		{"", ""},
		{"/..", "/"},
		{"a/.hidden/..b/c", "a/.hidden/..b/c"},
		{"/a/b/", "/a/b"},
		{".../x", ".../x"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char path[64];

		strcpy(path, paths[i][0]);
		source_path__normalize(path);
		assert_string_equal(path, paths[i][1]);
	}
}

static void paths_are_joined(void **state)
{
	char path[32];

	assert_true(source_path__join("/top", "sub", "a.c", path, sizeof(path)));
	assert_string_equal(path, "/top/sub/a.c");
	assert_true(source_path__join("/top", "/sub", "a.c", path, sizeof(path)));
	assert_string_equal(path, "/sub/a.c");
	assert_true(source_path__join("/top", "../sub", "/a.c", path, sizeof(path)));
	assert_string_equal(path, "/a.c");
	assert_true(source_path__join("/top", NULL, "../a.c", path, sizeof(path)));
	assert_string_equal(path, "/a.c");
	assert_true(source_path__join(NULL, NULL, "a.c", path, sizeof(path)));
	assert_string_equal(path, "a.c");
	assert_false(
		source_path__join("/a rather long directory", "sub", "a.c", path, sizeof(path)));
	assert_true(source_path__ends("/a/b.c", "b.c"));
	assert_true(source_path__ends("/a/b.c", "/a/b.c"));
	assert_false(source_path__ends("/a/bb.c", "b.c"));
	assert_false(source_path__ends("b.c", "/a/b.c"));
}

static void files_without_name_are_unknown(void **state)
{
	const struct line_file unnamed = {.name = ""}, none = {}, here = {.name = "."};
	const struct line_file known = {.directory = "sub", .name = "a.c"};
	char path[32];

	assert_false(line_file__path(&none, "/top", path, sizeof(path)));
	assert_false(line_file__path(&unnamed, NULL, path, sizeof(path)));
	assert_false(line_file__path(&unnamed, "", path, sizeof(path)));
	assert_false(line_file__path(&here, NULL, path, sizeof(path)));
	assert_true(line_file__path(&known, NULL, path, sizeof(path)));
	assert_string_equal(path, "sub/a.c");
}

static void names_are_made_plain(void **state)
{
	static const char *const names[][3] = {
		{"main", "main", "main"},
		{"a::b<int>::c<d<e>, f>(g<h>, i) const", "a::b::c", "c"},
		{"(anonymous namespace)::f", "(anonymous namespace)::f", "f"},
		{"a::(anonymous namespace)::f<int>", "a::(anonymous namespace)::f", "f"},
		{"operator<", "operator<", "operator<"},
		{"a::operator<< <char>", "a::operator<<", "operator<<"},
		{"a<b>::operator()(int)", "a::operator()", "operator()"},
		{"a::operator-><int>", "a::operator->", "operator->"},
		{"a::operator bool() const", "a::operator bool", "operator bool"},
		{"a::operator<=><int>", "a::operator<=>", "operator<=>"},
		{"a::operator_like<int>", "a::operator_like", "operator_like"},
		{"my_operator<int>", "my_operator", "my_operator"},
		{"f(int)::{lambda(a<b>)#1}::operator()", "f::{lambda(a<b>)#1}::operator()",
		 "operator()"},
		{"f() const::{lambda(int)#1}::operator()", "f::{lambda(int)#1}::operator()",
		 "operator()"},
		{"<work::Parser>::parse", "work::Parser::parse", "parse"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc::vec::Vec::drop", "drop"},
		{"<a::B<<c as d>::E> as f>::g::<h>", "a::B::g", "g"},
		{"<[a::B] as c>::d::{closure#0}", "[a::B]::d::{closure#0}", "{closure#0}"},
		{"<<a as b>::C as d>::e", "<<a as b>::C as d>::e", "e"},
		{"<a as b", "<a as b", "<a as b"},
		{"core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place",
		 "drop_in_place"},
		{"a::b::<c>::{closure#0}", "a::b::{closure#0}", "{closure#0}"},
		{"a::<impl b for c>::d", "a::<impl b for c>::d", "d"},
		{"foo [clone .cold]", "foo", "foo"},
		{"a::~a()", "a::~a", "~a"},
		{"a<(b)1>::c", "a::c", "c"},
		{"unclosed<a::b", "unclosed", "unclosed"},
		{"", "", ""},
		{"::", "::", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char plain[MAX_CODE_NAME];

		code_name__strip(names[i][0], plain);
		assert_string_equal(plain, names[i][1]);
		assert_string_equal(code_name__last(plain), names[i][2]);
	}
}

static void what_compilers_append_is_left_out(void **state)
{
	assert_int_equal(code_name__stem("foo"), 3);
	assert_int_equal(code_name__stem("foo.cold"), 3);
	assert_int_equal(code_name__stem("foo.part.0.isra.1"), 3);
	assert_int_equal(code_name__stem("_Z3foov.constprop.0.cold"), 7);
	assert_int_equal(code_name__stem("read@@GLIBC_2.2.5"), 4);
	assert_int_equal(code_name__stem("foo.c"), 5);
	assert_int_equal(code_name__stem(""), 0);
	assert_true(code_name__is_part("foo.part.0"));
	assert_false(code_name__is_part("foo.constprop.0"));
}

static enum code_match match(const char *text, const char *name, const char *linkage)
{
	struct code_query query;

	code_query__set(&query, text);
	return code_query__match(&query, name, linkage);
}

static void names_match_in_order(void **state)
{
	const char *get = "_ZN2db6DBImpl3GetEi";

	assert_int_equal(match("db::DBImpl::Get", "db::DBImpl::Get", get), CODE_MATCH_NAME);
	assert_int_equal(match("db::DBImpl::Get(int)", "db::DBImpl::Get", get),
			 CODE_MATCH_SIGNATURE);
	assert_int_equal(match("db::DBImpl::Get( int )", "db::DBImpl::Get", get),
			 CODE_MATCH_SIGNATURE);
	assert_int_equal(match("db::DBImpl::Get(char)", "db::DBImpl::Get", get), CODE_MATCH_NONE);
	assert_int_equal(match(get, "db::DBImpl::Get", get), CODE_MATCH_LINKAGE);
	assert_int_equal(match("Get", "db::DBImpl::Get", get), CODE_MATCH_END);
	assert_int_equal(match("DBImpl::Get", "db::DBImpl::Get", get), CODE_MATCH_END);
	assert_int_equal(match("DBImpl::Get(int)", "db::DBImpl::Get", get), CODE_MATCH_END);
	assert_int_equal(match("Impl::Get", "db::DBImpl::Get", get), CODE_MATCH_NONE);
	assert_int_equal(match("et", "db::DBImpl::Get", get), CODE_MATCH_NONE);
	assert_int_equal(match("Get", "db::DBImpl::Get<int>", NULL), CODE_MATCH_END);
	assert_int_equal(match("Get<int>", "db::DBImpl::Get<int>", NULL), CODE_MATCH_END);
	assert_int_equal(match("Get<char>", "db::DBImpl::Get<int>", NULL), CODE_MATCH_NONE);
	assert_int_equal(match("work::Parser::parse", "<work::Parser>::parse", NULL),
			 CODE_MATCH_END);
	assert_int_equal(match("Parser::parse", "<work::Parser as a::Parse>::parse", NULL),
			 CODE_MATCH_END);
	assert_int_equal(
		match("<Parser as Print>::parse", "<work::Parser as a::Parse>::parse", NULL),
		CODE_MATCH_NONE);
}

static void names_are_near_or_not(void **state)
{
	assert_int_equal(code_name__distance("name", "name", 20), 0);
	assert_int_equal(code_name__distance("name", "nome", 20), 2);
	assert_int_equal(code_name__distance("name", "Name", 20), 1);
	assert_int_equal(code_name__distance("name", "names", 20), 2);
	assert_int_equal(code_name__distance("kitten", "sitting", 20), 6);
	assert_int_equal(code_name__distance("kitten", "sitting", 5), 5);
	assert_int_equal(code_name__distance("", "abc", 20), 6);
}

static uint32_t rank_of(const void *context, uint32_t value)
{
	return ((const uint32_t *)context)[value];
}

/* Each address has the range that was looked for one by one. */
static void the_range_of_the_greatest_rank_counts(void **state)
{
	uint64_t random = 3;

	for (int round = 0; round < 40; round++) {
		struct ranges ranges = {};
		struct ranges flat = {};
		uint32_t ranks[100];

		for (uint32_t i = 0; i < ARRAY_SIZE(ranks); i++) {
			uint64_t start = next_random(&random) % 500;

			ranks[i] = (uint32_t)(next_random(&random) % 5);
			assert_int_equal(
				ranges__add(&ranges, start, start + next_random(&random) % 60, i),
				0);
		}
		ranges__seal(&ranges);
		assert_int_equal(ranges__flatten(&ranges, rank_of, ranks, &flat), 0);
		for (size_t i = 1; i < flat.n; i++)
			assert_true(flat.data[i - 1].end <= flat.data[i].start);
		for (uint64_t at = 0; at < 600; at++) {
			const struct range *best = NULL;
			const struct range *found = ranges__find(&flat, at);

			for (size_t i = 0; i < ranges.n; i++) {
				const struct range *range = &ranges.data[i];

				if (range->start <= at && at < range->end &&
				    (!best || ranks[range->value] >= ranks[best->value]))
					best = range;
			}
			assert_int_equal(!found, !best);
			if (found)
				assert_int_equal(found->value, best->value);
		}
		ranges__free(&ranges);
		ranges__free(&flat);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_made_plain),
		cmocka_unit_test(paths_are_joined),
		cmocka_unit_test(files_without_name_are_unknown),
		cmocka_unit_test(names_are_made_plain),
		cmocka_unit_test(what_compilers_append_is_left_out),
		cmocka_unit_test(names_match_in_order),
		cmocka_unit_test(names_are_near_or_not),
		cmocka_unit_test(the_range_of_the_greatest_rank_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
