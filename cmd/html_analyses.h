/* SPDX-License-Identifier: BSD-2-Clause */
/* What the analyses of other commands add to the report page: their JSON documents and verdicts. */
#pragma once

#include "base/redaction.h"
#include "render/html/html.h"

/*
 * Adds blocks rN.waits, rN.latency, rN.requests and rN.locks (N is @number) and the verdicts, as
 * far as @recording has what they are made of. Returns 0 or -ENOMEM.
 */
int html_analyses__add(struct html *html, const struct html_recording *recording, size_t number);

/*
 * Adds the causal profile in file @path, called @name; redacted, if @redaction is not NULL. Returns
 * 0, or as causal_profile__read().
 */
int html_analyses__add_causal(struct html *html, const char *path, const char *name,
			      const struct redaction *redaction);
