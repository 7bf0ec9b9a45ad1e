/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* System V ABI, AMD64 supplement, section 3.2. */
#pragma once

#define RED_ZONE    128
#define CALL_PUSHES 8
#define RETURN_AT   (-8)
#define ENTRY_CFA   1
#define SAVED_FP    (-2)

/* Registers 10 (rbp), 15 (rsp) and 16 (rip) of uc_mcontext. */
#define SIGNAL_FP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168
