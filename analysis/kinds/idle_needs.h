/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits of threads that others wait for are not idle. For analysis/kinds only. */
#pragma once

#include "analysis/kinds/wait_sites.h"

/*
 * Sets the reason (enum idle_reason, by thread and interval) to IDLE_NOT for each wait that is
 * needed: for at least half of it, another thread waits for the waiter, in a wait that is not idle
 * itself. A thread can only wake another one while it runs, so waits for it last until its own
 * wait is over: the needed part begins where the first of them begins. Repeats until nothing
 * changes. @judgements are by site. Returns 0 or -ENOMEM.
 */
int idle_needs__apply(const struct wait_sites *sites, const struct site_judgement *judgements,
		      uint8_t **reasons);
