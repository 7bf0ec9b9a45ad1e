// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/code_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privsep/parser.h"
#include "privsep/parser_wire.h"

struct code_reader {
	struct privsep *privsep;
	struct parser *parser;
	const struct code_scope *scope;
	struct strings strings;
	ARRAY(struct code_file *) files; /* by number - 1; NULL: the number is free */
	struct buffer question;
	uint8_t *answer;
	size_t capacity; /* of answer */
};

struct code_file {
	struct code_reader *reader;
	uint64_t number;
	int fd;
	char *path;
	int64_t owner; /* uid, once it is open; -1: unknown */
	uint64_t size;
	bool opened; /* in the parser; it may have been replaced since */
	int error;   /* of reading it: it has no code; 0: none as yet */
};

int code_reader__new(struct privsep *privsep, const struct code_scope *scope,
		     struct code_reader **out)
{
	const struct parser_options options = {.request_ns = CODE_QUESTION_NS};
	_cleanup_(code_reader__freep) struct code_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->privsep = privsep;
	reader->scope = scope;
	err = parser__new(privsep, &options, &reader->parser);
	if (err)
		return err;
	*out = TAKE_PTR(reader);
	return 0;
}

/* A free number; 0: there is none. */
static uint64_t find_number(struct code_reader *reader)
{
	for (size_t i = 0; i < reader->files.n; i++)
		if (!reader->files.data[i])
			return i + 1;
	if (reader->files.n == CODE_MAX_FILES || array__push(&reader->files, NULL))
		return 0;
	return reader->files.n;
}

static uint64_t size_of(int fd)
{
	struct stat stats;

	return fd >= 0 && !fstat(fd, &stats) && stats.st_size > 0 ? (uint64_t)stats.st_size : 0;
}

int code_reader__file(struct code_reader *reader, int fd, const char *path, struct code_file **out)
{
	struct code_file *file = calloc(1, sizeof(*file));
	_cleanup_free_ char *copy = strdup(path);

	if (!file || !copy)
		return free(file), -ENOMEM;
	file->number = find_number(reader);
	if (!file->number)
		return free(file), -EMFILE;
	file->reader = reader;
	file->fd = fd;
	file->owner = -1;
	file->path = TAKE_PTR(copy);
	file->size = size_of(fd);
	file->error = file->size ? 0 : -ENOEXEC;
	reader->files.data[file->number - 1] = file;
	*out = file;
	return 0;
}

/* Whether @err says that the file cannot be read, and not that something was not found in it. */
static bool is_fatal(int err)
{
	return err == -EFAULT || err == -ETIMEDOUT || err == -EPROTO || err == -ENOMEM ||
	       err == -E2BIG || err == -EFBIG || err == -EBUSY;
}

/* @err is what parser__ask() has not noted itself. */
static void note_failure(struct code_reader *reader, const char *path, int err)
{
	if (err == -ENOMEM || err == -E2BIG || err == -EFBIG)
		privsep__fail(reader->privsep, path, -ENOMEM);
}

static struct buffer *begin(struct code_reader *reader, enum parser_request_type type)
{
	reader->question.n = 0;
	buffer__varint(&reader->question, type);
	return &reader->question;
}

/* Begins a question about @file. */
static struct buffer *begin_question(struct code_file *file, enum code_question question)
{
	struct buffer *what = begin(file->reader, PARSER_CODE_ASK);

	buffer__varint(what, file->number);
	buffer__varint(what, question);
	return what;
}

static void put_texts(struct buffer *what, const char *const *texts, size_t n)
{
	buffer__varint(what, n);
	for (size_t i = 0; i < n; i++)
		wire__put_string(what, texts[i]);
}

/* Has the parser open @file. 0, or -ENOEXEC: it has no code. */
static int open_file(struct code_file *file)
{
	const struct code_scope *scope = file->reader->scope;
	struct buffer what = {};
	const struct parser_request request = {.name = file->path,
					       .program = file->path,
					       .owner = &file->owner,
					       .fd = file->fd,
					       .what = &what};
	struct cursor fields;
	int err;

	buffer__varint(&what, PARSER_CODE_OPEN);
	buffer__varint(&what, file->number);
	wire__put_string(&what, file->path);
	put_texts(&what, scope->patterns, scope->n_patterns);
	put_texts(&what, scope->without, scope->n_without);
	err = what.failed ? -ENOMEM : parser__ask(file->reader->parser, &request, &fields, NULL);
	buffer__free(&what);
	file->opened = !err;
	if (!err)
		return 0;
	note_failure(file->reader, file->path, err);
	file->error = -ENOEXEC;
	return file->error;
}

/* Reads the answer, of a size that @fields has, from @result to reader->answer. */
static int read_answer(struct code_reader *reader, struct cursor *fields, int result,
		       struct cursor *answer)
{
	size_t size = wire__number(fields, CODE_MAX_ANSWER), done = 0;

