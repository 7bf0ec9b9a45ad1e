/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the kernel side's state of block devices at the end of a recording. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"

/* The sampling points of idle times, see abi/grid.h. */
struct devices_grid {
	uint32_t period_ns;
	uint8_t spacing; /* they lie 2^spacing periods apart */
	uint64_t seed;
	bool trace; /* pass on idle times without a sampling point, too */
};

/*
 * For each device in the map @fd, calls @on_event as if the kernel side had sent: an EVENT_IDLE, if
 * the device is idle at @now, and an EVENT_DEVICE with its totals until then.
 */
void devices__read(int fd, const struct devices_grid *grid, uint64_t now,
		   void (*on_event)(void *arg, const struct event_header *event, size_t size),
		   void *arg);
