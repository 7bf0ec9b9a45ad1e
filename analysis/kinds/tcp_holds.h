/* SPDX-License-Identifier: BSD-2-Clause */
/* What TCP itself kept waiting: data that it held back or sent again, connections not answered. */
#pragma once

#include <stddef.h>

#include "wait_kinds/kind_table.h"
#include "model/model.h"

/* The kind of a wait for @reason; KIND_NONE for HOLD_NONE. */
enum wait_kind tcp_hold__kind(enum hold_reason reason);

/* "nagle_delayed_ack", "listen_queue", ...: for machines. */
const char *tcp_hold__name(enum hold_reason reason);

/*
 * Why @object, a socket on which TCP held back what was waited for, was held: "Nagle until a
 * delayed acknowledgement, no TCP_NODELAY". "" for other objects.
 */
void tcp_hold__text(const struct model *model, const struct model_object *object, char *text,
		    size_t size);
