/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine code of x86-64. Internal to arch/. */
#pragma once

#include "arch/processor.h"

/* With which functions and stubs begin, for indirect branch tracking. */
#define ENDBR64	      "\xf3\x0f\x1e\xfa"
#define ENDBR64_BYTES 4

extern const struct processor processor_x86_64;
extern const struct processor_instructions x86_64_instructions;
extern const struct processor_unwind x86_64_unwind;
