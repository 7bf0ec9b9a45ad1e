/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* A text as by printf(), malloc()ed. NULL: no memory. */
char *causal_text__new(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
