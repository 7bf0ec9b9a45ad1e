/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is said between names.c and a namer. It is asked for one batch of addresses after the other,
 * and asks for files meanwhile. Its results are in the memory that came with NAMES_START.
 */
#pragma once

#include "base/array.h"
#include "base/hash.h"
#include "privsep/names.h"
#include "privsep/wire.h"
#include "symbols/strings.h"

enum names_message {
	/* to the namer */
	NAMES_START = 1, /* lines, debuginfod, debug root. Descriptor: memory for results */
	NAMES_BATCH = 2, /* a source, and addresses */
	NAMES_FILE = 3,	 /* errno. Descriptor, if that is 0: the file */
	/* from it */
	NAMES_HELLO = 4, /* the parts of its sandbox */
	NAMES_OPEN = 5,	 /* symbol_file_kind, outside, name */
	NAMES_DONE = 6,	 /* errno, bytes of the result */
};

#define NAMES_BATCH_ADDRESSES 2000
#define NAMES_MAX_STRING      (32 << 10) /* bytes; longer ones are cut */
#define NAMES_MAX_RESULT      (64 << 20) /* bytes of a batch */
#define NAMES_MAX_PATH	      4096

/* A source as it is sent; its strings are in the buffers. */
struct names_source {
	struct symbol_source source; /* fd: 0 or -1 */
	char path[NAMES_MAX_PATH];
	char root[NAMES_MAX_PATH];
	char build_id[256];
};

void names_wire__put_source(struct buffer *buffer, const struct symbol_source *source);
void names_wire__source(struct cursor *cursor, struct names_source *source);

/* At most NAMES_BATCH_ADDRESSES; returns their number. */
void names_wire__put_addresses(struct buffer *buffer, const struct unnamed_address *addresses,
			       size_t n);
size_t names_wire__addresses(struct cursor *cursor, struct unnamed_address *addresses);

/*
 * A result: the frames of each address, and the diagnostic. A string is 0 (NULL), 1 and the text,
 * or 2 + the number of an earlier one.
 */
struct names_writer {
	struct buffer bytes;
	struct map64 numbers; /* of strings, by address: those of a symbolizer are unique */
};

void names_writer__string(struct names_writer *writer, const char *text);
void names_writer__frames(struct names_writer *writer, const struct symbol_frame *frames, size_t n);
void names_writer__free(struct names_writer *writer);

struct names_reader {
	struct cursor cursor;
	struct strings *strings; /* keeps them */
	uint64_t string_bytes;	 /* of new ones */
	ARRAY(const char *) known;
};

/* The next string, kept by reader->strings, or NULL. Sets cursor.bad on errors. */
const char *names_reader__string(struct names_reader *reader);

/* The frames of an address, 1 to NAMES_MAX_FRAMES; 0: cursor.bad is set. Names are not NULL. */
size_t names_reader__frames(struct names_reader *reader,
			    struct symbol_frame frames[NAMES_MAX_FRAMES]);
void names_reader__free(struct names_reader *reader);
