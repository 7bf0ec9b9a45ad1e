/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The variables that user space and every product's programs share, see abi/capture.h. */
#pragma once

#include "abi/capture.h"
#include "bpf/core/kernel.bpf.h"

const volatile struct capture_settings settings SEC(CAPTURE_SETTINGS_SECTION) = {};
struct capture_state capture SEC(CAPTURE_STATE_SECTION) = {};
struct capture_cpu capture_cpus[CAPTURE_MAX_CPUS] SEC(CAPTURE_CPUS_SECTION) = {};
