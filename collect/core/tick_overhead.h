/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * What the interrupt of a sampling clock costs besides the program that it runs, in ns: the
 * kernel side cannot see it. Measured in a few ms, with a clock of this thread's own that runs no
 * program, as gaps in the time that the thread sees pass. 0: there are no such clocks.
 */
uint64_t tick_overhead__measure(void);
