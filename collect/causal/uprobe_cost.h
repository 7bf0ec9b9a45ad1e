/* SPDX-License-Identifier: BSD-2-Clause */
/* What it takes to count a visit by a uprobe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <bpf/libbpf.h>

/*
 * ns that a visit of a uprobe with @program takes of a CPU, with an instruction that the kernel
 * emulates, or one that is @single_stepped. Takes some ms. 0: it cannot be measured.
 */
uint64_t uprobe_cost__measure(struct bpf_program *program, bool single_stepped);
