/* SPDX-License-Identifier: BSD-2-Clause */
/* System V ABI, AMD64 supplement, figure 3.36. */
#pragma once

#define DWARF_LINK   5 /* rdi: the child of vfork() overwrites the stack, with the return address */
#define DWARF_FP     6
#define DWARF_SP     7
#define DWARF_RETURN 16
