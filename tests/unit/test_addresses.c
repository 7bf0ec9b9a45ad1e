// SPDX-License-Identifier: BSD-2-Clause
/* Which addresses of a recording get names: of the mappings of this program. Needs root. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/record/addresses.h"
#include "collect/record/name_addresses.h"
#include "collect/record/translate.h"
#include "model/model.h"
#include "tests/unit/unwinder_maps.h"

#define THREAD 7
#define TIME   1000

static int a_variable_to_be_named = 1;

struct fixture {
	struct unwinder_maps maps;
	struct privsep *privsep;
	struct unwinder *unwinder;
	struct address_spaces *spaces;
	struct recording_writer *writer;
	struct translator *translator;
	struct addresses addresses;
};

__attribute__((noinline)) static void a_function_to_be_named(void)
{
	__asm__ volatile("nop");
}

static void on_mapping(void *arg, const struct code_mapping *mapping)
{
	const struct fixture *fixture = arg;

	translator__mapping(fixture->translator, mapping);
}

static uint32_t process_of(void *arg, uint32_t thread)
{
	return thread == THREAD ? (uint32_t)getpid() : 0;
}

static const char *path(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "/tmp/dwell-addresses-%d.data", getpid());
	return text;
}

static void nothing(void *arg)
{
}

static void begin(struct fixture *fixture)
{
	*fixture = (struct fixture){};
	if (!unwinder_maps__create(&fixture->maps))
		skip();
	assert_int_equal(privsep__start(&fixture->privsep), 0);
	assert_int_equal(
		unwinder__new(&fixture->maps, 64 << 20, fixture->privsep, &fixture->unwinder), 0);
	assert_int_equal(address_spaces__new(fixture->unwinder, fixture->privsep, on_mapping,
					     fixture, &fixture->spaces),
			 0);
	assert_int_equal(recording_writer__create(path(), &fixture->writer), 0);
	assert_int_equal(
		translator__new(recording_writer__stream(fixture->writer), &fixture->translator),
		0);
	assert_int_equal(addresses__init(&fixture->addresses), 0);
	unwinder__record(fixture->unwinder, (uint32_t)getpid());
	assert_int_equal(
		address_spaces__read_process(fixture->spaces, getpid(), TIME / 2, nothing, NULL),
		0);
}

static void end(struct fixture *fixture)
{
	addresses__free(&fixture->addresses);
	translator__free(fixture->translator);
	recording_writer__discard(fixture->writer);
	address_spaces__free(fixture->spaces);
	unwinder__free(fixture->unwinder);
	privsep__free(fixture->privsep);
	unwinder_maps__close(&fixture->maps);
}

static void locate(struct fixture *fixture)
{
	addresses__locate(&fixture->addresses, fixture->spaces, process_of, NULL);
}

/* Where @address of this program is in its file. */
static uint64_t in_file(const struct fixture *fixture, uint64_t address)
{
	struct code_location location;

	assert_true(address_spaces__locate(fixture->spaces, (uint32_t)getpid(), TIME, address,
					   false, &location));
	return location.address;
}

/* How often @address of the file is kept. */
static size_t count(const struct fixture *fixture, uint64_t address, bool data)
{
	size_t n = 0;

	for (size_t i = 0; i < fixture->addresses.kept.n; i++)
		n += fixture->addresses.kept.data[i].address == address &&
		     fixture->addresses.kept.data[i].data == data;
	return n;
}

/*
 * The innermost address is that of an instruction, or of the call before it, as events refer to the
 * stack, before or after its frames come.
 */
