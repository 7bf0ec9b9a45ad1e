/* SPDX-License-Identifier: BSD-2-Clause */
/* The causes of RECORD_LOST that the kernel side counts, as they are written, and what others mean.
 */
#pragma once

#include <stdbool.h>

#include "abi/event.h"

/* The cause of @loss. */
const char *loss_cause__text(enum loss loss);

/*
 * Whether waits may be missing, or wakeups, for @cause of a recording. Not so if only stacks or
 * names are, or what the kernel hid, which is told apart.
 */
bool loss_cause__hides_waits(const char *cause);
