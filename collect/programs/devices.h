/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block devices as a source of events: at the end, passes to capture__event() for each device what
 * the kernel side would send if the device's state changed then: an EVENT_IDLE if it is idle, and
 * an EVENT_DEVICE with its totals.
 */
#pragma once

#include "collect/programs/event_source.h"

/* 0 or -ENOMEM. */
int devices__new(struct event_source *out);
