// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/synthetic.h"

#include "wait_kinds/kind_clues.h"
#include "wait_kinds/kind_target.h"
#include "arch/syscalls.h"
#include "analysis/kinds/tcp_holds.h"
#include "tests/unit/kind_cases.h"
#include "tests/unit/waits_support.h"

static uint32_t case_object(struct synthetic *made, const struct kind_case *c)
{
	struct record_object object = c->object;

	if (!object.type)
		return 0;
	if (strstr(c->expected, "127."))
		object.name = synthetic__string(made, "127.0.0.1:5432");
	if (strchr(c->expected, '/'))
		object.name = synthetic__string(made, "/var/lib/x.sst");
	return record_stream__object(recording_writer__stream(made->writer), &object);
}

/* One interval per case; each has functions of its own. */
static struct model *load_cases(void)
{
	struct synthetic made = synthetic__begin();
	uint64_t address = 0xffffffff81000000;

	synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
	for (size_t i = 0; i < ARRAY_SIZE(kind_cases); i++) {
		const struct kind_case *c = &kind_cases[i];
		uint64_t frames[MAX_DEPTH] = {};

		for (size_t k = 0; k < MAX_DEPTH - 1 && c->functions[k]; k++) {
			frames[k] = address + 8;
			synthetic__symbol(&made, made.kernel_dso, address, c->functions[k], NULL,
					  0);
			address += 16;
		}
		synthetic__interval(
			&made, (struct record_interval){
				       .thread = 1,
				       .t_out = i * MS,
				       .class = (uint8_t)c->class,
				       .syscall = c->syscall ? syscall_number(c->syscall) : -1,
				       .object = case_object(&made, c),
				       .kernel_stack = synthetic__stack(&made, true, 0, frames)});
	}
	return synthetic__load(&made, 1000 * MS);
}

/* And every kind has a case. */
static void every_case_is_told(void **state)
{
	bool has_case[KIND_COUNT] = {};
	struct model *model = load_cases();
	const struct model_thread *thread = find_thread(model, 100);
	struct kinds *kinds = NULL;

	assert_int_equal(kinds__new(model, &kinds), 0);
	assert_int_equal(thread->intervals.n, ARRAY_SIZE(kind_cases));
	for (size_t i = 0; i < ARRAY_SIZE(kind_cases); i++) {
		const struct model_interval *interval = &thread->intervals.data[i];
		const struct wait_description description = {
			.class = kind_cases[i].class,
			.flags = kind_cases[i].flags,
			.syscall = interval->syscall,
			.kernel = interval->kernel,
			.object = interval->object,
		};
		char text[256];

		has_case[kinds__of(kinds, &description)] = true;
		kind__describe(model, kinds__of(kinds, &description), interval->object, text,
			       sizeof(text));
		if (strcmp(text, kind_cases[i].expected))
			fail_msg("case %zu: '%s' instead of '%s'", i, text, kind_cases[i].expected);
	}
	/* These are not decided by functions: test_tcp_holds.c. */
	for (int i = HOLD_NONE + 1; i < HOLD_COUNT; i++)
		has_case[tcp_hold__kind((enum hold_reason)i)] = true;
	/* And these are no waits: running_threads_get_memory(). */
	has_case[KIND_RECLAIMING] = has_case[KIND_COMPACTING] = true;
	for (int kind = KIND_NONE + 1; kind < KIND_COUNT; kind++)
		if (!has_case[kind])
			fail_msg("'%s' has no case in kind_cases.h", kind__name(kind));
	kinds__free(kinds);
	model__free(model);
}

