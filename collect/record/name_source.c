// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/name_source.h"

#include <stdio.h>
#include <unistd.h>

#include "collect/record/translate.h"

#define KERNEL_PATH "[kernel]"

/* The descriptor of the file that was mapped, or of one with its build id; -1: none is open. */
static int open_file(const struct address_spaces *spaces, const struct code_origin *origin)
{
	const struct code_origin *now = address_spaces__origin(spaces, origin->number);

	return now && now->fd >= 0 ? now->fd : address_spaces__fd_of(spaces, origin->build_id);
}

bool name_source__find(const struct address_spaces *spaces, const struct code_origin *origin,
		       struct name_source *source)
{
	static const enum symbol_source_kind kinds[] = {
		[CODE_FILE] = SYMBOL_SOURCE_ELF,
		[CODE_GENERATED] = SYMBOL_SOURCE_JIT,
		[CODE_VDSO] = SYMBOL_SOURCE_VDSO,
	};

	*source = (struct name_source){
		.source = {
			.kind = SYMBOL_SOURCE_KERNEL, .path = KERNEL_PATH, .fd = -1, .owner = -1}};
	if (!origin)
		return true;
	source->source.kind = kinds[origin->kind];
	source->source.path = origin->path;
	source->source.build_id = origin->build_id;
	source->source.pid = origin->pid;
	if (origin->kind == CODE_FILE)
		source->source.fd = open_file(spaces, origin);
	/* Without a build id, the file that is at the path now cannot be compared with it. */
	if (origin->kind == CODE_FILE && origin->deleted && !*origin->build_id &&
	    source->source.fd < 0)
		return false;
	if (origin->kind == CODE_GENERATED)
		source->source.owner = origin->owner;
	snprintf(source->root, sizeof(source->root), "/proc/%u/root", origin->pid);
	if (!origin->pid || access(source->root, X_OK))
		source->root[0] = '\0';
	return true;
}

uint32_t name_source__dso(struct record_stream *stream, const struct code_origin *origin)
{
	const struct record_dso kernel = {.kind = DSO_KERNEL,
					  .path = record_stream__string(stream, KERNEL_PATH)};

	return origin ? translator__write_dso(stream, origin) : record_stream__dso(stream, &kernel);
}
