/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of enum stack_end, for all views. */
#pragma once

#include "abi/event.h"

/* For text: "address in no known mapping". */
const char *stack_end__text(enum stack_end end);

/* For JSON: "no_mapping". */
const char *stack_end__name(enum stack_end end);
