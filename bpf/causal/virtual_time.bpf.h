/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The causal engine in the kernel, all of it: virtual time. docs/virtual-time.md has the
 * reasoning.
 */
#pragma once

#include "bpf/causal/pay.bpf.h"
#include "bpf/causal/visits.bpf.h"
