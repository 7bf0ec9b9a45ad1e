// SPDX-License-Identifier: BSD-2-Clause
#include "collect/programs/devices.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "abi/device.h"
#include "abi/grid.h"
#include "collect/programs/record_programs.h"

struct devices {
	struct capture *capture;
	int fd; /* of the map; the programs' */
};

/* The sampling points of idle times, see abi/grid.h. */
struct devices_grid {
	uint32_t period_ns;
	uint8_t spacing; /* they lie 2^spacing periods apart */
	uint64_t seed;
	bool trace; /* idle times without a sampling point are passed on, too */
};

/* The idle time of @state's device that has not ended at @now. */
static struct event_idle open_idle_time(const struct device_state *state,
					const struct devices_grid *grid, uint64_t now)
{
	uint32_t apart = grid->period_ns << grid->spacing;
	uint64_t points = sample_grid__points(state->idle_since, now, apart, grid->seed);

	return (struct event_idle){
		.header = {.type = EVENT_IDLE, .time = now},
		.since = state->idle_since,
		.device = state->totals.device,
		.points = (uint32_t)(points << grid->spacing),
		.flags = (uint16_t)(grid->spacing << INTERVAL_SPACING_SHIFT),
	};
}

static void read_devices(const struct devices *devices, const struct devices_grid *grid,
			 uint64_t now)
{
	struct device_state state;
	uint32_t key, *last = NULL;

	for (; !bpf_map_get_next_key(devices->fd, last, &key); last = &key) {
		if (bpf_map_lookup_elem(devices->fd, &key, &state))
			continue;
		if (!state.in_flight && state.idle_since < now) {
			struct event_idle idle = open_idle_time(&state, grid, now);

			state.totals.idle_ns += now - state.idle_since;
			if (idle.points || grid->trace)
				capture__event(devices->capture, &idle.header, sizeof(idle));
		}
		state.totals.header.time = now;
		capture__event(devices->capture, &state.totals.header, sizeof(state.totals));
	}
}

static int start_devices(void *arg, const struct source_context *context)
{
	struct devices *devices = arg;

	devices->capture = context->capture;
	devices->fd = record_programs__devices(context->programs);
	return 0;
}

static void end_devices(void *arg, uint64_t end)
{
	const struct devices *devices = arg;
	const struct loader *loader = capture__loader(devices->capture);
	const struct capture_settings *settings = loader__settings(loader);
	const struct devices_grid grid = {
		.period_ns = settings->period_ns,
		.spacing = loader__state(loader)->spacing,
		.seed = settings->grid_seed,
		.trace = settings->trace_mode,
	};

	read_devices(devices, &grid, end);
}

int devices__new(struct event_source *out)
{
	struct devices *devices = calloc(1, sizeof(*devices));

	if (!devices)
		return -ENOMEM;
	*out = (struct event_source){
		.start = start_devices,
		.end = end_devices,
		.free = free,
		.arg = devices,
	};
	return 0;
}
