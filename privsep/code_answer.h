/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a parser answers about code (code_reader.h). It is encoded and decoded here: what is decoded
 * has bounded counts, texts without NUL, offsets within the file, and ranges in order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buffer.h"
#include "symbols/code/code_types.h"
#include "symbols/strings.h"

#define CODE_MAX_TEXT	   (16 << 10) /* of a name, with its NUL; longer ones are cut */
#define CODE_MAX_PLACES	   1024	      /* in one question */
#define CODE_MAX_NAMES	   32
#define CODE_MAX_FUNCTIONS 4092

/* Where a uprobe counts visits. */
struct code_entry {
	uint64_t address;    /* linked, of the code */
	uint64_t offset;     /* of it in the file */
	uint64_t semaphore;  /* of a USDT probe: its offset in the file; 0: none */
	uint32_t skip;	     /* bytes from offset to where the uprobe goes */
	bool single_stepped; /* as of arch/uprobe_offset.h */
};

struct code_entries {
	ARRAY(struct code_entry) entries;
};

/* A place where a function is left: its offset in the file, and a condition code as of
 * abi/probe_exit.h. */
struct function_exit {
	uint64_t offset;
	uint32_t condition;
};

/* A function, and where its probes go, as of symbols/code/function_probes.h. */
struct found_function {
	const char *name;
	int err; /* 0; -ENOTSUP, -ENOENT: it cannot have probes, or has no code */
	uint64_t entry;
	bool single_stepped;
	bool return_probe; /* there are no exits */
	ARRAY(struct function_exit) exits;
};

struct found_functions {
	ARRAY(struct found_function) functions;
};

void found_functions__free(struct found_functions *found);

/* First characters of the names that code_reader__links() finds. */
#define CODE_LINK_LOADS	 '!'
#define CODE_LINK_NEEDED 'n'
#define CODE_LINK_PATH	 'r'

struct code_names {
	const char *names[CODE_MAX_NAMES];
	size_t n;
};

/*
 * Each decodes a whole answer, with texts in @strings, and offsets below @size, that of the file.
 * 0, -ENOMEM or -EPROTO; then what is appended to arrays stays the caller's.
 */
int code_answer__ranges(struct cursor *cursor, struct strings *strings, struct code_ranges *ranges,
			struct code_place *place);
int code_answer__places(struct cursor *cursor, struct strings *strings, struct code_place *places,
			size_t n);
int code_answer__entries(struct cursor *cursor, uint64_t size, struct code_entries *entries);
int code_answer__functions(struct cursor *cursor, struct strings *strings, uint64_t size,
			   struct found_functions *found);
int code_answer__names(struct cursor *cursor, struct strings *strings, size_t max,
		       struct code_names *names);

void code_answer__put_text(struct buffer *buffer, const char *text);
void code_answer__put_place(struct buffer *buffer, const struct code_place *place);
void code_answer__put_ranges(struct buffer *buffer, const struct code_ranges *ranges,
			     const struct code_place *place);
void code_answer__put_entries(struct buffer *buffer, const struct code_entries *entries);
void code_answer__put_function(struct buffer *buffer, const struct found_function *function);
