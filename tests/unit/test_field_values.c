// SPDX-License-Identifier: BSD-2-Clause
/*
 * Values that bpf/core/field.bpf.h reads, against the bytes of the structure: by the kernel's
 * types, and with each field narrowed and of the other sign.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "collect/kernel/kernel_types.h"
#include "tests/unit/field_values.h"
#include "tests/unit/field_values.skel.h"
#include "tests/unit/kernel_fields.h"

#define MAX_FIELDS 40

static struct btf *kernel; /* what the program needs of its types; NULL: it cannot be loaded */
static struct read_object object;

static int setup(void **state)
{
	struct btf *all = geteuid() ? NULL : btf__load_vmlinux_btf();
	size_t size;
	const void *elf = field_values_bpf__elf_bytes(&size);
	char path[32];
	int fd = all ? kernel_types__open(all, elf, size) : -1;

	btf__free(all);
	read_object__open(&object, elf, size);
	prctl(PR_SET_NAME, "fifteen-letters");
	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kernel = btf__parse(path, NULL);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	btf__free(kernel);
	read_object__close(&object);
	return 0;
}

/* Runs the program by @types. False: it does not load. */
static bool read_values(const struct btf *types, struct field_values *values)
{
	char path[32];
	int fd = types_file(types, path);
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct field_values_bpf *programs = field_values_bpf__open_opts(&options);
	bool loaded;

	assert_non_null(programs);
	loaded = !field_values_bpf__load(programs);
	if (loaded) {
		assert_int_equal(
			bpf_prog_test_run_opts(bpf_program__fd(programs->progs.read_values), &run),
			0);
		*values = programs->bss->values;
	}
	field_values_bpf__destroy(programs);
	close(fd);
	return loaded;
}

/* The value of the lowest @bits of @word, extended to 64. */
static uint64_t extend(uint64_t word, unsigned int bits, bool is_signed)
{
	word <<= 64 - bits;
	return is_signed ? (uint64_t)((int64_t)word >> (64 - bits)) : word >> (64 - bits);
}

static bool is_signed(const struct btf_type *type)
{
	return btf_is_int(type) && btf_int_encoding(type) & BTF_INT_SIGNED;
}

/* The offset in bits of the field that @steps lead to in task_struct. */
static uint32_t offset_of(const struct btf *types, const char *const *steps, int n)
{
	struct field field = {};
	uint32_t at = (uint32_t)btf__find_by_name_kind(types, "task_struct", BTF_KIND_STRUCT);
	uint32_t offset = 0;

	for (int i = 0; i < n; i++) {
		const struct btf_type *owner;

		assert_true(find_member(types, at, steps[i], &field));
		owner = btf__type_by_id(types, field.type);
		offset += btf_member_bit_offset(owner, (uint32_t)field.member);
		at = bare_type(types, btf_members(owner)[field.member].type, false);
	}
	return offset;
}

/* Splits @path at its points. */
static int split(char *path, const char *steps[FIELD_DEPTH])
{
	int n = 0;

	for (char *name = strtok(path, "."); name; name = strtok(NULL, "."))
		steps[n++] = name;
	return n;
}

/* What field @path of task_struct is by @types, as the type that it is declared with. */
static uint64_t expected(const struct btf *types, const char *path,
			 const struct field_values *values)
{
	char copy[64];
	const char *steps[FIELD_DEPTH];
	struct field field;
	const struct btf_type *type;
	uint64_t word = 0;
	int n;

	snprintf(copy, sizeof(copy), "%s", path);
	n = split(copy, steps);
	assert_true(find_field(types, "task_struct", steps, n, &field));
	type = btf__type_by_id(types, field.type);
	type = btf__type_by_id(types,
			       bare_type(types, btf_members(type)[field.member].type, false));
	memcpy(&word, &values->bytes[offset_of(types, steps, n) / 8], type->size);
	word = extend(word, type->size * 8, is_signed(type));
	assert_true(find_field(object.types, "task_struct", steps, n, &field));
	type = btf__type_by_id(object.types, field.type);
	type = btf__type_by_id(
		object.types, bare_type(object.types, btf_members(type)[field.member].type, false));
	return extend(word, type->size * 8, is_signed(type));
}

#define NAME(field, n) [n] = #field,
static const char *const names[] = {FIELD_VALUES(NAME)};

static void check(const struct btf *types, const struct field_values *values, const char *what)
{
	for (size_t i = 0; i < N_FIELD_VALUES; i++) {
		uint64_t right = expected(types, names[i], values);

		if (values->direct[i] != right || values->probed[i] != right)
			fail_msg("%s: %s is %#jx, %#jx by a probe; right: %#jx", what, names[i],
				 (uintmax_t)values->direct[i], (uintmax_t)values->probed[i],
				 (uintmax_t)right);
	}
	assert_int_equal(values->in_iowait, 0);
}

/* By truth from elsewhere. */
static void values_are_those_of_this_process(void **state)
{
	struct field_values values;

	if (!kernel)
		skip();
	assert_true(read_values(kernel, &values));
	check(kernel, &values, "this kernel");
	assert_int_equal(values.direct[0], getpid());
	assert_int_equal(values.direct[1], getpid());
	assert_int_equal(values.direct[3], 1);
	assert_int_equal(values.direct[4], 1);
	assert_int_equal(values.leader_tgid, getpid());
	assert_string_equal(values.comm, "fifteen-letters");
}

static void mutated_fields_have_the_width_and_sign_of_the_types(void **state)
{
	static struct field fields[MAX_FIELDS];
	size_t n, tried = 0;

	if (!kernel)
		skip();
	n = fields_of(&object, kernel, fields, MAX_FIELDS);
	for (size_t i = 0; i < n; i++)
		for (int mutation = NARROWED; mutation < MUTATIONS; mutation++) {
			struct btf *types = mutated_types(kernel, &fields[i], mutation);
			struct field_values values;

			if (!types)
				continue;
			if (!read_values(types, &values))
				fail_msg("%s: does not load", fields[i].name);
			check(types, &values, fields[i].name);
			btf__free(types);
			tried++;
		}
	assert_true(tried > 2 * N_FIELD_VALUES);
}

/* A string that became shorter is not read beyond its end. */
static void shorter_strings_are_cut(void **state)
{
	const char *path[] = {"comm"};
	struct field_values values;
	struct field field;
	struct btf *types;

	if (!kernel)
		skip();
	assert_true(find_field(kernel, "task_struct", path, 1, &field));
	types = mutated_types(kernel, &field, NARROWED);
	assert_non_null(types);
	assert_true(read_values(types, &values));
	assert_string_equal(values.comm, "fifteen");
	btf__free(types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_those_of_this_process),
		cmocka_unit_test(mutated_fields_have_the_width_and_sign_of_the_types),
		cmocka_unit_test(shorter_strings_are_cut),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
