/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the names of a recording's addresses are found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/stacks/address_spaces.h"
#include "recording/record_stream.h"
#include "recording/recording.h"
#include "privsep/names.h"

struct name_source {
	struct symbol_source source; /* its root is not set */
	char root[32];		     /* "": that of dwell */
};

/*
 * Sets *@source to that of @origin; NULL: of the kernel. Its strings are @origin's, its descriptor
 * that of @spaces. False: it has none.
 */
bool name_source__find(const struct address_spaces *spaces, const struct code_origin *origin,
		       struct name_source *source);

/* The number in the recording of the DSO of @origin, which is written if it is new. */
uint32_t name_source__dso(struct record_stream *stream, const struct code_origin *origin);
