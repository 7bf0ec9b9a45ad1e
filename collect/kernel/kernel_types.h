/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's types that a BPF object's programs read. For each structure, libbpf searches all
 * types that it is given, and the kernel has 150,000: 20% of the CPU time of a short recording.
 */
#pragma once

#include <stddef.h>

#include <bpf/btf.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free)

/*
 * Copies the structs and unions of @kernel that have the name of one in the ELF object @object (of
 * @size bytes), with the members that have the name of any member there, and the types of these
 * members; to a file in memory, for bpf_object_open_opts.btf_custom_path. Pointers become void *;
 * typedefs and enumerators are left out. Returns the file's descriptor, or a negative errno;
 * -ENOENT: a type may be in a module, where libbpf finds it if it has no file.
 */
int kernel_types__open(const struct btf *kernel, const void *object, size_t size);
