// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs built with coz.h look these up, weakly, by dlsym(). Their counters are those
 * of progress points: a coz_counter_t is what a struct dwell_count begins with.
 */
#include "runtime/runtime.h"

EXPORTED struct dwell_count *_coz_get_counter(int type, const char *name);
EXPORTED void _coz_add_delays(void);
EXPORTED void _coz_pre_block(void);
EXPORTED void _coz_post_block(int skip_delays);

struct dwell_count *_coz_get_counter(int type, const char *name)
{
	static struct dwell_count nowhere;
	struct dwell_point *point;

	if (type < DWELL_POINT_THROUGHPUT || type > DWELL_POINT_END)
		return &nowhere;
	point = dwell_v1_find_point((uint32_t)type, name);
	return point == DWELL_NO_POINT ? &nowhere : &point->count[0];
}

/* The kernel side sees all blocking and waking by itself. */
void _coz_add_delays(void)
{
}

void _coz_pre_block(void)
{
}

void _coz_post_block(int skip_delays)
{
}
