/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the names of a recording's addresses into it, so that it can be read without the program's
 * files and on other machines.
 */
#pragma once

#include <stdint.h>

#include "collect/stacks/address_spaces.h"
#include "collect/record/addresses.h"
#include "privsep/privsep.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

/*
 * Finds the names of @addresses, which are sorted, in the files that @spaces has, and puts them.
 * @privsep reads the files; what it cannot read is noted in the recording. Sets *@named to the
 * number of addresses with a name. 0, -ENOMEM or that of record_stream__put().
 */
int name_addresses(struct addresses *addresses, const struct address_spaces *spaces,
		   struct privsep *privsep, struct record_stream *stream, uint64_t *named);
