/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsers: processes without privileges that read files. A request is answered later, or at once if
 * the caller waits for it. If the process dies or is slow, the request fails, and the next one goes
 * to a new process; after PARSER_MAX_FAILURES of them all requests fail. What it answers is not
 * trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "privsep/opener.h"
#include "privsep/privsep.h"

struct parser;

#define PARSER_MAX_FAILURES 32

struct parser_options {
	uint64_t request_ns; /* a request may take so long; 0: PARSER_REQUEST_NS */
};
#define PARSER_REQUEST_NS 5000000000ULL

/* Starts a parser. 0 or a negative errno. */
int parser__new(struct privsep *privsep, const struct parser_options *options, struct parser **out);

/* What became of a request. */
struct parser_answer {
	int err; /* 0 or a negative errno: of the parser; of opening the file; -EFAULT: the process
		    died; -ETIMEDOUT: it or opening the file took too long; -EPROTO */
	struct cursor *fields; /* what the type says, if err is 0 */
	uint64_t ns;	       /* since the process was asked */
	int result;	       /* descriptor of large results; -1: none */
};

/* @tag is the request's. Must not call the parser's functions, but parser__request(). */
typedef void (*parser_answer_fn)(void *arg, uint64_t tag, const struct parser_answer *answer);

/* The sizes of descriptors etc. are not checked: what fails is the request. */
struct parser_request {
	const char *name;	   /* of the file, for messages */
	int fd;			   /* of the file, may be O_PATH; open until the answer. -1: the
				      request is not about a file */
	const struct buffer *what; /* type and fields; copied */
	bool has_result;
	/* Only of parser__ask(): the path of the program whose debug files it may read (NULL:
	 * none), and the uid of that file, which is set if @fd is its descriptor. */
	const char *program;
	int64_t *owner;
	parser_answer_fn on_answer;
	void *arg;
	uint64_t tag;
};

/* Puts a request at the end of the queue. 0, or -ENOMEM: @on_answer will not be called. */
int parser__request(struct parser *parser, const struct parser_request *request);

/* The number of requests that are not answered. */
size_t parser__pending(const struct parser *parser);

/* Polls readable when there is an answer; -1: nothing is asked. It changes. */
int parser__fd(const struct parser *parser);

/* Takes the answers that are there, waiting until @until (CLOCK_MONOTONIC, ns; 0: not) for all. */
void parser__run_until(struct parser *parser, uint64_t until);

/*
 * Asks, and waits for the answer; nothing may be pending. on_answer is not used. Sets *@fields,
 * valid until the next request, and with has_result *@result, a descriptor, then the caller's. 0,
 * or as struct parser_answer.
 */
int parser__ask(struct parser *parser, const struct parser_request *request, struct cursor *fields,
		int *result);

/*
 * The build id of the file as lower-case hex, at once. 0, -ENOENT when it has none, -ENOSPC when it
 * needs more than @size bytes, or one of struct parser_answer. @request says which file; its
 * message is set here. Sets *@found if it is not NULL, also if there is no build id.
 */
int parser__build_id(struct parser *parser, struct open_request *request, struct found_file *found,
		     char *hex, size_t size);

/* The build id that an answer has. 0, -EPROTO, or -ENOSPC when it needs more than @size bytes. */
int parser_answer__build_id(struct cursor *fields, char *hex, size_t size);

/* The parts of the sandbox that hold (privsep/sandbox.h); 0: not known yet. */
unsigned int parser__sandbox(const struct parser *parser);

/* Its process, for tests; 0: none. */
pid_t parser__pid(const struct parser *parser);

void parser__free(struct parser *parser);
DEFINE_CLEANUP(struct parser *, parser__free)
