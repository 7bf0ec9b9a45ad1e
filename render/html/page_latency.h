/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of the calls and requests of a recording, from which the page makes the latencies of a
 * part of its time. Return 0 or -ENOMEM.
 */
#pragma once

#include "analysis/latency/call_details.h"
#include "analysis/requests/requests.h"
#include "render/html/html.h"

/* Writes rN.latency.calls and rN.latency.slow of recording @number; @latency has details. */
int page_latency__calls(struct html *html, const struct model *model, size_t number,
			const struct call_latency *latency);

/* Writes rN.requests.times. */
int page_latency__requests(struct html *html, size_t number, const struct requests *requests);
