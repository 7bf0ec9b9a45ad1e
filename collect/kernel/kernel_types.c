// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/kernel_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbols/elf/elf_file.h"

struct copy {
	const struct btf *from;
	struct btf *to;
	struct intern structs; /* names of those that are wanted */
	struct intern members;
	struct map64 ids; /* in @to, of types of @from */
	int pointer;	  /* id of void * in @to; 0: not added yet */
};

static void copy_free(struct copy *copy)
{
	btf__free(copy->to);
	intern__free(&copy->structs);
	intern__free(&copy->members);
	map64__free(&copy->ids);
}

static struct btf *types_of_object(const void *object, size_t size)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	Elf_Scn *section;
	const Elf_Data *data;

	if (elf_file__open_memory(object, size, &file))
		return NULL;
	section = elf_file__section(file, BTF_ELF_SEC, NULL);
	data = section ? elf_getdata(section, NULL) : NULL;
	return data ? btf__new(data->d_buf, (__u32)data->d_size) : NULL;
}

/* Length of a type's name without the flavor behind "___", of which CO-RE takes no notice. */
static size_t essential_length(const char *name)
{
	const char *flavor = strstr(name, "___");

	return flavor ? (size_t)(flavor - name) : strlen(name);
}

static int want_members(struct copy *copy, const struct btf *btf, const struct btf_type *type)
{
	const struct btf_member *members = btf_members(type);

	for (int i = 0; i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, members[i].name_off);

		if (*name && intern__id(&copy->members, name, strlen(name), NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int want_types(struct copy *copy, const struct btf *object)
{
	for (__u32 id = 1; id < btf__type_cnt(object); id++) {
		const struct btf_type *type = btf__type_by_id(object, id);
		const char *name = btf__name_by_offset(object, type->name_off);
		int err;

		if (!btf_is_composite(type))
			continue;
		if (*name && intern__id(&copy->structs, name, essential_length(name), NULL) < 0)
			return -ENOMEM;
		err = want_members(copy, object, type);
		if (err)
			return err;
	}
	return 0;
}

static int copy_type(struct copy *copy, __u32 id);

static bool is_wanted_member(const struct copy *copy, const char *name)
{
	return !*name || intern__find(&copy->members, name, strlen(name)) >= 0;
}

/* Members are added to the last type only: their types have to be there before. */
static int copy_member_types(struct copy *copy, const struct btf_type *type)
{
	const struct btf_member *members = btf_members(type);

	for (int i = 0; i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(copy->from, members[i].name_off);
		int id = is_wanted_member(copy, name) ? copy_type(copy, members[i].type) : 0;

		if (id < 0)
			return id;
	}
	return 0;
}

static int copy_composite(struct copy *copy, const struct btf_type *type)
{
	const struct btf_member *members = btf_members(type);
	const char *name = btf__name_by_offset(copy->from, type->name_off);
	int err = copy_member_types(copy, type), id;

	if (err)
		return err;
	id = btf_is_struct(type) ? btf__add_struct(copy->to, name, type->size)
				 : btf__add_union(copy->to, name, type->size);
	for (int i = 0; i < btf_vlen(type) && id > 0 && !err; i++) {
		name = btf__name_by_offset(copy->from, members[i].name_off);
		if (is_wanted_member(copy, name))
			err = btf__add_field(copy->to, name, copy_type(copy, members[i].type),
					     btf_member_bit_offset(type, i),
					     btf_member_bitfield_size(type, i));
	}
	return err ? err : id;
}

static int copy_array(struct copy *copy, const struct btf_array *array)
{
	int index = copy_type(copy, array->index_type);
	int element = index < 0 ? index : copy_type(copy, array->type);

	return element < 0 ? element : btf__add_array(copy->to, index, element, (int)array->nelems);
}

static int copy_pointer(struct copy *copy)
{
	if (!copy->pointer)
		copy->pointer = btf__add_ptr(copy->to, 0);
	return copy->pointer;
}

static int copy_new(struct copy *copy, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(copy->from, type->name_off);

	switch (btf_kind(type)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_composite(copy, type);
	case BTF_KIND_ARRAY:
		return copy_array(copy, btf_array(type));
	case BTF_KIND_PTR:
		return copy_pointer(copy);
	case BTF_KIND_INT:
		return btf__add_int(copy->to, name, type->size, btf_int_encoding(type));
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return btf__add_enum(copy->to, name, type->size);
	case BTF_KIND_FLOAT:
		return btf__add_float(copy->to, name, type->size);
	default:
		return -ENOTSUP;
	}
}

/* The id in copy->to of type @id of copy->from, without typedefs and modifiers; or a negative
 * errno. */
static int copy_type(struct copy *copy, __u32 id)
{
	const struct btf_type *type = btf__type_by_id(copy->from, id);
	const uint64_t *known;
	int added;

	while (type && (btf_is_mod(type) || btf_is_typedef(type))) {
		id = type->type;
		type = btf__type_by_id(copy->from, id);
	}
	if (!type)
		return -EINVAL;
	if (btf_is_void(type))
		return 0;
	known = map64__get(&copy->ids, id);
	if (known)
		return (int)*known;
	added = copy_new(copy, type);
	if (added > 0 && !map64__put(&copy->ids, id, (uint64_t)added))
		return -ENOMEM;
	return added;
}

/* Whether a type that the object wants is not among those of @kernel, because it may be a module's.
 */
static bool may_lack_module(const struct copy *copy)
{
	static const char unix_sock[] = "unix_sock";

	return intern__find(&copy->structs, unix_sock, strlen(unix_sock)) >= 0 &&
	       btf__find_by_name_kind(copy->to, unix_sock, BTF_KIND_STRUCT) < 0;
}

static int copy_wanted(struct copy *copy)
{
	for (__u32 id = 1; id < btf__type_cnt(copy->from); id++) {
		const struct btf_type *type = btf__type_by_id(copy->from, id);
		const char *name;
		int added;

		if (!btf_is_composite(type) || !type->name_off)
			continue;
		name = btf__name_by_offset(copy->from, type->name_off);
		if (intern__find(&copy->structs, name, essential_length(name)) < 0)
			continue;
		added = copy_type(copy, id);
		if (added < 0)
			return added;
	}
	return may_lack_module(copy) ? -ENOENT : 0;
}

static int write_to_memory(const struct btf *btf)
{
	_cleanup_close_ int fd = memfd_create("types", MFD_CLOEXEC);
	__u32 size;
	const void *data = btf__raw_data(btf, &size);

	if (fd < 0 || !data)
		return -errno;
	for (__u32 done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);

		if (n < 0)
			return -errno;
		done += (__u32)n;
	}
	return TAKE_FD(fd);
}

int kernel_types__open(const struct btf *kernel, const void *object, size_t size)
{
	_cleanup_(copy_free) struct copy copy = {.from = kernel, .to = btf__new_empty()};
	_cleanup_(btf__freep) struct btf *types = types_of_object(object, size);
	int err;

	if (!copy.to || !types)
		return -EINVAL;
	err = want_types(&copy, types);
	if (!err)
		err = copy_wanted(&copy);
	return err ? err : write_to_memory(copy.to);
}
