/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of kernel structures that a BPF object reads, by its CO-RE relocations, and kernel
 * types in which one of them is another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/array.h"
#include "symbols/elf/elf_file.h"

#define FIELD_DEPTH 8

/* The relocations of section .BTF.ext, as in the kernel's Documentation/bpf/btf.rst. */
struct btf_ext_head {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, func_info_off, func_info_len, line_info_off, line_info_len;
	uint32_t core_relo_off, core_relo_len;
};

/* enum bpf_core_relo_kind */
enum { RELOCATES_OFFSET = 0, RELOCATES_SIZE = 1, ASKS_EXISTENCE = 2, RELOCATES_FIELD_MAX = 5 };

struct relocation {
	uint32_t section; /* offset of its name */
	uint32_t insn;	  /* offset in the section */
	uint32_t type;
	uint32_t access; /* offset of a string: indices of members, separated by colons */
	uint32_t kind;
};

/* The begin of a function. */
struct function {
	uint32_t section;
	uint32_t insn;
};

/* A BPF object's types and relocations. */
struct read_object {
	struct elf_file *file;
	struct btf *types;
	ARRAY(struct relocation) relocations;
	ARRAY(struct function) functions;
};

/* Where @names[0].@names[1]... leads: member number @member of type @type. */
struct field {
	char name[128]; /* of the object: "task_struct.se.cfs_rq" */
	uint32_t type;	/* of the kernel's types, as member */
	int member;
};

static inline const Elf_Data *section_data(struct elf_file *file, const char *name)
{
	Elf_Scn *section = elf_file__section(file, name, NULL);

	return section ? elf_getdata(section, NULL) : NULL;
}

/*
 * Calls @take for each record of the part of .BTF.ext at @at, of @length bytes: the size of
 * records, then for each section its name, the number of records, and the records.
 */
static inline void each_record(struct read_object *object, const char *at, uint32_t length,
			       void (*take)(struct read_object *object, uint32_t section,
					    const void *record))
{
	const char *end = at + length;
	uint32_t size;

	if (!length)
		return;
	memcpy(&size, at, sizeof(size));
	for (at += sizeof(size); at < end;) {
		uint32_t section[2];

		memcpy(section, at, sizeof(section));
		at += sizeof(section);
		for (uint32_t i = 0; i < section[1]; i++, at += size)
			take(object, section[0], at);
	}
}

static inline void take_relocation(struct read_object *object, uint32_t section, const void *record)
{
	struct relocation *one = array__add(&object->relocations);

	assert_non_null(one);
	one->section = section;
	memcpy(&one->insn, record, sizeof(*one) - sizeof(section));
}

static inline void take_function(struct read_object *object, uint32_t section, const void *record)
{
	struct function *one = array__add(&object->functions);

	assert_non_null(one);
	one->section = section;
	memcpy(&one->insn, record, sizeof(one->insn));
}

static inline void read_object__open(struct read_object *object, const void *elf, size_t size)
{
	const Elf_Data *types, *ext;
	const struct btf_ext_head *head;
	const char *parts;

	*object = (struct read_object){};
	assert_int_equal(elf_file__open_memory(elf, size, &object->file), 0);
	types = section_data(object->file, ".BTF");
	object->types = btf__new(types->d_buf, (uint32_t)types->d_size);
	assert_non_null(object->types);
	ext = section_data(object->file, ".BTF.ext");
	head = ext->d_buf;
	parts = (const char *)ext->d_buf + head->hdr_len;
	each_record(object, parts + head->func_info_off, head->func_info_len, take_function);
	each_record(object, parts + head->core_relo_off, head->core_relo_len, take_relocation);
}

static inline void read_object__close(struct read_object *object)
{
	array__free(&object->relocations);
	array__free(&object->functions);
	btf__free(object->types);
	elf_file__free(object->file);
}

/* Without typedefs, modifiers and array dimensions. */
static inline uint32_t bare_type(const struct btf *types, uint32_t id, bool elements)
{
	for (;;) {
		const struct btf_type *type = btf__type_by_id(types, id);

		if (btf_is_mod(type) || btf_is_typedef(type))
			id = type->type;
		else if (elements && btf_is_array(type))
			id = btf_array(type)->type;
		else
			return id;
	}
}

/*
 * The members that @relocation names, outermost first. Returns their number; sets *@last to the
 * object's type of the last one. 0: it names none.
 */
static inline int names_of(const struct read_object *object, const struct relocation *relocation,
			   const char *names[FIELD_DEPTH], uint32_t *last)
{
	const char *access = btf__name_by_offset(object->types, relocation->access);
	uint32_t id = bare_type(object->types, relocation->type, false);
	int n = 0;

	if (relocation->kind > RELOCATES_FIELD_MAX)
		return 0;
	for (access = strchr(access, ':'); access; access = strchr(access + 1, ':')) {
		const struct btf_type *type = btf__type_by_id(object->types, id);

		if (btf_is_composite(type)) {
			const struct btf_member *member = btf_members(type) + atoi(access + 1);

			assert_true(n < FIELD_DEPTH);
			names[n++] = btf__name_by_offset(object->types, member->name_off);
			*last = member->type;
			id = bare_type(object->types, member->type, false);
		} else if (btf_is_array(type)) {
			id = bare_type(object->types, btf_array(type)->type, false);
		}
	}
	return n;
}

/* The member @name of type @id, or of an anonymous member of it. */
static inline bool find_member(const struct btf *types, uint32_t id, const char *name,
			       struct field *field)
{
	const struct btf_type *type = btf__type_by_id(types, id);

