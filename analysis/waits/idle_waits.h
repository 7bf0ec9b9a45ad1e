/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits that are no loss: a thread that has nothing to do, and waits for its next
 * task. Told by the kind of wait where that can only mean this, else by what the
 * functions that wait are called, which is a guess.
 */
#pragma once

#include "analysis/kinds/kinds.h"

struct for_work;

int for_work__new(const struct model *model, struct for_work **out);
void for_work__free(struct for_work *for_work);

/*
 * Whether a wait of @kind with the user stack @user, ended by code with the kernel stack
 * @waker, is one for work.
 */
bool for_work__is(const struct for_work *for_work, enum wait_kind kind, uint32_t user,
		  uint32_t waker);
