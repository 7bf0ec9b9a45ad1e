/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeps of threads that are joined. They are not idle, even before the join begins: they delay it.
 * For analysis/kinds only.
 *
 * The join of a thread that has ended already makes no system call, so that it is not recorded.
 * Therefore a thread that joins one of several threads (or processes) of the same creator is taken
 * to join those that had ended before, too: the order of joins does not matter. The last of several
 * equal threads may end soon after the others: a short join counts if the thread sleeps where
 * others sleep that are joined.
 */
#pragma once

#include "analysis/kinds/wait_sites.h"

/*
 * Sets to IDLE_NOT those of @reasons, by thread and interval (enum idle_reason), that are sleeps of
 * such threads. A join counts only if it is not idle itself, and takes more than a small part of
 * the time in which the joined thread existed. (A thread that works at intervals until it is told
 * to stop is joined, too, but only when it is about to end.) Returns 0 or -ENOMEM.
 */
int idle_joins__apply(const struct wait_sites *sites, uint8_t **reasons);
