// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/record_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "collect/core/symbol_lookup.h"
#include "collect/record/recorder.h"
#include "model/embed.h"

/* Who knows names. */
struct naming {
	struct recorder *recorder;
	struct symbols_bpf *kernel; /* NULL: all of /proc/kallsyms is read */
};

static int dso_fd(void *context, uint32_t number, const char *build_id)
{
	const struct naming *naming = context;

	return recorder__dso_fd(naming->recorder, number, build_id);
}

static int64_t dso_owner(void *context, uint32_t number)
{
	const struct naming *naming = context;

	return recorder__dso_owner(naming->recorder, number);
}

static int kernel_name(void *context, uint64_t address, char *name, size_t size)
{
	const struct naming *naming = context;

	return symbol_lookup__name(naming->kernel, address, name, size);
}

void record_names__embed(struct recorder *recorder, const char *path, bool verbose)
{
	_cleanup_(symbol_lookup__closep) struct symbols_bpf *kernel = symbol_lookup__open();
	struct naming naming = {recorder, kernel};
	struct embed_options embed_options = {
		.lines = true,
		.debuginfod = getenv("DEBUGINFOD_URLS"),
		.dso_fd = dso_fd,
		.dso_owner = dso_owner,
		.kernel_name = kernel ? kernel_name : NULL,
		.context = &naming,
		.privsep = recorder__privsep(recorder),
	};
	uint64_t resolved = 0;
	int err = embed_symbols(recorder__file(recorder), path, &embed_options, &resolved);

	if (err) {
		fprintf(stderr, "dwell: the recording is complete, but has no symbols:\n");
		error__print(stderr, err);
	} else if (verbose) {
		fprintf(stderr, "dwell: %" PRIu64 " addresses have symbols\n", resolved);
	}
}
