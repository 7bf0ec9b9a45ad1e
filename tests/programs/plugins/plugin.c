/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin that chains loads during its run. */
#include "tests/programs/chains/place.h"

KEEP void plugin_waits(void)
{
	sleep_ns(2 * NS_PER_MS);
	NO_TAIL_CALL();
}

void plugin_enter(struct slot *slot)
{
	char *room = alloca(16 + slot->rounds % 48);

	USE(room);
	plugin_waits();
	USE(room);
}
