/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof's profile.proto, gzipped: https://github.com/google/pprof, proto/profile.proto. */
#pragma once

#include "render/export/export.h"

/*
 * Writes time on the CPU ("cpu"), blocked ("off_cpu") and in the run queue ("run_queue") as three
 * values, in ns. Samples with the same stack and the same labels are one. Returns 0 or -ENOMEM;
 * errors of @to stay in it.
 */
int pprof__write(const struct export *export, FILE *to);
