// SPDX-License-Identifier: BSD-2-Clause
/*
 * Kernels whose structures differ from this one's: every field that a BPF object reads is in turn
 * removed, narrowed and of the other sign in the types by which the object is loaded. It loads, or
 * the field is named. DWELL_TEST_FULL=1 tries all; otherwise some are drawn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "abi/call_probe.h"
#include "abi/capture.h"
#include "abi/delay_area.h"
#include "abi/kind_steps.h"
#include "abi/symbol_lookup.h"
#include "abi/targets.h"
#include "bpf/causal.skel.h"
#include "bpf/record.skel.h"
#include "bpf/symbols.skel.h"
#include "collect/kernel/kernel_types.h"
#include "collect/kernel/missing_field.h"
#include "tests/unit/dice.h"
#include "tests/unit/kernel_fields.h"

#define MAX_FIELDS 300
#define DRAWN	   4 /* loads of each object, of some 0.2 s of CPU time */

static const struct object {
	const char *name;
	const void *(*elf)(size_t *size);
} objects[] = {
	{"record", record_bpf__elf_bytes},
	{"causal", causal_bpf__elf_bytes},
	{"symbols", symbols_bpf__elf_bytes},
};

static struct btf *kernel; /* all its types; NULL: programs cannot be loaded here */
static char missing[128];  /* the field that the last load has not found; "": none */

static int keep_missing(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char *text = NULL;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, args) < 0)
		return 0;
	missing_field__parse(text, missing, sizeof(missing));
	free(text);
	return 0;
}

static int setup(void **state)
{
	libbpf_set_print(keep_missing);
	kernel = geteuid() ? NULL : btf__load_vmlinux_btf();
	return 0;
}

static int teardown(void **state)
{
	btf__free(kernel);
	return 0;
}

/* Whether this kernel has what @program attaches to. Tracing of functions is tested in guests. */
static bool can_load(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program), *name = strchr(section, '/');
	char type[128];

	if (!strncmp(section, "fexit/", 6))
		return false;
	if (strncmp(section, "tp_btf/", 7) != 0)
		return true;
	snprintf(type, sizeof(type), "btf_trace_%s", name + 1);
	return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

/* The memory of section @name of @object, if it has @size bytes (0: any); else NULL. */
static void *section(const struct bpf_object *object, const char *name, size_t size)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t found = 0;
	const void *memory = map ? bpf_map__initial_value(map, &found) : NULL;

	return memory && (!size || size == found) ? (void *)(uintptr_t)memory : NULL;
}

/* They are not used, and a large one takes more time than programs. */
static void shrink_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__max_entries(map) > 64 && !bpf_map__initial_value(map, &(size_t){0}))
			bpf_map__set_max_entries(map, 64);
	}
}

/*
 * So that programs reach nearly as much as they ever do; with @all, all of it: namespaces and
 * cgroups are loops, and the verifier takes five times as long.
 */
static void turn_on(struct bpf_object *object, bool all)
{
	struct capture_settings *settings =
		section(object, CAPTURE_SETTINGS_SECTION, sizeof(*settings));
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, can_load(program));
	if (!settings)
		return;
	settings->trace_mode = settings->use_tables = settings->return_probes = 1;
	settings->follow = settings->linked = 1;
	settings->listens_at_ports = settings->listens_at_paths = settings->n_listeners = 1;
	settings->preempt_count_from_rq = 8;
	settings->freezer_subsystem = settings->memory_subsystem = 1;
	settings->pid_namespace = all;
	settings->target_kind = all ? TARGET_CGROUP : TARGET_LISTED;
}

/* Loads the programs of @object by the types at @path. 0 or an error; sets @missing. */
static int load(const struct object *object, const char *path, bool all)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct bpf_object *opened;
	size_t size;
	const void *elf = object->elf(&size);
	int err;

	*missing = '\0';
	opened = bpf_object__open_mem(elf, size, &options);
	assert_non_null(opened);
	shrink_maps(opened);
	turn_on(opened, all);
	err = bpf_object__load(opened);
	bpf_object__close(opened);
	return err;
}

static int load_by(const struct object *object, const struct btf *types, bool all)
{
	char path[32];
	int fd = types_file(types, path), err = load(object, path, all);

	close(fd);
	return err;
}

/* The kernel's types for @object, in which mutations are made. */
static struct btf *types_for(const struct object *object)
{
	size_t size;
	const void *elf = object->elf(&size);
	char path[32];
	int fd = kernel_types__open(kernel, elf, size);
	struct btf *types;

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	types = btf__parse(path, NULL);
	assert_non_null(types);
	close(fd);
	return types;
}

static const char *const mutations[] = {"removed", "narrowed", "other sign",
					"narrowed, other sign"};

