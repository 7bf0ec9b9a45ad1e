/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Unwind tables, built in user space from .eh_frame, read by the kernel side. A row has the unwind
 * rule for the code from its pc up to the next row's. Registers have roles: SP is the stack
 * pointer, FP the frame pointer, LINK a register that may have the return address. arch/ says which
 * they are, and where the return address is (arch/unwind_step.h).
 */
#pragma once

#include <linux/types.h>

/* How the canonical frame address (the caller's stack pointer) is computed. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,	    /* no unwind information here (a gap between functions) */
	UNWIND_CFA_SP = 1,	    /* SP + cfa * 8 */
	UNWIND_CFA_FP = 2,	    /* FP + cfa * 8 */
	UNWIND_CFA_FP_DEREF = 3,    /* *(FP + cfa * 8): functions that realign their stack */
	UNWIND_CFA_SP_DEREF = 4,    /* *(SP + cfa * 8) */
	UNWIND_CFA_PLT = 5,	    /* SP + 8 + ((pc & 15) >= cfa ? 8 : 0): entries of .plt */
	UNWIND_CFA_SIGNAL = 6,	    /* a struct ucontext at SP has all registers */
	UNWIND_CFA_END = 7,	    /* the outermost frame: _start, clone */
	UNWIND_CFA_UNSUPPORTED = 8, /* a rule that is not handled (another register, ...) */
	UNWIND_CFA_SP_LINK = 9,	    /* SP + cfa * 8; the return address is in LINK: vfork */
	UNWIND_CFA_SP_DEREF_8 = 10, /* *(SP + cfa * 8) + 8: OpenSSL's assembly */
	UNWIND_CFA_FP_SWITCH = 11,  /* FP + cfa * 8, in another stack: Go's systemstack */
};

/* Where the caller's FP is. */
enum unwind_fp {
	UNWIND_FP_SAME = 0,    /* still in FP */
	UNWIND_FP_CFA = 1,     /* at CFA + fp * 8 */
	UNWIND_FP_UNKNOWN = 2, /* undefined, or an unsupported rule */
	UNWIND_FP_FRAME = 3,   /* at FP + fp * 8: functions that realign their stack */
};

struct unwind_row {
	__u32 pc;  /* virtual address in the ELF file */
	__s16 cfa; /* in units of 8 bytes (for UNWIND_CFA_PLT: a plain number) */
	__s8 fp;   /* in units of 8 bytes, relative to the CFA */
	__u8 rule; /* enum unwind_cfa | enum unwind_fp << 4 */
};

_Static_assert(sizeof(struct unwind_row) == 8, "unwind_row");

/*
 * Tables have numbers: generation * UNWIND_MAX_TABLES + slot. The slot has the rows; its generation
 * counts the files that had it before. 0 is code of no file.
 */
#define UNWIND_MAX_TABLES    4096		     /* slots, a power of two */
#define UNWIND_TABLE_MISSING (UNWIND_MAX_TABLES - 1) /* of files without a table */
#define UNWIND_TABLE_PENDING (UNWIND_MAX_TABLES - 2) /* of files that user space has not seen */
#define UNWIND_SLOT(number)  ((number) & (UNWIND_MAX_TABLES - 1))

/* A position in code: the slot of its file's table << 32 | its virtual address in the file. */
#define UNWIND_CODE(slot, pc) ((__u64)(slot) << 32 | (__u32)(pc))

/* An executable mapping: [start, end), virtual address in the file = address - bias. */
struct unwind_mapping {
	__u64 start;
	__u64 end;
	__u64 bias;
	__u32 table;  /* its number */
	__u32 n_rows; /* 0: no table */
};

/* A process's mappings: a run of the pool of all mappings, sorted by start. */
struct unwind_process {
	__u32 first;
	__u32 n;
	__u32 deferred_left; /* deferred unwinds still allowed, see UNWIND_DEFERRED_MAX */
};

/* Identifies a file that has a table. */
struct unwind_file_key {
	__u64 inode;
	__u64 size;   /* bytes: detects most files that reuse an inode number */
	__u64 device; /* major << 20 | minor */
};

struct unwind_file {
	__u32 table;
	__u32 n_rows;
	__s64 bias; /* virtual address of code in the file = offset + bias */
};

/* The most deferred unwinds of a process between two changes of its mappings. */
#define UNWIND_DEFERRED_MAX 512

/* Capacities of the kernel side. */
#define UNWIND_MAX_MAPPINGS  (1 << 17) /* executable mappings of all processes: 4 MiB */
#define UNWIND_MAX_PROCESSES (1 << 15)

#define UNWIND_RULE(cfa_, fp_) ((cfa_) | (fp_) << 4)
#define UNWIND_CFA(row)	       ((row)->rule & 0xf)
#define UNWIND_FP(row)	       ((row)->rule >> 4)
