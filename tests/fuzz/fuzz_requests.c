// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, as requests to a parser about FUZZ_PROGRAM, which is a sound file: each gets one
 * answer, and what answers about code contain is accepted by who asks (privsep/code_answer.h).
 *
 * A request is a byte with its size, and so many bytes of the message.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "privsep/code_answer.h"
#include "privsep/parser_tasks.h"
#include "privsep/parser_wire.h"

#define MAX_ERRNO 4095

struct request {
	uint64_t number;
	uint64_t type;
	uint64_t file; /* of PARSER_CODE_OPEN and _ASK */
	uint64_t question;
	struct cursor fields; /* of the question */
};

struct files {
	int program;
	int result;
	uint64_t size; /* of the program */
	ARRAY(uint64_t) kept;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static __attribute__((noinline)) void check(bool condition)
{
	if (!condition)
		abort();
}

static struct request read_request(const uint8_t *data, size_t size)
{
	struct request request = {.fields = {.at = data, .end = data + size}};

	request.number = cursor__varint(&request.fields);
	request.type = cursor__varint(&request.fields);
	if (request.type == PARSER_CODE_OPEN || request.type == PARSER_CODE_ASK)
		request.file = cursor__varint(&request.fields);
	if (request.type == PARSER_CODE_ASK || request.type == PARSER_CODE_FILE)
		request.question = cursor__varint(&request.fields);
	return request;
}

static bool has_file(uint64_t type)
{
	return type != PARSER_VDSO_TABLE && type != PARSER_CODE_ASK;
}

/* Sends the @size bytes at @data with the descriptors; the answer is behind its number and errno.
 */
static struct cursor ask(const struct files *files, const uint8_t *data, size_t size,
			 struct buffer *reply)
{
	static struct wire_message message;
	struct cursor answer;
	uint64_t number, err;

	message.size = size;
	memcpy(message.data, data, size);
	message.n_fds = 0;
	if (has_file(read_request(data, size).type))
		message.fds[message.n_fds++] = fcntl(files->program, F_DUPFD_CLOEXEC, 0);
	message.fds[message.n_fds++] = fcntl(files->result, F_DUPFD_CLOEXEC, 0);
	parser_process__serve(&message, reply);
	check(!reply->failed && !message.n_fds);
	answer = (struct cursor){.at = reply->data, .end = reply->data + reply->n};
	number = cursor__varint(&answer);
	err = cursor__varint(&answer);
	check(number == read_request(data, size).number && err <= MAX_ERRNO);
	check(!answer.bad && !(err && cursor__left(&answer)));
	if (err)
		answer.bad = true;
	return answer;
}

static void check_ranges(struct cursor *cursor, struct strings *strings)
{
	struct code_ranges ranges = {};
	struct code_place place;

	check(!code_answer__ranges(cursor, strings, &ranges, &place));
	code_ranges__free(&ranges);
}

static void check_entries(struct cursor *cursor, uint64_t size)
{
	struct code_entries entries = {};

	check(!code_answer__entries(cursor, size, &entries));
	array__free(&entries.entries);
}

static void check_functions(struct cursor *cursor, struct strings *strings, uint64_t size)
{
	struct found_functions found = {};

	check(!code_answer__functions(cursor, strings, size, &found));
	found_functions__free(&found);
}

static void check_places(struct cursor *cursor, struct strings *strings, size_t n)
{
	static struct code_place places[CODE_MAX_PLACES];

	check(n <= CODE_MAX_PLACES && !code_answer__places(cursor, strings, places, n));
}

static void check_code(const struct files *files, const struct request *request,
		       struct cursor *cursor)
{
	struct cursor fields = request->fields;
	struct strings strings = {};
	struct code_names names;

	switch ((enum code_question)request->question) {
	case CODE_PLACES:
		check_places(cursor, &strings, cursor__varint(&fields));
		break;
	case CODE_LINE:
	case CODE_FUNCTION:
	case CODE_OUTSIDE:
		check_ranges(cursor, &strings);
		break;
	case CODE_ENTRIES:
	case CODE_USDT:
		check_entries(cursor, files->size);
		break;
	case CODE_SUGGEST:
	case CODE_USDT_LIST:
		check(!code_answer__names(cursor, &strings, cursor__varint(&fields), &names));
		break;
	case CODE_LINKS:
		check(!code_answer__names(cursor, &strings, CODE_MAX_NAMES, &names));
		break;
	case CODE_DIAGNOSTIC:
		check(!code_answer__names(cursor, &strings, 1, &names));
		break;
	case CODE_FUNCTIONS:
		check_functions(cursor, &strings, files->size);
		break;
	case CODE_IS_PROGRAM:
		check(cursor__varint(cursor) <= 1 && !cursor->bad);
		break;
	case CODE_CLOSE:
		break;
	}
	strings__free(&strings);
}

static void check_answer(struct files *files, const struct request *request, struct cursor *answer)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t n;

	if (request->type == PARSER_CODE_OPEN)
		check(!array__push(&files->kept, request->file));
	if ((request->type != PARSER_CODE_ASK && request->type != PARSER_CODE_FILE) ||
	    request->question == CODE_CLOSE)
		return;
	n = cursor__varint(answer);
	check(!answer->bad && !cursor__left(answer) && n <= CODE_MAX_ANSWER);
	bytes = malloc(n + 1);
	check(bytes && pread(files->result, bytes, n, 0) == (ssize_t)n);
	check_code(files, request, &(struct cursor){.at = bytes, .end = bytes + n});
}

static void ask_and_check(struct files *files, const uint8_t *data, size_t size)
{
	const struct request request = read_request(data, size);
	struct buffer reply = {};
	struct cursor answer = ask(files, data, size, &reply);

	if (!answer.bad)
		check_answer(files, &request, &answer);
	buffer__free(&reply);
}

/* Each input begins with a parser that keeps no files. */
static void close_kept(struct files *files)
{
	for (size_t i = 0; i < files->kept.n; i++) {
		struct buffer request = {};

		buffer__varint(&request, 1);
		buffer__varint(&request, PARSER_CODE_ASK);
		buffer__varint(&request, files->kept.data[i]);
		buffer__varint(&request, CODE_CLOSE);
		ask_and_check(files, request.data, request.n);
		buffer__free(&request);
	}
	array__free(&files->kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct files files = {.program = -1};
	struct stat stats;

	if (files.program < 0) {
		files.program = open(FUZZ_PROGRAM, O_RDONLY | O_CLOEXEC);
		files.result = memfd_create("result", MFD_CLOEXEC);
		check(!fstat(files.program, &stats));
		files.size = (uint64_t)stats.st_size;
	}
	while (size) {
		size_t n = *data++;

		size--;
		n = n < size ? n : size;
		ask_and_check(&files, data, n);
		data += n;
		size -= n;
	}
	close_kept(&files);
	return 0;
}
