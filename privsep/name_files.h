/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that a namer asks for: which it may have, and from where. */
#pragma once

#include "privsep/namer.h"
#include "symbols/symbol_files.h"

struct name_files;

/* @fetch: files may come from servers. @debug_root must outlive the result. 0 or -ENOMEM. */
int name_files__new(struct privsep *privsep, bool fetch, const char *debug_root,
		    struct name_files **out);

/*
 * Sends the file of @source that @request names to the namer at @socket, open for reading, and sets
 * *@size to its size (0: unknown). A program's file and a JIT map are the source's own. Any other
 * one, which a file of the source has named, must be one that the owner of the program can read:
 * readable by all, or his own. 0, -EACCES: it is not; or another -errno, and nothing was sent.
 */
int name_files__pass(struct name_files *files, struct namer_source *source,
		     const struct symbol_file_request *request, int socket, uint64_t *size);

void name_files__free(struct name_files *files);
