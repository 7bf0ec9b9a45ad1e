/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches a program to many places in a file. On kernels with multi-uprobes (6.6) with one link: a
 * visit costs a third less, and detaching, for which the kernel waits, does not take 0.1 s for
 * each place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "collect/kernel/kernel.h"

struct bpf_program;

struct uprobe_place {
	uint64_t offset; /* in the file */
	uint64_t cookie;
	uint64_t semaphore; /* its offset in the file (USDT); 0: none */
};

struct uprobes;

/* To be called before @program, a uprobe or uretprobe, is loaded. */
void uprobes__prepare(struct bpf_program *program, const struct kernel_info *kernel);

/*
 * Attaches @program to @n places of the file open at @fd, for all processes; @at_return: to the
 * returns of the functions whose entries they are. Places that the kernel refuses are left out;
 * *@refused is set to their number. Returns 0, or a negative errno: all were refused, or -ENOMEM.
 */
int uprobes__attach(struct bpf_program *program, const struct kernel_info *kernel, int fd,
		    const struct uprobe_place *places, size_t n, bool at_return, size_t *refused,
		    struct uprobes **out);

/* Detaches. The kernel waits until the program runs nowhere, some 30 ms. NULL is ignored. */
void uprobes__free(struct uprobes *uprobes);
DEFINE_CLEANUP(struct uprobes *, uprobes__free)
