/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes in programs for spans: at the entry and the return of functions, and at two probes (USDT).
 */
#pragma once

#include "base/cleanup.h"
#include "collect/core/address_spaces.h"
#include "collect/core/loader.h"
#include "collect/core/span_sources.h"
#include "privsep/privsep.h"

struct span_probes;

/*
 * What is passed stays the caller's, and must outlive the result. Parsers of @privsep read files. 0
 * or a negative errno.
 */
int span_probes__new(const struct span_sources *sources, const struct loader *loader,
		     struct privsep *privsep, struct span_probes **out);

/*
 * Sets the probes in a file, open at @fd (it may be O_PATH), that recorded processes have mapped,
 * or (the command's) will map. To be called again for the same file at any time.
 */
void span_probes__add_file(struct span_probes *probes, int fd, const char *path);

/* Whether source @index was found in a file. */
bool span_probes__is_found(const struct span_probes *probes, size_t index);

/* Why spans of source @index are not recorded, though it was found; or NULL. */
const char *span_probes__error(const struct span_probes *probes, size_t index);

void span_probes__free(struct span_probes *probes);
DEFINE_CLEANUP(struct span_probes *, span_probes__free)
