/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is sent to a parser: number of the request; its type; what the type says. Descriptors: the
 * file, open for reading, and where large results go. It answers: number; errno; what the type
 * says. Number 0 is of no request: then follows enum parser_notice.
 */
#pragma once

#include "privsep/wire.h"

enum parser_request_type {
	PARSER_BUILD_ID = 1,	 /* -> hex */
	PARSER_UNWIND_TABLE = 2, /* maximum of rows -> rows, which are in the result; segments; for
				    each offset, size, bias */
	PARSER_VDSO_TABLE = 3,	 /* no file; the same */
	PARSER_CODE_OPEN = 4,	 /* number, path, patterns of files in scope, without: each a
				    number and texts -> nothing. The file is kept by its number */
	PARSER_CODE_ASK = 5,	 /* no file; number, enum code_question, its fields -> number of
				    bytes, which are in the result (code_answer.h); -ESTALE: the
				    file is not kept */
	PARSER_CODE_FILE = 6,	 /* enum code_question, its fields -> the same */
};

enum code_question {
	CODE_PLACES = 0,     /* n, addresses -> places */
	CODE_LINE = 1,	     /* file, line -> ranges */
	CODE_FUNCTION = 2,   /* name -> ranges */
	CODE_OUTSIDE = 3,    /* address -> ranges that are out of scope */
	CODE_ENTRIES = 4,    /* file, line; or function, 0 -> entries */
	CODE_SUGGEST = 5,    /* maximum, text -> names */
	CODE_DIAGNOSTIC = 6, /* -> names: one or none */
	CODE_FUNCTIONS = 7,  /* name, whether it is a pattern -> functions */
	CODE_CLOSE = 8,	     /* -> nothing */
	/* Of PARSER_CODE_FILE: */
	CODE_IS_PROGRAM = 9, /* -> 0 or 1 */
	CODE_USDT = 10,	     /* provider ("": any), name -> entries */
	CODE_USDT_LIST = 11, /* maximum -> names PROVIDER:NAME */
	CODE_LINKS = 12,     /* -> names as of code_reader__links() */
};

#define CODE_MAX_FILES	4096 /* that a parser keeps */
#define CODE_MAX_ANSWER (64ULL << 20)

enum parser_notice {
	PARSER_HELLO = 0, /* parts of its sandbox; when it starts */
	/* Number of the wish, path. It is answered by that number and errno, with the file, open
	 * for reading, if that is 0. */
	PARSER_WANTS_FILE = 1,
};