	if (fields->bad || cursor__left(fields))
		return -EPROTO;
	if (size > reader->capacity) {
		free(reader->answer);
		reader->answer = malloc(size);
		reader->capacity = reader->answer ? size : 0;
	}
	if (size > reader->capacity)
		return -ENOMEM;
	while (done < size) {
		ssize_t n = pread(result, reader->answer + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPROTO;
		done += (size_t)n;
	}
	*answer = (struct cursor){.at = reader->answer, .end = reader->answer + size};
	return 0;
}

/* Asks what reader->question has about the file of @about. 0 or a negative errno. */
static int ask(struct code_reader *reader, const struct parser_request *about,
	       struct cursor *answer)
{
	struct parser_request request = *about;
	_cleanup_close_ int result = -1;
	struct cursor fields;
	int err;

	request.program = request.name;
	request.what = &reader->question;
	request.has_result = true;
	err = reader->question.failed ? -ENOMEM
				      : parser__ask(reader->parser, &request, &fields, &result);
	if (err)
		return err;
	err = read_answer(reader, &fields, result, answer);
	if (err == -EPROTO)
		privsep__fail(reader->privsep, request.name, err);
	return err;
}

/* After an error of a question: is the file one without code from now on? */
static int check_error(struct code_file *file, int err)
{
	if (!is_fatal(err))
		return err;
	note_failure(file->reader, file->path, err);
	file->error = -ENOEXEC;
	return -ENOEXEC;
}

/* The result of decoding an answer. */
static int end_question(struct code_file *file, int err)
{
	if (err == -EPROTO)
		privsep__fail(file->reader->privsep, file->path, err);
	return check_error(file, err);
}

/* Asks what begin_question() has begun. -ENOEXEC: the file has no code. */
static int ask_file(struct code_file *file, struct cursor *answer)
{
	const struct parser_request about = {.name = file->path, .owner = &file->owner, .fd = -1};
	int err = file->error;

	/* The parser may have been replaced, because of another file. */
	for (int attempt = 0; attempt < 2 && !err; attempt++) {
		if (!file->opened && open_file(file))
			return file->error;
		err = ask(file->reader, &about, answer);
		if (err != -ESTALE)
			break;
		file->opened = false;
		err = attempt ? -EFAULT : 0;
	}
	return check_error(file, err);
}

int code_file__places(struct code_file *file, const uint64_t *addresses, size_t n,
		      struct code_place *places)
{
	int err = 0;

	for (size_t i = 0; i < n; i++)
		places[i] = (struct code_place){.function = ""};
	for (size_t i = 0; i < n && !err; i += CODE_MAX_PLACES) {
		size_t part = n - i < CODE_MAX_PLACES ? n - i : CODE_MAX_PLACES;
		struct buffer *what = begin_question(file, CODE_PLACES);
		struct cursor answer;

		buffer__varint(what, part);
		for (size_t j = 0; j < part; j++)
			buffer__varint(what, addresses[i + j]);
		err = ask_file(file, &answer);
		if (err)
			break;
		err = code_answer__places(&answer, &file->reader->strings, places + i, part);
		for (size_t j = 0; j < part && err; j++)
			places[i + j] = (struct code_place){.function = ""};
		err = end_question(file, err);
	}
	return err;
}

static int take_ranges(struct code_file *file, struct code_ranges *ranges, struct code_place *place)
{
	struct code_ranges found = {};
	struct code_place own;
	struct cursor answer;
	int err = ask_file(file, &answer);

	if (err)
		return err;
	err = code_answer__ranges(&answer, &file->reader->strings, &found, place ? place : &own);
	for (size_t i = 0; i < found.ranges.n && !err; i++)
		err = array__push(&ranges->ranges, found.ranges.data[i]);
	code_ranges__free(&found);
	return end_question(file, err);
}

int code_file__line(struct code_file *file, const char *source, uint32_t line,
		    struct code_ranges *ranges, struct code_place *place)
{
	struct buffer *what = begin_question(file, CODE_LINE);

	wire__put_string(what, source);
	buffer__varint(what, line);
	return take_ranges(file, ranges, place);
}

int code_file__function(struct code_file *file, const char *name, struct code_ranges *ranges,
			const char **full)
{
	struct code_place place = {};
	int err;

	wire__put_string(begin_question(file, CODE_FUNCTION), name);
	err = take_ranges(file, ranges, &place);
	if (!err && full)
		*full = place.function;
	return err;
}

int code_file__out_of_scope(struct code_file *file, uint64_t address, struct code_ranges *ranges)
{
	buffer__varint(begin_question(file, CODE_OUTSIDE), address);
	return take_ranges(file, ranges, NULL);
}

int code_file__entries(struct code_file *file, const char *source, uint32_t line,
		       struct code_entries *entries)
{
	struct buffer *what = begin_question(file, CODE_ENTRIES);
	struct cursor answer;
	int err;