/* A running thread is asked about by its stack only: reclaim may run below anything. */
static void running_threads_get_memory(void **state)
{
	static const struct {
		const char *kind;
		const char *functions[8];
	} cases[] = {
		{"running", {"filemap_read", "vfs_read"}},
		{"reclaiming memory", {"shrink_folio_list", "try_to_free_pages", "page_fault"}},
		{"reclaiming memory", {"mutex_lock", "shrink_node", "kswapd"}},
		{"compacting memory",
		 {"isolate_migratepages", "compact_zone", "try_to_free_pages"}},
		{"running", {"reclaim_throttled", "a_function_of_tomorrow"}},
	};
	struct program program = program__begin(true);
	struct kinds *kinds = NULL;
	struct model *model;

	program__threads(&program, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		synthetic__sample(&program.made, 1, i + 1, 1,
				  program__stack(&program, true, cases[i].functions), 0);
	model = synthetic__load(&program.made, MS);
	assert_int_equal(kinds__new(model, &kinds), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct wait_description description = {
			.class = CLASS_CPU,
			.syscall = -1,
			.kernel = model->threads.data[1].samples.data[i].kernel,
		};

		assert_string_equal(kind__name(kinds__of(kinds, &description)), cases[i].kind);
	}
	kinds__free(kinds);
	model__free(model);
}

static void every_kind_has_a_name(void **state)
{
	for (int kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
		assert_non_null(kind__name(kind));
		assert_true(kind__name(kind)[0] != '\0');
		for (int other = KIND_NONE + 1; other < kind; other++)
			assert_string_not_equal(kind__name(kind), kind__name(other));
	}
}

/* Two rows for one function would have to agree on what it decides. */
static void table_does_not_contradict_itself(void **state)
{
	for (size_t i = 0; i < n_kind_functions; i++) {
		const struct kind_function *function = &kind_functions[i];
		size_t clues = 1;

		for (size_t k = 0; k < i; k++) {
			if (strcmp(function->name, kind_functions[k].name) != 0)
				continue;
			clues++;
			assert_false(function->clue.strength == kind_functions[k].clue.strength &&
				     function->clue.replaces == kind_functions[k].clue.replaces);
		}
		assert_in_range(clues, 1, KIND_CLUES_PER_FUNCTION);
	}
	assert_in_range(n_kind_functions, 1, KIND_RANGES_MAX);
	for (size_t i = 0; i < n_kind_syscalls; i++)
		assert_true(kind_syscalls[i].kind != KIND_NONE);
}

/* By one name, or by that of a group; never a lock. */
static void targets_are_found_by_name(void **state)
{
	struct kind_set kinds = {};

	assert_true(kind_target__find("tcp receive", &kinds));
	for (uint32_t kind = 0; kind < KIND_COUNT; kind++)
		assert_int_equal(kind_set__has(&kinds, kind), kind == KIND_TCP_RECEIVE);
	assert_true(kind_target__find("journal", &kinds));
	for (uint32_t kind = 0; kind < KIND_COUNT; kind++)
		assert_int_equal(kind_set__has(&kinds, kind), kind == KIND_FSYNC ||
								      kind == KIND_JOURNAL_COMMIT ||
								      kind == KIND_JOURNAL_SPACE);
	assert_true(kind_target__find("disk", &kinds));
	assert_true(kind_set__has(&kinds, KIND_FSYNC) && kind_set__has(&kinds, KIND_DISK_READ));
	assert_false(kind_set__has(&kinds, KIND_TCP_SEND));
	for (uint32_t kind = 0; kind < KIND_COUNT; kind++)
		assert_int_equal(kind_target__find(kind__name(kind), &kinds),
				 kind__info(kind)->role == KIND_ROLE_WAIT);
	assert_false(kind_target__find("futex", &kinds));
	assert_false(kind_target__find("no such kind", &kinds));
}

static void system_calls_have_names(void **state)
{
	for (int nr = 0; nr < SYSCALLS_MAX; nr++) {
		const char *name = syscalls__name(NULL, nr);

		if (name)
			assert_int_equal(syscall_number(name), nr); /* no name twice */
	}
	assert_null(syscalls__name(NULL, -1));
	assert_null(syscalls__name(NULL, SYSCALLS_MAX));
	assert_null(syscalls__name("pdp11", 0));
	/* The generic table is the same everywhere. */
	assert_string_equal(syscalls__name("aarch64", 63), "read");
	assert_string_equal(syscalls__name("riscv64", 98), "futex");
	assert_string_equal(syscalls__name("aarch64", 25), "fcntl");
	assert_true(syscalls__takes_fd(syscall_number("pread64")));
	assert_true(syscalls__takes_fd(syscall_number("epoll_pwait")));
	assert_false(syscalls__takes_fd(syscall_number("futex")));
	assert_false(syscalls__takes_fd(syscall_number("ppoll")));
	assert_false(syscalls__takes_fd(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_is_told),
		cmocka_unit_test(running_threads_get_memory),
		cmocka_unit_test(every_kind_has_a_name),
		cmocka_unit_test(table_does_not_contradict_itself),
		cmocka_unit_test(targets_are_found_by_name),
		cmocka_unit_test(system_calls_have_names),
	};

	return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
