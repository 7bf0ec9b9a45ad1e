/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's JSON (https://www.speedscope.app/file-format-schema.json): a profile of type
 * `sampled` for each thread, in order of time, weights in ns. The innermost frame of time off the
 * CPU is its class and kind: "[lock] futex", "[other] epoll (idle)".
 */
#pragma once

#include "render/export/export.h"

/* Returns 0 or -ENOMEM; errors of @to stay in it. */
int speedscope__write(const struct export *export, FILE *to);
