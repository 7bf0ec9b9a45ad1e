/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits that are no loss: a thread that has nothing to do, and waits for its next
 * task. Told by the kind of wait where that can only mean this, else by what the
 * functions that wait are called, which is a guess.
 */
#pragma once

#include "analysis/kinds/kinds.h"

struct idle_waits;

int idle_waits__new(const struct model *model, struct idle_waits **out);
void idle_waits__free(struct idle_waits *idle);

/*
 * Whether a wait of @kind with the user stack @user, ended by code with the kernel stack
 * @waker, is one for work.
 */
bool idle_waits__is(const struct idle_waits *idle, enum wait_kind kind, uint32_t user,
		    uint32_t waker);
