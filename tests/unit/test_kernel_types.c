// SPDX-License-Identifier: BSD-2-Clause
/* The kernel's types for an object: against those of the running kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "abi/capture.h"
#include "base/cleanup.h"
#include "collect/kernel/kernel_types.h"
#include "collect/programs/record_programs.h"

static const void *record_object(size_t *size)
{
	struct record_programs programs = {};

	return record_programs__loader(&programs).elf(size);
}

static int open_copy(const struct btf *kernel, char path[32])
{
	size_t size;
	const void *object = record_object(&size);
	int fd = kernel_types__open(kernel, object, size);

	assert_true(fd >= 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static struct btf *copy_of(const struct btf *kernel)
{
	char path[32];
	int fd = open_copy(kernel, path);
	struct btf *types = btf__parse(path, NULL);

	close(fd);
	assert_non_null(types);
	return types;
}

static const struct btf_member *member_of(const struct btf *btf, const struct btf_type *type,
					  const char *name, __u32 bit_offset, int *index)
{
	const struct btf_member *members = btf_members(type);

	for (*index = 0; *index < btf_vlen(type); ++*index)
		if (!strcmp(btf__name_by_offset(btf, members[*index].name_off), name) &&
		    btf_member_bit_offset(type, (__u32)*index) == bit_offset)
			return &members[*index];
	return NULL;
}

/* Each member of @type is where the kernel's @original has it, and as large. */
static size_t check_members(const struct btf *types, const struct btf_type *type,
			    const struct btf *kernel, const struct btf_type *original)
{
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i, *same;
		const char *name = btf__name_by_offset(types, member->name_off);
		int index;

		same = member_of(kernel, original, name, btf_member_bit_offset(type, (__u32)i),
				 &index);
		assert_non_null(same);
		assert_int_equal(btf_member_bitfield_size(type, (__u32)i),
				 btf_member_bitfield_size(original, (__u32)index));
		assert_int_equal(btf__resolve_size(types, member->type),
				 btf__resolve_size(kernel, same->type));
	}
	return btf_vlen(type);
}

static void structures_are_laid_out_as_the_kernels(void **state)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *types;
	size_t members = 0;

	if (!kernel)
		skip();
	types = copy_of(kernel);
	for (__u32 id = 1; id < btf__type_cnt(types); id++) {
		const struct btf_type *type = btf__type_by_id(types, id);
		const char *name = btf__name_by_offset(types, type->name_off);
		int original;

		if (!btf_is_composite(type) || !*name)
			continue;
		original = btf__find_by_name_kind(kernel, name, btf_kind(type));
		assert_true(original > 0);
		/* Several types may share a name. */
		if (btf__type_by_id(kernel, (__u32)original)->size == type->size)
			members += check_members(types, type, kernel,
						 btf__type_by_id(kernel, (__u32)original));
	}
	assert_true(members > 100);
	btf__free(types);
	btf__free(kernel);
}

static void what_programs_read_is_there_and_little_else(void **state)
{
	static const char *const read[] = {"task_struct", "rq",	   "mm_struct", "sock",
					   "unix_sock",	  "inode", "request",	"pt_regs"};
	struct btf *kernel = btf__load_vmlinux_btf(), *types;
	const struct btf_type *task;
	int index;

	if (!kernel)
		skip();
	types = copy_of(kernel);
	for (size_t i = 0; i < ARRAY_SIZE(read); i++)
		if (btf__find_by_name_kind(types, read[i], BTF_KIND_STRUCT) < 0)
			fail_msg("%s is not there", read[i]);
	task = btf__type_by_id(
		types, (__u32)btf__find_by_name_kind(types, "task_struct", BTF_KIND_STRUCT));
	for (index = 0; index < btf_vlen(task); index++)
		assert_string_not_equal(
			btf__name_by_offset(types, btf_members(task)[index].name_off),
			"stack_canary");
	assert_true(btf__type_cnt(types) < btf__type_cnt(kernel) / 50);
	btf__free(types);
	btf__free(kernel);
}

static void choose_programs(struct bpf_object *object)
{
	static const char *const loaded[] = {"on_switch", "on_waking", "on_exit",
					     "on_run",	  "on_tick",   "finish_targets"};
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) bpf_program__set_autoload(program, false);
	for (size_t i = 0; i < ARRAY_SIZE(loaded); i++) {
		program = bpf_object__find_program_by_name(object, loaded[i]);
		assert_non_null(program);
		bpf_program__set_autoload(program, true);
	}
}

/* What programs read is found in the copy, or their load fails. */
static void programs_load_by_the_copy_alone(void **state)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct bpf_object *object;
	struct capture_settings *settings;
	size_t size;
	const void *elf = record_object(&size);
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	int fd;

	if (!kernel || geteuid() ||
	    btf__find_by_name_kind(kernel, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF) < 0)
		skip();
	fd = open_copy(kernel, path);
	object = bpf_object__open_mem(elf, size, &options);
	assert_non_null(object);
	choose_programs(object);
	settings = (void *)(uintptr_t)bpf_map__initial_value(
		bpf_object__find_map_by_name(object, CAPTURE_SETTINGS_SECTION), &size);
	assert_int_equal(size, sizeof(*settings));
	settings->trace_mode = settings->use_tables = settings->return_probes = 1;
	settings->preempt_count_from_rq = 8;
	assert_int_equal(bpf_object__load(object), 0);
	bpf_object__close(object);
	close(fd);
	btf__free(kernel);
}

static void what_is_no_object_has_no_types(void **state)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	const char text[] = "no ELF file, although it is longer than the header of one would be";
	size_t size;
	const char *object = record_object(&size);

	if (!kernel)
		skip();
	assert_true(kernel_types__open(kernel, text, sizeof(text)) < 0);
	assert_true(kernel_types__open(kernel, object, size / 2) < 0);
	assert_true(kernel_types__open(kernel, NULL, 0) < 0);
	btf__free(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_are_laid_out_as_the_kernels),
		cmocka_unit_test(what_programs_read_is_there_and_little_else),
		cmocka_unit_test(programs_load_by_the_copy_alone),
		cmocka_unit_test(what_is_no_object_has_no_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
