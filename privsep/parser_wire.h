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
};

enum parser_notice {
	PARSER_HELLO = 0,      /* parts of its sandbox; when it starts */
	PARSER_WANTS_FILE = 1, /* path. It is answered by one byte: errno, with the open file if 0 */
};
