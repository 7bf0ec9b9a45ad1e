/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel side kept of the block devices, read when a recording ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"

/* The sampling points that an idle time is held against, see abi/grid.h. */
struct devices_grid {
	uint32_t period_ns;
	uint8_t spacing; /* they lie 2^spacing periods apart */
	uint64_t seed;
	bool trace; /* idle times without a sampling point are sent, too */
};

/*
 * Tells of each device in the map @fd: the idle time that it is in at @now, if any, and
 * what it did until then, as events of the kernel side.
 */
void devices__read(int fd, const struct devices_grid *grid, uint64_t now,
		   void (*on_event)(void *arg, const struct event_header *event, size_t size),
		   void *arg);
