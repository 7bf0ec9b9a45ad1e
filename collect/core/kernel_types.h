/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's types that a BPF object's programs read. For each structure, libbpf searches all
 * types that it is given, and the kernel has 150,000: 20% of the CPU time of a short recording.
 */
#pragma once

#include <stddef.h>

struct btf;

/*
 * Writes those of @kernel's types that CO-RE can look for in the name of the ELF object @object, of
 * @size bytes, to a file in memory, for bpf_object_open_opts.btf_custom_path: structs and unions
 * that have the name of one of the object's, with those members whose name one of the object's
 * members has, and what these need. Pointers point to void. Returns the file's descriptor, or a
 * negative errno.
 */
int kernel_types__open(const struct btf *kernel, const void *object, size_t size);
