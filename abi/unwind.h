/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A row of an unwind table: how to find the caller of the code from its pc up
 * to the next row's. Built in user space from .eh_frame, read by the kernel
 * side. x86-64: the return address is at CFA - 8, unless the rule says otherwise.
 */
#pragma once

#include <linux/types.h>

/* How the canonical frame address (the caller's stack pointer) is computed. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,	     /* no unwind information here (a gap between functions) */
	UNWIND_CFA_RSP = 1,	     /* rsp + cfa * 8 */
	UNWIND_CFA_RBP = 2,	     /* rbp + cfa * 8 */
	UNWIND_CFA_RBP_DEREF = 3,    /* *(rbp + cfa * 8): functions that realign their stack */
	UNWIND_CFA_RSP_DEREF = 4,    /* *(rsp + cfa * 8) */
	UNWIND_CFA_PLT = 5,	     /* rsp + 8 + ((rip & 15) >= cfa ? 8 : 0): entries of .plt */
	UNWIND_CFA_SIGNAL = 6,	     /* rsp is at a struct ucontext: all registers are there */
	UNWIND_CFA_END = 7,	     /* the outermost frame: _start, clone */
	UNWIND_CFA_UNSUPPORTED = 8,  /* a rule that is not handled (another register ...) */
	UNWIND_CFA_RSP_RDI = 9,	     /* rsp + cfa * 8, and the return address is in rdi: vfork */
	UNWIND_CFA_RSP_DEREF_8 = 10, /* *(rsp + cfa * 8) + 8: OpenSSL's assembly */
};

/* Where the caller's rbp is. */
enum unwind_rbp {
	UNWIND_RBP_SAME = 0,	/* still in rbp */
	UNWIND_RBP_CFA = 1,	/* at CFA + rbp * 8 */
	UNWIND_RBP_UNKNOWN = 2, /* undefined, or an unsupported rule */
	UNWIND_RBP_FRAME = 3,	/* at rbp + rbp * 8: functions that realign their stack */
};

struct unwind_row {
	__u32 pc;  /* virtual address in the ELF file */
	__s16 cfa; /* in units of 8 bytes (for UNWIND_CFA_PLT: a plain number) */
	__s8 rbp;  /* in units of 8 bytes, relative to the CFA */
	__u8 rule; /* enum unwind_cfa | enum unwind_rbp << 4 */
};

_Static_assert(sizeof(struct unwind_row) == 8, "unwind_row");

/*
 * Tables go by numbers: the slot that holds the rows, and above it how often the
 * slot had been given to another file before. 0 is code of no file.
 */
#define UNWIND_MAX_TABLES    4096		     /* slots, a power of two */
#define UNWIND_TABLE_MISSING (UNWIND_MAX_TABLES - 1) /* stands for that of a file without */
#define UNWIND_TABLE_NOT_YET (UNWIND_MAX_TABLES - 2) /* of one that user space has not seen */
#define UNWIND_SLOT(number)  ((number) & (UNWIND_MAX_TABLES - 1))

/* Code in a file: the slot of its table << 32 | its virtual address in the file. */
#define UNWIND_CODE(slot, pc) ((__u64)(slot) << 32 | (__u32)(pc))

/* An executable mapping: [start, end), virtual address in the file = address - bias. */
struct unwind_mapping {
	__u64 start;
	__u64 end;
	__u64 bias;
	__u32 table;  /* its number */
	__u32 n_rows; /* 0: no table */
};

/* Where a process's mappings lie in the pool of all mappings, by start. */
struct unwind_process {
	__u32 first;
	__u32 n;
	__u32 helps; /* deferred unwinds that are left to it, see UNWIND_HELPS */
};

/* A file that has a table, by what identifies a file in the kernel. */
struct unwind_file_key {
	__u64 inode;
	__u64 size;   /* bytes: another file that was given the number has another */
	__u64 device; /* major << 20 | minor */
};

struct unwind_file {
	__u32 table;
	__u32 n_rows;
	__s64 bias; /* virtual address of code in the file = offset + bias */
};

/* Deferred unwinds of a process, at most, after each change of its mappings. */
#define UNWIND_HELPS 512

/* Limits of what the kernel side holds. */
#define UNWIND_MAX_MAPPINGS  (1 << 17) /* executable mappings of all processes: 4 MiB */
#define UNWIND_MAX_PROCESSES (1 << 15)

#define UNWIND_RULE(cfa_, rbp_) ((cfa_) | (rbp_) << 4)
#define UNWIND_CFA(row)		((row)->rule & 0xf)
#define UNWIND_RBP(row)		((row)->rule >> 4)
