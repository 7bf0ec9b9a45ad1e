/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "render/export/export.h"

/*
 * Writes @export as a Perfetto trace (ui.perfetto.dev, trace_processor): protobuf packets.
 *
 * Waits are slices on the track of their thread, with the class as category, and a callstack. Time
 * on the CPU is stack samples with weights. In trace mode there are scheduling events, too, of
 * which Perfetto makes the states of threads, with wakers: those of the recorded threads, so that
 * on a CPU other threads look like idle time. Sampled recordings do not tell when threads run, and
 * have none.
 *
 * Packets are not in the order of time, which Perfetto does not need. Returns 0 or -errno, of which
 * -EIO is of @to.
 */
int perfetto__write(const struct export *export, FILE *to);
