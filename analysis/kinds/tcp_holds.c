// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/tcp_holds.h"

#include <stdio.h>

static const struct {
	const char *name;
	const char *text;
	enum wait_kind kind;
} holds[HOLD_COUNT] = {
	[HOLD_NONE] = {"none", "", KIND_NONE},
	[HOLD_NAGLE] = {"nagle", "Nagle until more was written, no TCP_NODELAY", KIND_TCP_HELD},
	[HOLD_NAGLE_ACK] = {"nagle_ack", "Nagle until an acknowledgement, no TCP_NODELAY",
			    KIND_TCP_HELD},
	[HOLD_NAGLE_DELAYED] = {"nagle_delayed_ack",
				"Nagle until a delayed acknowledgement, no TCP_NODELAY",
				KIND_TCP_HELD},
	[HOLD_CORK] = {"cork", "TCP_CORK", KIND_TCP_HELD},
	[HOLD_MORE] = {"msg_more", "MSG_MORE", KIND_TCP_HELD},
	[HOLD_WINDOW] = {"window", "the receiver does not read", KIND_TCP_WINDOW},
	[HOLD_CONGESTION] = {"congestion_window", "the congestion window was full", KIND_TCP_HELD},
	[HOLD_PACING] = {"pacing", "pacing", KIND_TCP_HELD},
	[HOLD_QUEUE] = {"device_queue", "enough was in queues of the device", KIND_TCP_HELD},
	[HOLD_TIMEOUT] = {"timeout", "not acknowledged: sent again after a timeout",
			  KIND_TCP_RETRANSMISSION},
	[HOLD_PROBE] = {"loss_probe", "not acknowledged: sent again as a loss probe",
			KIND_TCP_RETRANSMISSION},
	[HOLD_FAST] = {"fast", "lost: sent again when later segments were acknowledged",
		       KIND_TCP_RETRANSMISSION},
	[HOLD_SYN] = {"syn", "unanswered: SYN sent again", KIND_TCP_CONNECT},
	[HOLD_LISTEN_QUEUE] = {"listen_queue", "SYN sent again: the listen queue was full",
			       KIND_TCP_CONNECT},
	[HOLD_BUFFER] = {"send_buffer", "sent data was not acknowledged", KIND_TCP_BUFFER},
	[HOLD_NO_ANSWER] = {"no_answer", "no answer: sent again", KIND_UDP_UNANSWERED},
	[HOLD_OTHER] = {"other", "why is not known", KIND_TCP_HELD},
};

enum wait_kind tcp_hold__kind(enum hold_reason reason)
{
	return reason < HOLD_COUNT ? holds[reason].kind : KIND_NONE;
}

const char *tcp_hold__name(enum hold_reason reason)
{
	return holds[reason < HOLD_COUNT ? reason : HOLD_OTHER].name;
}

void tcp_hold__text(const struct model *model, const struct model_object *object, char *text,
		    size_t size)
{
	const char *owner = object->owner_pid ? model__string(model, object->owner) : "";
	const char *why = holds[object->hold < HOLD_COUNT ? object->hold : HOLD_OTHER].text;

	if (object->owner_pid && object->hold == HOLD_LISTEN_QUEUE)
		snprintf(text, size, "SYN sent again: the listen queue of %s/%u was full", owner,
			 object->owner_pid);
	else if (object->owner_pid && object->hold == HOLD_WINDOW)
		snprintf(text, size, "%s/%u does not read", owner, object->owner_pid);
	else
		snprintf(text, size, "%s", why);
}
