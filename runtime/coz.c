// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that programs built with coz.h look up by dlsym(). The counters are those of progress
 * points: a coz_counter_t has the layout of the first members of struct dwell_count.
 */
#include "runtime/runtime.h"

EXPORTED struct dwell_count *_coz_get_counter(int type, const char *name);
EXPORTED void _coz_add_delays(void);
EXPORTED void _coz_pre_block(void);
EXPORTED void _coz_post_block(int skip_delays);

struct dwell_count *_coz_get_counter(int type, const char *name)
{
	static struct dwell_count unused;
	struct dwell_point *point;

	if (type < DWELL_POINT_THROUGHPUT || type > DWELL_POINT_END)
		return &unused;
	point = dwell_v1_find_point((uint32_t)type, name);
	return point == DWELL_NO_POINT ? &unused : &point->count[0];
}

/* Nothing to do: the kernel side sees all blocking and waking. */
void _coz_add_delays(void)
{
}

void _coz_pre_block(void)
{
}

void _coz_post_block(int skip_delays)
{
}
