// SPDX-License-Identifier: BSD-2-Clause
#include "collect/programs/devices.h"

#include <bpf/bpf.h>

#include "abi/device.h"
#include "abi/grid.h"

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

void devices__read(int fd, const struct devices_grid *grid, uint64_t now,
		   void (*on_event)(void *arg, const struct event_header *event, size_t size),
		   void *arg)
{
	struct device_state state;
	uint32_t key, *last = NULL;

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key) {
		if (bpf_map_lookup_elem(fd, &key, &state))
			continue;
		if (!state.in_flight && state.idle_since < now) {
			struct event_idle idle = open_idle_time(&state, grid, now);

			state.totals.idle_ns += now - state.idle_since;
			if (idle.points || grid->trace)
				on_event(arg, &idle.header, sizeof(idle));
		}
		state.totals.header.time = now;
		on_event(arg, &state.totals.header, sizeof(state.totals));
	}
}
