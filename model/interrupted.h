/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that were interrupted when others were woken. Internal to model/. */
#pragma once

#include "model/model.h"

/*
 * Removes the name and the frames of the interrupted thread from all wakeups in interrupts, unless
 * it sent the packet that was received in them. Once, when functions have names. 0 or -ENOMEM.
 */
int model__remove_interrupted(struct model *model);