static void as_events_refer_to_it(void **state)
{
	const struct stack_user by_thread = {.thread = THREAD, .time = TIME};
	const struct stack_user by_pid = {.pid = (uint32_t)getpid(), .time = TIME};
	uint64_t function = (uintptr_t)a_function_to_be_named;

	for (unsigned int how = 0; how < 16; how++) {
		const bool before[] = {how & 1, how & 2}, after[] = {how & 4, how & 8};
		uint64_t frames[] = {function + 1, (uintptr_t)as_events_refer_to_it + 8};
		struct fixture fixture;
		uint64_t at;

		begin(&fixture);
		at = in_file(&fixture, function);
		for (int round = 0; round < 3; round++) {
			for (int exact = 0; exact < 2; exact++)
				if (before[exact])
					addresses__refer(&fixture.addresses, &by_thread, 99, exact);
			addresses__add_user(&fixture.addresses, &by_pid, 99, frames, 2);
			for (int exact = 0; exact < 2; exact++)
				if (after[exact])
					addresses__refer(&fixture.addresses, &by_thread, 99, exact);
			locate(&fixture);
			if (round == 1)
				addresses__forget_unused(&fixture.addresses);
		}
		assert_int_equal(count(&fixture, at + 1, false), before[1] || after[1]);
		assert_int_equal(count(&fixture, at, false), before[0] || after[0]);
		assert_int_equal(count(&fixture, in_file(&fixture, frames[1] - 1), false), 1);
		assert_int_equal(fixture.addresses.raw.n, 0);
		end(&fixture);
	}
}

static void what_is_not_mapped_is_given_up(void **state)
{
	const struct stack_user users[] = {{.thread = THREAD, .time = TIME},
					   {.thread = THREAD + 1, .time = TIME},
					   {.pid = 1, .time = TIME}};
	struct fixture fixture;

	begin(&fixture);
	for (size_t i = 0; i < 3; i++) {
		addresses__refer(&fixture.addresses, &users[i], i + 1, true);
		addresses__add_user(&fixture.addresses, &users[i], i + 1, (uint64_t[]){5}, 1);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fixture.addresses.raw.n, 3);
		locate(&fixture);
	}
	assert_int_equal(fixture.addresses.raw.n, 0);
	assert_int_equal(fixture.addresses.kept.n, 0);
	assert_int_equal(fixture.addresses.left_out, 0);
	end(&fixture);
}

/* A stack is of several processes: one whose mappings are not known must not be the only one asked.
 */
static void siblings_locate_what_others_could_not(void **state)
{
	const struct stack_user unknown = {.pid = 1, .time = TIME};
	const struct stack_user known = {.thread = THREAD, .time = TIME};
	uint64_t frames[] = {(uintptr_t)a_function_to_be_named, 5};
	struct fixture fixture;

	begin(&fixture);
	for (int i = 0; i < 50; i++) {
		const struct stack_user *user = i < 8 ? &unknown : &known;

		addresses__refer(&fixture.addresses, user, 1, true);
		if (!i)
			addresses__add_user(&fixture.addresses, user, 1, frames, 2);
		locate(&fixture);
		if (i % 8 == 7)
			addresses__forget_unused(&fixture.addresses);
	}
	assert_int_equal(count(&fixture, in_file(&fixture, frames[0]), false), 1);
	assert_int_equal(fixture.addresses.kept.n, 1);
	assert_int_equal(fixture.addresses.raw.n, 0); /* what is not code is given up */
	assert_int_equal(fixture.addresses.unlocated.n, 0);
	end(&fixture);
}

static void publish(struct fixture *fixture, int n)
{
	for (int i = 0; i < n; i++) {
		unwinder__wait(fixture->unwinder, UINT64_MAX);
		unwinder__publish(fixture->unwinder);
	}
}

