/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes waits for work, of threads that have nothing to do: by the kind of wait if that
 * decides, else, which is a heuristic, by the names of the functions that wait.
 */
#pragma once

#include "analysis/kinds/kinds.h"

struct idle_waits;

int idle_waits__new(const struct model *model, struct idle_waits **out);
void idle_waits__free(struct idle_waits *idle);

/* Whether a wait of @kind with user stack @user, ended with the kernel stack @waker, is for work.
 */
bool idle_waits__is(const struct idle_waits *idle, enum wait_kind kind, uint32_t user,
		    uint32_t waker);