	for (int i = 0; btf_is_composite(type) && i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;

		if (!strcmp(btf__name_by_offset(types, member->name_off), name)) {
			field->type = id;
			field->member = i;
			return true;
		}
		if (!member->name_off &&
		    find_member(types, bare_type(types, member->type, false), name, field))
			return true;
	}
	return false;
}

static inline size_t name_length(const char *name)
{
	const char *flavor = strstr(name, "___");

	return flavor ? (size_t)(flavor - name) : strlen(name);
}

/* Sets @field to where @n members of @names lead from a struct @root of the kernel. */
static inline bool find_field(const struct btf *kernel, const char *root, const char **names, int n,
			      struct field *field)
{
	for (uint32_t id = 1; id < btf__type_cnt(kernel); id++) {
		const struct btf_type *type = btf__type_by_id(kernel, id);
		const char *name = btf__name_by_offset(kernel, type->name_off);
		uint32_t at = id;
		int depth = 0, length;

		if (!btf_is_composite(type) || strlen(name) != name_length(root) ||
		    strncmp(name, root, name_length(root)) != 0)
			continue;
		length = snprintf(field->name, sizeof(field->name), "%s", name);
		for (; depth < n && find_member(kernel, at, names[depth], field); depth++) {
			const struct btf_type *owner = btf__type_by_id(kernel, field->type);

			at = bare_type(kernel, btf_members(owner)[field->member].type, true);
			length +=
				snprintf(field->name + length, sizeof(field->name) - (size_t)length,
					 ".%s", names[depth]);
		}
		if (depth == n)
			return true;
	}
	return false;
}

/*
 * Sets @fields to the fields that @object reads, and those that they are in, of which @kernel has
 * them. Returns their number, at most @max.
 */
static inline size_t fields_of(const struct read_object *object, const struct btf *kernel,
			       struct field *fields, size_t max)
{
	size_t n_fields = 0;

	for (size_t i = 0; i < object->relocations.n; i++) {
		const struct relocation *relocation = &object->relocations.data[i];
		const char *names[FIELD_DEPTH];
		uint32_t last;
		int n = names_of(object, relocation, names, &last);
		const char *root = btf__name_by_offset(
			object->types, btf__type_by_id(object->types, relocation->type)->name_off);

		for (int depth = 1; depth <= n; depth++) {
			struct field field;
			size_t known = 0;

			if (!find_field(kernel, root, names, depth, &field))
				break;
			while (known < n_fields && (fields[known].type != field.type ||
						    fields[known].member != field.member))
				known++;
			if (known < n_fields)
				continue;
			assert_true(n_fields < max);
			fields[n_fields++] = field;
		}
	}
	return n_fields;
}

enum mutation { REMOVED, NARROWED, OTHER_SIGN, NARROWED_OTHER_SIGN, MUTATIONS };

/* The type of an integer of @size bytes, signed or not as @encoding says. */
static inline int integer(struct btf *types, size_t size, int encoding)
{
	return btf__add_int(types, encoding ? "signed" : "unsigned", size, encoding);
}

/* The type that takes the place of @type; 0: the mutation does not apply to it. */
static inline int mutated_type(struct btf *types, uint32_t id, enum mutation mutation)
{
	struct btf_type type = *btf__type_by_id(types, id);
	bool narrow = mutation != OTHER_SIGN, turn = mutation != NARROWED;
	int encoding;

	if (btf_kind(&type) == BTF_KIND_ARRAY && mutation == NARROWED) {
		struct btf_array array = *btf_array(btf__type_by_id(types, id));

		return array.nelems < 2 ? 0
					: btf__add_array(types, (int)array.index_type,
							 (int)array.type, (int)array.nelems / 2);
	}
	if (btf_kind(&type) == BTF_KIND_ENUM && mutation == NARROWED)
		return btf__add_enum(types, btf__name_by_offset(types, type.name_off), 1);
	if (btf_kind(&type) != BTF_KIND_INT || (narrow && type.size == 1))
		return 0;
	encoding = btf_int_encoding(btf__type_by_id(types, id)) & BTF_INT_SIGNED;
	return integer(types, narrow ? 1 : type.size, turn ? encoding ^ BTF_INT_SIGNED : encoding);
}

/* A copy of @kernel with @field mutated; NULL: the mutation does not apply to it. */
static inline struct btf *mutated_types(const struct btf *kernel, const struct field *field,
					enum mutation mutation)
{
	uint32_t size;
	const void *raw = btf__raw_data(kernel, &size);
	struct btf *types = btf__new(raw, size);
	struct btf_member *member;
	struct btf_type *owner;
	int id = 0, name = 0;

	assert_non_null(types);
	owner = (struct btf_type *)btf__type_by_id(types, field->type);
	member = btf_members(owner) + field->member;
	if (mutation == REMOVED)
		name = btf__add_str(types, "removed_by_a_test");
	else if (!btf_member_bitfield_size(owner, (uint32_t)field->member) ||
		 mutation == OTHER_SIGN)
		id = mutated_type(types, bare_type(types, member->type, false), mutation);
	if (!name && !id) {
		btf__free(types);
		return NULL;
	}
	/* Additions move what there is. */
	owner = (struct btf_type *)btf__type_by_id(types, field->type);
	member = btf_members(owner) + field->member;
	if (name)
		member->name_off = (uint32_t)name;
	else
		member->type = (uint32_t)id;
	return types;
}

/* Writes @types to a file in memory, and sets @path to its name. Returns its descriptor. */
static inline int types_file(const struct btf *types, char path[32])
{
	uint32_t size;
	const void *raw = btf__raw_data(types, &size);
	int fd = memfd_create("types", MFD_CLOEXEC);

	assert_int_equal(write(fd, raw, size), size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}
