/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures what the interrupt of a sampling clock costs. */
#pragma once

#include <stdint.h>

/*
 * The cost in ns of the interrupt, without its BPF program: the kernel side cannot measure it.
 * Takes a few ms: the thread opens a clock without a program, and looks for gaps while it reads the
 * time. 0: the clock cannot be opened.
 */
uint64_t tick_overhead__measure(void);
