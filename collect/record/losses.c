// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/losses.h"

#include <stdio.h>
#include <string.h>

#include "recording/loss_causes.h"

int losses__put(struct record_stream *stream, const char *cause, uint64_t count)
{
	struct record record = {
		.type = RECORD_LOST,
		.lost = {.cause = record_stream__string(stream, cause), .count = count},
	};

	return count ? record_stream__put(stream, &record) : 0;
}

int losses__write(struct losses *losses, struct record_stream *stream,
		  const struct capture *capture)
{
	struct capture_losses now;
	int err = 0;

	capture__losses(capture, &now);
	for (int i = 0; i < LOSS_COUNT && !err; i++)
		if (now.kernel[i] != losses->kernel[i])
			err = losses__put(stream, loss_cause__text(i), now.kernel[i]);
	memcpy(losses->kernel, now.kernel, sizeof(losses->kernel));
	return err;
}

/* Files that could not be read, and why. */
static int put_failures(struct record_stream *stream, const struct privsep *privsep)
{
	const struct privsep_failure *failures;
	uint64_t more;
	size_t n;
	int err = 0;

	failures = privsep__failures(privsep, &n, &more);
	for (size_t i = 0; i < n && !err; i++) {
		char text[256];

		snprintf(text, sizeof(text), "%.180s: %s", failures[i].path,
			 privsep__failure_text(&failures[i]));
		err = losses__put(stream, text, failures[i].count);
	}
	return err ? err : losses__put(stream, "other files that could not be read", more);
}

int losses__write_last(struct losses *losses, struct record_stream *stream,
		       const struct capture *capture)
{
	struct capture_losses now;
	struct unwinder_stats stats;
	int err = losses__write(losses, stream, capture);

	capture__losses(capture, &now);
	if (!err)
		err = losses__put(stream, "mappings, perf buffer full", now.mappings);
	if (!err)
		err = losses__put(
			stream,
			"files without names: deleted or of a container, too many to stay open",
			address_spaces__lost_files(capture__spaces(capture)));
	capture__unwinder_stats(capture, &stats);
	if (!err)
		err = losses__put(stream, "unwind tables, table memory used up",
				  stats.tables.refused);
	if (!err)
		err = losses__put(stream, "mappings of processes, pool for stack walks full",
				  stats.pool_full);
	return err ? err : put_failures(stream, capture__privsep(capture));
}

uint64_t losses__total(const struct capture *capture)
{
	struct capture_losses losses;

	capture__losses(capture, &losses);
	return losses.mappings + losses.kernel[LOSS_RING_FULL] + losses.kernel[LOSS_THREAD_STATE] +
	       losses.kernel[LOSS_WAKE_SKIPPED] + losses.kernel[LOSS_DEFERRED_SKIPPED] +
	       losses.kernel[LOSS_REQUEST];
}
