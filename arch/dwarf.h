/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF's numbers of the registers that unwind rows have roles for. A processor defines
 *
 * - DWARF_SP, DWARF_FP: stack pointer and frame pointer
 * - DWARF_RETURN: the column of the return address
 * - DWARF_LINK: the register that has the return address where UNWIND_CFA_SP_LINK is the rule
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/dwarf.h"
#else
#error "arch/README.md: the registers of this processor are not known"
#endif
