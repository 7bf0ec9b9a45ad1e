// SPDX-License-Identifier: BSD-2-Clause
/*
 * other_types FILE OLD=NEW... writes the running kernel's types to FILE, in which what is called
 * OLD is called NEW: a function, typedef or structure, or "task_struct.on_rq", a member of a
 * structure. Mounted over /sys/kernel/btf/vmlinux, it makes dwell believe that the kernel is
 * another: one that lacks OLD, or whose function NEW is the one that here is OLD. Types keep their
 * numbers, by which programs are attached.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

static void fail(const char *what, const char *name)
{
	fprintf(stderr, "other_types: %s: %s\n", what, name);
	exit(1);
}

static bool is_named(const struct btf *types, __u32 name_off, const char *name)
{
	return !strcmp(btf__name_by_offset(types, name_off), name);
}

/* Renames member @name of type @id, or of an anonymous member of it. */
static int rename_member(struct btf *types, __u32 id, const char *name, int to)
{
	struct btf_type *type = (struct btf_type *)btf__type_by_id(types, id);

	for (int i = 0; btf_is_composite(type) && i < btf_vlen(type); i++) {
		struct btf_member *member = btf_members(type) + i;

		if (is_named(types, member->name_off, name)) {
			member->name_off = (__u32)to;
			return 1;
		}
		if (!member->name_off && rename_member(types, member->type, name, to))
			return 1;
	}
	return 0;
}

/* Returns how many have had that name. */
static int rename_type(struct btf *types, const char *name, const char *member, int to)
{
	int renamed = 0;

	for (__u32 id = 1; id < btf__type_cnt(types); id++) {
		struct btf_type *type = (struct btf_type *)btf__type_by_id(types, id);

		if (!type->name_off || !is_named(types, type->name_off, name))
			continue;
		if (member) {
			renamed += rename_member(types, id, member, to);
		} else if (btf_is_func(type) || btf_is_typedef(type) || btf_is_composite(type)) {
			type->name_off = (__u32)to;
			renamed++;
		}
	}
	return renamed;
}

static void rename_by(struct btf *types, char *change)
{
	char *to = strchr(change, '='), *member = strchr(change, '.');
	int name;

	if (!to)
		fail("no '='", change);
	*to++ = '\0';
	if (member)
		*member++ = '\0';
	name = btf__add_str(types, to);
	if (name <= 0)
		fail("cannot add a string", to);
	if (!rename_type(types, change, member, name))
		fail("not in this kernel's types", member ? member : change);
}

int main(int argc, char **argv)
{
	struct btf *types = btf__load_vmlinux_btf();
	const void *raw;
	FILE *file;
	__u32 size;

	if (!types || argc < 2)
		fail("cannot read", "this kernel's types");
	for (int i = 2; i < argc; i++)
		rename_by(types, argv[i]);
	raw = btf__raw_data(types, &size);
	file = fopen(argv[1], "we");
	if (!raw || !file || fwrite(raw, size, 1, file) != 1 || fclose(file))
		fail("cannot write", argv[1]);
	btf__free(types);
	return 0;
}
