/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Reads fields of kernel structures as wide as the running kernel has them.
 *
 * CO-RE relocates where a field is. Its width and sign are those of dwell's declaration: where
 * Linux 7.2 made a byte of an int, a read of four bytes gets its neighbors, too; and libbpf changes
 * the width of a load only if both types are unsigned. So the values of fields are read by the
 * macros below, which convert from the kernel's type to the declared one, as C does. Pointers,
 * arrays and structures have one form in all kernels; where a field is of another kind, CO-RE does
 * not find it.
 *
 * The declared type is the widest that a kernel has, or wide enough for what is used of the value.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* A field's @info of enum bpf_field_info_kind, a constant in the loaded program. */
#define FIELD_INFO(object, field, info)                                                            \
	__builtin_preserve_field_info((object)->field, BPF_FIELD_##info)

/* The bytes at the field, which may be those of other bit fields, too. */
#define FIELD_BYTES(object, field)                                                                 \
	({                                                                                         \
		const void *at = (const void *)(object) + FIELD_INFO(object, field, BYTE_OFFSET);  \
		__u64 bytes;                                                                       \
                                                                                                   \
		/* Or each load would be relocated by itself, and have the declared width. */      \
		asm("" : "+r"(at));                                                                \
		switch (FIELD_INFO(object, field, BYTE_SIZE)) {                                    \
		case 1:                                                                            \
			bytes = *(const __u8 *)at;                                                 \
			break;                                                                     \
		case 2:                                                                            \
			bytes = *(const __u16 *)at;                                                \
			break;                                                                     \
		case 4:                                                                            \
			bytes = *(const __u32 *)at;                                                \
			break;                                                                     \
		default:                                                                           \
			bytes = *(const __u64 *)at;                                                \
			break;                                                                     \
		}                                                                                  \
		bytes;                                                                             \
	})

/* From @bytes to the value of the field: the highest bit that it has is that of its sign. */
#define FIELD_EXTEND(object, field, bytes)                                                         \
	({                                                                                         \
		__u64 highest = (bytes) << FIELD_INFO(object, field, LSHIFT_U64);                  \
                                                                                                   \
		FIELD_INFO(object, field, SIGNED)                                                  \
		? (__u64)((__s64)highest >> FIELD_INFO(object, field, RSHIFT_U64))                 \
		: highest >> FIELD_INFO(object, field, RSHIFT_U64);                                \
	})

/* Whether the running kernel has the field as wide as it is declared, as is usual. */
#define FIELD_IS_AS_DECLARED(object, field)                                                        \
	(FIELD_INFO(object, field, RSHIFT_U64) == 64 - 8 * sizeof((object)->field))

/*
 * The value of an integer. @object is a pointer that the verifier knows, such as an argument of a
 * program, but not its context. In the usual case, that is one load: libbpf makes the other one
 * invalid, and the verifier removes it, for every instruction that it sees takes time.
 */
#define FIELD(object, field)                                                                       \
	((typeof((object)->field))(FIELD_IS_AS_DECLARED(object, field)                             \
					   ? (object)->field                                       \
					   : (typeof((object)->field))FIELD_EXTEND(                \
						     object, field, FIELD_BYTES(object, field))))

/* The same of what is a bit field here. */
#define BIT_FIELD(object, field) FIELD_EXTEND(object, field, FIELD_BYTES(object, field))

/* The value of an integer by any pointer to kernel memory. 0: it is not readable. */
#define READ_FIELD(object, field)                                                                  \
	({                                                                                         \
		const typeof(*(object)) *from = (object);                                          \
		__u64 value = 0;                                                                   \
                                                                                                   \
		bpf_probe_read_kernel(&value, FIELD_INFO(from, field, BYTE_SIZE),                  \
				      (const void *)from + FIELD_INFO(from, field, BYTE_OFFSET));  \
		(typeof((object)->field))(FIELD_IS_AS_DECLARED(from, field)                        \
						  ? value                                          \
						  : FIELD_EXTEND(from, field, value));             \
	})

/* The same of what is a bit field here. */
#define READ_BIT_FIELD(object, field)                                                              \
	({                                                                                         \
		const typeof(*(object)) *from = (object);                                          \
		__u64 value = 0;                                                                   \
                                                                                                   \
		bpf_probe_read_kernel(&value, FIELD_INFO(from, field, BYTE_SIZE),                  \
				      (const void *)from + FIELD_INFO(from, field, BYTE_OFFSET));  \
		FIELD_EXTEND(from, field, value);                                                  \
	})

/* READ(task, thread_pid, level): the integer task->thread_pid->level. */
#define READ(...)		       ___bpf_apply(READ_, ___bpf_narg(__VA_ARGS__))(__VA_ARGS__)
#define READ_2(object, field)	       READ_FIELD(object, field)
#define READ_3(object, a, field)       READ_FIELD(BPF_CORE_READ(object, a), field)
#define READ_4(object, a, b, field)    READ_FIELD(BPF_CORE_READ(object, a, b), field)
#define READ_5(object, a, b, c, field) READ_FIELD(BPF_CORE_READ(object, a, b, c), field)

/* The size of a field, but at most that of the array @to. */
#define FIELD_SIZE_FOR(to, object, field)                                                          \
	({                                                                                         \
		__u32 size = FIELD_INFO(object, field, BYTE_SIZE);                                 \
                                                                                                   \
		size < sizeof(to) ? size : (__u32)sizeof(to);                                      \
	})

/* Copies the bytes of a field, of any type, to the array @to. */
#define READ_BYTES(to, object, field)                                                              \
	bpf_probe_read_kernel(to, FIELD_SIZE_FOR(to, object, field),                               \
			      (const void *)(object) + FIELD_INFO(object, field, BYTE_OFFSET))

/* Copies a field that is a string to the array @to. */
#define READ_STRING(to, object, field)                                                             \
	bpf_probe_read_kernel_str(to, FIELD_SIZE_FOR(to, object, field),                           \
				  (const void *)(object) + FIELD_INFO(object, field, BYTE_OFFSET))
