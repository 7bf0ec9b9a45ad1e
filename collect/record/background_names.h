/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions, while a recording is made: a recorder that is killed leaves them in the file.
 * A thread of its own asks a namer (privsep/names.h) that runs only where nothing else wants the
 * CPU. Lines and inlined functions, which take longer, are added at the end (name_addresses.h), as
 * are names of generated code, which change while it runs.
 */
#pragma once

#include "base/cleanup.h"
#include "collect/stacks/address_spaces.h"
#include "collect/record/addresses.h"
#include "privsep/privsep.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

struct background_names;

/* @privsep must outlive it. 0, or -errno: there will be no names before the end. */
int background_names__start(struct privsep *privsep, struct background_names **out);

/*
 * Writes the names that were found, and asks for those of addresses that came meanwhile; does not
 * wait. To be called again and again. 0 or that of record_stream__put().
 */
int background_names__tick(struct background_names *background, const struct addresses *addresses,
			   const struct address_spaces *spaces, struct record_stream *stream);

/* Ends it within NAMES_CANCEL_NS or so; what was not written is left. */
void background_names__stop(struct background_names *background);
DEFINE_CLEANUP(struct background_names *, background_names__stop)