/* False: the mutation does not apply. */
static bool try_mutation(const struct object *object, const struct btf *types,
			 const struct field *field, enum mutation mutation, bool all)
{
	struct btf *mutated = mutated_types(types, field, mutation);
	const char *member = strrchr(field->name, '.');
	char name[128];
	int err;

	if (!mutated)
		return false;
	err = load_by(object, mutated, all);
	btf__free(mutated);
	if (!err)
		return true;
	snprintf(name, sizeof(name), "%s.", member);
	if (!*missing)
		fail_msg("%s: %s %s: error %d that names no field", object->name, field->name,
			 mutations[mutation], err);
	strncat(missing, ".", sizeof(missing) - strlen(missing) - 1);
	if (!strstr(missing, name))
		fail_msg("%s: %s %s: %s is named", object->name, field->name, mutations[mutation],
			 missing);
	/* What can be read is read: only registers have one width in all kernels. */
	if (mutation != REMOVED && strncmp(field->name, "pt_regs.", 8) != 0)
		fail_msg("%s: %s %s: does not load", object->name, field->name,
			 mutations[mutation]);
	return true;
}

static void try_all(const struct object *object, const struct btf *types,
		    const struct field *fields, size_t n)
{
	size_t tried = 0;

	for (size_t i = 0; i < n; i++)
		for (int mutation = 0; mutation < MUTATIONS; mutation++)
			tried += try_mutation(object, types, &fields[i], mutation, true);
	print_message("%s: %zu fields, %zu loads\n", object->name, n, tried);
}

static void try_some(const struct object *object, const struct btf *types,
		     const struct field *fields, size_t n)
{
	struct dice dice = {(uint64_t)time(NULL)};

	print_message("%s: %zu fields, drawn by %ju\n", object->name, n, (uintmax_t)dice.state);
	for (int tried = 0; tried < DRAWN;)
		tried += try_mutation(object, types, &fields[dice__roll(&dice) % n],
				      dice__roll(&dice) % MUTATIONS, !(dice__roll(&dice) % 8));
}

static void fields_may_differ(void **state)
{
	static struct field fields[MAX_FIELDS];

	if (!kernel)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct read_object read;
		struct btf *types;
		size_t size, n;
		const void *elf = objects[i].elf(&size);

		read_object__open(&read, elf, size);
		types = read.relocations.n ? types_for(&objects[i]) : btf__new_empty();
		assert_int_equal(load_by(&objects[i], types, false), 0);
		n = fields_of(&read, types, fields, MAX_FIELDS);
		if (n && getenv("DWELL_TEST_FULL"))
			try_all(&objects[i], types, fields, n);
		else if (n)
			try_some(&objects[i], types, fields, n);
		btf__free(types);
		read_object__close(&read);
	}
}

/* Where the function that @relocation is in begins. */
static uint32_t function_of(const struct read_object *object, const struct relocation *relocation)
{
	uint32_t begin = 0;

	for (size_t i = 0; i < object->functions.n; i++) {
		const struct function *function = &object->functions.data[i];

		if (function->section == relocation->section &&
		    function->insn <= relocation->insn && function->insn > begin)
			begin = function->insn;
	}
	return begin;
}

/* Whether the function of @offset asks for the width of that field, too. */
static bool asks_for_width(const struct read_object *object, const struct relocation *offset)
{
	for (size_t i = 0; i < object->relocations.n; i++) {
		const struct relocation *size = &object->relocations.data[i];

		if (size->kind == RELOCATES_SIZE && size->section == offset->section &&
		    size->type == offset->type && size->access == offset->access &&
		    function_of(object, size) == function_of(object, offset))
			return true;
	}
	return false;
}

/* The instruction of @relocation. */
static struct bpf_insn instruction(const struct read_object *object,
				   const struct relocation *relocation)
{
	const Elf_Data *code =
		section_data(object->file, btf__name_by_offset(object->types, relocation->section));
	struct bpf_insn insn;

	assert_non_null(code);
	assert_true(relocation->insn + sizeof(insn) <= code->d_size);
	memcpy(&insn, (const char *)code->d_buf + relocation->insn, sizeof(insn));
	return insn;
}

/* Whether libbpf changes the width of @insn's load of @type, or refuses it. */
static bool is_adapted(struct bpf_insn insn, const struct btf_type *type)
{
	return BPF_CLASS(insn.code) == BPF_LDX && btf_is_int(type) &&
	       !(btf_int_encoding(type) & BTF_INT_SIGNED);
}

static size_t check_widths(const struct read_object *object)
{
	size_t checked = 0;

	for (size_t i = 0; i < object->relocations.n; i++) {
		const struct relocation *relocation = &object->relocations.data[i];
		const char *names[FIELD_DEPTH];
		const struct btf_type *type;
		uint32_t last;
		int n = names_of(object, relocation, names, &last);

		if (!n || relocation->kind != RELOCATES_OFFSET)
			continue;
		type = btf__type_by_id(object->types, bare_type(object->types, last, false));
		if (!btf_is_int(type) && !btf_is_any_enum(type))
			continue;
		if (!is_adapted(instruction(object, relocation), type) &&
		    !asks_for_width(object, relocation))
			fail_msg("%s: a read of %s has dwell's width, not the kernel's",
				 btf__name_by_offset(object->types, relocation->section),
				 names[n - 1]);
		checked++;
	}
	return checked;
}

/* Whatever the compiler made of it. */
static void values_are_read_in_the_kernels_width(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		struct read_object read;
		size_t size, checked;
		const void *elf = objects[i].elf(&size);

		read_object__open(&read, elf, size);
		checked = check_widths(&read);
		assert_true(checked > 100 || !read.relocations.n);
		read_object__close(&read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_in_the_kernels_width),
		cmocka_unit_test(fields_may_differ),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
