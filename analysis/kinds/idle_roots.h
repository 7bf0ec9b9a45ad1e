/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What threads wait for in the end: a blocked thread waits for the one that will wake it, which may
 * be blocked, too. At the end of the chain is a thread that runs or waits for an operation, or one
 * that is idle, or something outside of the recording. For analysis/kinds only.
 */
#pragma once

#include "analysis/kinds/wait_sites.h"

enum root_state {
	ROOT_UNKNOWN = 0, /* sampling mode: it has no sampling point that all threads have */
	ROOT_IDLE = 1,
	ROOT_BUSY = 2,
};

/*
 * Whether the root of the chain is busy for at least half of interval number @interval of
 * @thread. @judgements are by site. @found, by thread, keeps where intervals were found last: it is
 * fast if those of one thread come in their order. Evaluated at up to three times; in sampling mode
 * at common sampling points, at which every wait is known.
 */
enum root_state idle_root__state(const struct wait_sites *sites,
				 const struct site_judgement *judgements, uint32_t thread,
				 size_t interval, size_t *found);
