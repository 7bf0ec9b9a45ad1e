/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables by a parser. What it answers is checked here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_rows.h"
#include "privsep/parser.h"

#define UNWIND_MAX_SEGMENTS 64

struct unwind_answer {
	size_t n_rows; /* from 1 on */
	struct unwind_segment segments[UNWIND_MAX_SEGMENTS];
	size_t n_segments;
};

/*
 * Asks @parser for the table of the file of @request, of at most @max_rows; its fd -1: of the vdso.
 * Only the type and the fields of @request are set here. As parser__request().
 */
int unwind_request__send(struct parser *parser, const struct parser_request *request,
			 size_t max_rows);

/*
 * Reads an answer without an error. 0 or -EPROTO: it is not one to a request for @max_rows.
 * Segments are within 4 GiB of linked addresses.
 */
int unwind_answer__decode(struct cursor *fields, size_t max_rows, struct unwind_answer *answer);

/*
 * Reads the @n rows of the answer with descriptor @result to @rows. 0, -EPROTO (they are not all
 * there, not in order, or have unknown rules), or -EIO.
 */
int unwind_answer__read_rows(int result, struct unwind_row *rows, size_t n);

/* Whether the @n @rows are in order of strictly ascending pc, and all rules are known. */
bool unwind_answer__is_valid(const struct unwind_row *rows, size_t n);
