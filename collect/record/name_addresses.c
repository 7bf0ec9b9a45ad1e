// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/name_addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/kernel/symbol_lookup.h"
#include "collect/record/losses.h"
#include "collect/record/name_source.h"
#include "privsep/names.h"

struct naming {
	const struct addresses *addresses;
	const struct address_spaces *spaces;
	struct record_stream *stream;
	struct names *names;
	uint64_t named;
};

/* The addresses of one origin. */
struct group {
	struct naming *naming;
	const struct kept_address *list;
	uint32_t dso; /* in the recording */
};

static int write_frames(struct record_stream *stream, uint32_t dso, uint64_t address,
			const struct symbol_frame *frames, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct record record = {
			.type = RECORD_SYMBOL,
			.symbol = {.dso = dso,
				   .address = address,
				   .name = record_stream__string(stream, frames[i].name),
				   .file = record_stream__string(stream, frames[i].file),
				   .line = frames[i].line,
				   .inlined = i + 1 < n},
		};

		err = record_stream__put(stream, &record);
	}
	return err;
}

static int on_names(void *arg, size_t index, const struct symbol_frame *frames, size_t n)
{
	const struct group *group = arg;
	const struct kept_address *kept = &group->list[index];

	/* That it is no variable is worth knowing, too. */
	if (!*frames[0].name && !kept->data)
		return 0;
	group->naming->named++;
	return write_frames(group->naming->stream, group->dso, kept->address, frames, n);
}

/* Resolves @n addresses of @source. */
static int resolve(struct group *group, const struct symbol_source *source, size_t n)
{
	struct names *names = group->naming->names;
	_cleanup_free_ struct unnamed_address *unnamed = calloc(n, sizeof(*unnamed));
	int number = unnamed ? names__add_source(names, source) : -ENOMEM;

	if (number < 0)
		return number;
	for (size_t i = 0; i < n; i++)
		unnamed[i] = (struct unnamed_address){group->list[i].address, group->list[i].data};
	return names__resolve(names, number, unnamed, n, on_names, group);
}

/* The origin at @index; NULL: the kernel. */
static const struct code_origin *origin_at(const struct addresses *addresses, uint32_t index)
{
	return index == ADDRESSES_KERNEL ? NULL : &addresses->origins.data[index];
}

static int name_origin(struct group *group, const struct code_origin *origin, size_t n)
{
	struct name_source found;

	if (!name_source__find(group->naming->spaces, origin, &found))
		return 0;
	if (*found.root)
		found.source.root = found.root;
	group->dso = name_source__dso(group->naming->stream, origin);
	return resolve(group, &found.source, n);
}

static int name_all(struct naming *naming)
{
	const struct addresses *addresses = naming->addresses;
	const struct kept_address *kept = addresses->kept.data;
	int err = 0;

	for (size_t i = 0, n; i < addresses->kept.n && !err; i += n) {
		struct group group = {.naming = naming, .list = kept + i};

		for (n = 1; i + n < addresses->kept.n && kept[i + n].origin == kept[i].origin;)
			n++;
		err = name_origin(&group, origin_at(addresses, kept[i].origin), n);
	}
	return err;
}

/* Notes the files that could not be read, behind the first @known, which are noted already. */
static int write_failures(const struct privsep *privsep, size_t known, struct record_stream *stream)
{
	const struct privsep_failure *failures;
	uint64_t more;
	size_t n;
	int err = 0;

	failures = privsep__failures(privsep, &n, &more);
	for (size_t i = known; i < n && !err; i++) {
		char text[256];

		snprintf(text, sizeof(text), "%.180s: no names, %s", failures[i].path,
			 privsep__failure_text(&failures[i]));
		err = losses__put(stream, text, failures[i].count);
	}
	return err;
}

static int kernel_name(void *context, uint64_t address, char *name, size_t size)
{
	return symbol_lookup__name(context, address, name, size);
}

int name_addresses(struct addresses *addresses, const struct address_spaces *spaces,
		   struct privsep *privsep, struct record_stream *stream, uint64_t *named)
{
	_cleanup_(symbol_lookup__closep) struct symbols_bpf *kernel = symbol_lookup__open();
	const struct symbolizer_options options = {.lines = true,
						   .generated = true,
						   .debuginfod = getenv("DEBUGINFOD_URLS"),
						   .kernel_name = kernel ? kernel_name : NULL,
						   .context = kernel};
	_cleanup_(names__freep) struct names *names = NULL;
	struct naming naming = {.addresses = addresses, .spaces = spaces, .stream = stream};
	size_t failures;
	uint64_t more;
	int err;

	privsep__failures(privsep, &failures, &more);
	err = names__new(privsep, &options, &names);
	if (err)
		return err;
	naming.names = names;
	addresses__sort(addresses);
	err = name_all(&naming);
	*named = naming.named;
	if (!err)
		err = write_failures(privsep, failures, stream);
	if (!err)
		err = losses__put(stream, "names of addresses, too many", addresses->left_out);
	return err;
}
