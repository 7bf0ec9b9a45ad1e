/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine code of aarch64: PLT stubs only, see arch/README.md. */
#pragma once

#include "arch/processor.h"

extern const struct processor processor_aarch64;
