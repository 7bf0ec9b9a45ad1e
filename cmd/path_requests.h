/* SPDX-License-Identifier: BSD-2-Clause */
/* Which requests `dwell path --request` shows, and what it compares them with. */
#pragma once

#include "analysis/path/path.h"
#include "analysis/requests/requests.h"

struct path_request_options {
	const char *source; /* as it was given to dwell record --request; NULL: the only one */
	uint64_t slowest;   /* only this many, beside those around the median; 0: not given */
	double quantile;    /* only those at or above this percentile, the same way; 0: not given */
	uint64_t from;	    /* only those within [@from, @until], ns, CLOCK_MONOTONIC */
	uint64_t until;
};

struct path_requests {
	struct requests all;
	struct requests_group shown;
	struct requests_group compared; /* n 0: none */
	ARRAY(struct path_window)
	windows; /* of shown, the slowest first; tagged ones have several */
	ARRAY(struct path_window) beside; /* of compared */
};

/*
 * Chooses. The caller has zeroed @requests, and frees it in any case. Returns 0, -ENOMEM, or with
 * error__set() -ENOENT (the recording has no such requests) or -EINVAL (choose one source).
 */
int path_requests__choose(const struct model *model, const struct path_request_options *options,
			  struct path_requests *requests);

void path_requests__free(struct path_requests *requests);