/* Until the last publish for which its mappings are kept. */
static void a_process_that_ended_is_located(void **state)
{
	const struct stack_user user = {.thread = THREAD, .time = TIME};
	uint64_t frames[] = {(uintptr_t)a_function_to_be_named};
	struct fixture fixture;

	begin(&fixture);
	publish(&fixture, 2);
	unwinder__end(fixture.unwinder, (uint32_t)getpid(), 2 * (uint64_t)TIME);
	publish(&fixture, UNWINDER_KEPT - 1);
	for (uint64_t hash = 1; hash <= 2; hash++) {
		addresses__refer(&fixture.addresses, &user, hash, true);
		addresses__add_user(&fixture.addresses, &user, hash, frames, 1);
		locate(&fixture);
		frames[0]++;
		publish(&fixture, 1);
	}
	assert_int_equal(fixture.addresses.kept.n, 1);
	end(&fixture);
}

static void addresses_are_bounded(void **state)
{
	struct fixture fixture;

	begin(&fixture);
	for (uint64_t i = 0; i < ADDRESSES_MAX + 10; i++)
		for (int twice = 0; twice < 2; twice++)
			addresses__add_kernel(&fixture.addresses, &(uint64_t){i}, 1);
	assert_int_equal(fixture.addresses.kept.n, ADDRESSES_MAX);
	assert_int_equal(fixture.addresses.left_out, 20);
	end(&fixture);
}

static void put_sample(struct recording_writer *writer, uint64_t hash, const uint64_t *frames)
{
	struct record records[] = {
		{.type = RECORD_THREAD,
		 .thread = {.thread = THREAD,
			    .tid = (uint32_t)getpid(),
			    .tgid = (uint32_t)getpid(),
			    .flags = THREAD_TARGET,
			    .time = 1}},
		{.type = RECORD_SAMPLE, .sample = {.thread = THREAD, .weight = 1, .time = TIME}},
	};

	records[1].sample.user_stack =
		record_stream__stack_by_hash(recording_writer__stream(writer), hash);
	record_stream__stack_frames(recording_writer__stream(writer), hash,
				    &(struct record_stack){.frames = frames, .depth = 1});
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(record_stream__put(recording_writer__stream(writer), &records[i]),
				 0);
}

/* Names that were added are there without the files. */
static void names_are_in_the_recording(void **state)
{
	const struct model_symbolize_options embedded_only = {.embedded_only = true};
	const struct stack_user user = {.thread = THREAD, .time = TIME};
	const uint64_t frames[] = {(uintptr_t)a_function_to_be_named};
	struct model *model = NULL;
	struct fixture fixture;
	uint64_t named;
	size_t found = 0, variables = 0;

	begin(&fixture);
	addresses__refer(&fixture.addresses, &user, 1, true);
	addresses__add_user(&fixture.addresses, &user, 1, frames, 1);
	addresses__add_futex(&fixture.addresses, &user, (uintptr_t)&a_variable_to_be_named);
	locate(&fixture);
	assert_int_equal(fixture.addresses.kept.n, 2);
	put_sample(fixture.writer, 1, frames);
	assert_int_equal(recording_writer__complete(fixture.writer), 0);
	assert_int_equal(name_addresses(&fixture.addresses, fixture.spaces, fixture.privsep,
					recording_writer__stream(fixture.writer), &named),
			 0);
	assert_int_equal(named, 2);
	assert_int_equal(recording_writer__close(TAKE_PTR(fixture.writer)), 0);
	assert_int_equal(model__load(path(), &model), 0);
	assert_int_equal(model__symbolize(model, &embedded_only), 0);
	for (size_t i = 0; i < model->frames.n; i++) {
		const char *name = model__string(model, model->frames.data[i].name);

		found += !strcmp(name, "a_function_to_be_named");
		variables += !strcmp(name, "a_variable_to_be_named");
	}
	assert_int_equal(found, 1);
	assert_int_equal(variables, 1);
	model__free(model);
	unlink(path());
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_events_refer_to_it),
		cmocka_unit_test(what_is_not_mapped_is_given_up),
		cmocka_unit_test(siblings_locate_what_others_could_not),
		cmocka_unit_test(a_process_that_ended_is_located),
		cmocka_unit_test(addresses_are_bounded),
		cmocka_unit_test(names_are_in_the_recording),
	};

	return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