	wire__put_string(what, source);
	buffer__varint(what, line);
	err = ask_file(file, &answer);
	return err ? err : end_question(file, code_answer__entries(&answer, file->size, entries));
}

size_t code_file__suggest(struct code_file *file, const char *text, const char **names, size_t max)
{
	struct buffer *what = begin_question(file, CODE_SUGGEST);
	struct code_names found = {};
	struct cursor answer;

	max = max < CODE_MAX_NAMES ? max : CODE_MAX_NAMES;
	buffer__varint(what, max);
	wire__put_string(what, text);
	if (ask_file(file, &answer) ||
	    end_question(file, code_answer__names(&answer, &file->reader->strings, max, &found)))
		return 0;
	memcpy(names, found.names, found.n * sizeof(*names));
	return found.n;
}

const char *code_file__diagnostic(struct code_file *file)
{
	struct code_names found = {};
	struct cursor answer;

	if (!file->opened)
		return NULL;
	begin_question(file, CODE_DIAGNOSTIC);
	if (ask_file(file, &answer) ||
	    end_question(file, code_answer__names(&answer, &file->reader->strings, 1, &found)))
		return NULL;
	return found.n ? found.names[0] : NULL;
}

int code_file__functions(struct code_file *file, const char *name, bool is_pattern,
			 struct found_functions *found)
{
	struct buffer *what = begin_question(file, CODE_FUNCTIONS);
	struct cursor answer;
	int err;

	wire__put_string(what, name);
	buffer__varint(what, is_pattern);
	err = ask_file(file, &answer);
	if (err)
		return err;
	err = code_answer__functions(&answer, &file->reader->strings, file->size, found);
	return end_question(file, err);
}

void code_file__free(struct code_file *file)
{
	struct cursor answer;

	if (file->opened && !file->error) {
		begin_question(file, CODE_CLOSE);
		(void)ask_file(file, &answer);
	}
	file->reader->files.data[file->number - 1] = NULL;
	free(file->path);
	free(file);
}

/* Begins a question about a file that is not kept. */
static struct buffer *begin_once(struct code_reader *reader, enum code_question question)
{
	struct buffer *what = begin(reader, PARSER_CODE_FILE);

	buffer__varint(what, question);
	return what;
}

static int ask_once(struct code_reader *reader, int fd, const char *path, struct cursor *answer)
{
	int64_t owner = -1;
	const struct parser_request about = {.name = path, .owner = &owner, .fd = fd};
	int err = fd < 0 ? -ENOEXEC : ask(reader, &about, answer);

	note_failure(reader, path, err);
	return is_fatal(err) ? -ENOEXEC : err;
}

bool code_reader__is_program(struct code_reader *reader, int fd, const char *path)
{
	struct cursor answer;

	begin_once(reader, CODE_IS_PROGRAM);
	return !ask_once(reader, fd, path, &answer) && wire__number(&answer, 1);
}

int code_reader__usdt(struct code_reader *reader, int fd, const char *path, const char *provider,
		      const char *name, struct code_entries *entries)
{
	struct buffer *what = begin_once(reader, CODE_USDT);
	struct cursor answer;
	int err;

	wire__put_string(what, provider);
	wire__put_string(what, name);
	err = ask_once(reader, fd, path, &answer);
	err = err ? err : code_answer__entries(&answer, size_of(fd), entries);
	if (err == -EPROTO)
		privsep__fail(reader->privsep, path, err);
	return err == -EPROTO ? -ENOEXEC : err;
}

size_t code_reader__usdt_names(struct code_reader *reader, int fd, const char *path,
			       const char **names, size_t max)
{
	struct buffer *what = begin_once(reader, CODE_USDT_LIST);
	struct code_names found = {};
	struct cursor answer;

	max = max < CODE_MAX_NAMES ? max : CODE_MAX_NAMES;
	buffer__varint(what, max);
	if (ask_once(reader, fd, path, &answer) ||
	    code_answer__names(&answer, &reader->strings, max, &found))
		return 0;
	memcpy(names, found.names, found.n * sizeof(*names));
	return found.n;
}

int code_reader__links(struct code_reader *reader, int fd, const char *path,
		       struct code_names *links)
{
	struct cursor answer;
	int err;

	*links = (struct code_names){};
	begin_once(reader, CODE_LINKS);
	err = ask_once(reader, fd, path, &answer);
	return err ? err : code_answer__names(&answer, &reader->strings, CODE_MAX_NAMES, links);
}

pid_t code_reader__pid(const struct code_reader *reader)
{
	return parser__pid(reader->parser);
}

void code_reader__free(struct code_reader *reader)
{
	if (reader->parser)
		parser__free(reader->parser);
	for (size_t i = 0; i < reader->files.n; i++)
		if (reader->files.data[i])
			free(reader->files.data[i]->path);
	for (size_t i = 0; i < reader->files.n; i++)
		free(reader->files.data[i]);
	strings__free(&reader->strings);
	array__free(&reader->files);
	buffer__free(&reader->question);
	free(reader->answer);
	free(reader);
}
