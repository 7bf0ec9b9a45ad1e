/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of stacks by the functions in them, whatever their addresses. */
#pragma once

#include "model/model.h"

/* A hash of the functions of @stack from frame @from on; 0 is the innermost. */
uint64_t stack_hash__from(const struct model *model, const struct model_stack *stack, size_t from);

/* By stack: equal for stacks of the same functions. To be freed; NULL without memory. */
uint64_t *stack_hashes__make(const struct model *model);
