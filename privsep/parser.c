// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/parser.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "privsep/debug_path.h"
#include "privsep/parser_wire.h"

/* Messages that may come before an answer: the first one, answers to requests given up. */
#define MAX_OTHERS 8
/* Debug files that it may ask for in a request, and that may block until it gets no more. */
#define MAX_WANTED  20000
#define MAX_BLOCKED 2

/* A request in the queue; the first one is what the process works on, if number is not 0. */
struct queued {
	struct parser_request request;
	struct buffer what;
	char *name;
};

struct parser {
	struct privsep *privsep;
	struct privsep_child child;
	uint64_t request_ns;
	unsigned int failures;
	unsigned int sandbox;
	uint64_t last_number;
	uint64_t number; /* of the request in progress; 0: none */
	uint64_t deadline;
	uint64_t last_deadline; /* while the process waits for a CPU */
	uint64_t cpu_before;	/* CPU time of the process at the start of the request */
	uint64_t asked_at;
	int result; /* of the request in progress; -1: none */
	/* Of the request in progress, whose debug files it may have, or NULL; and its uid. */
	const char *program;
	int64_t owner;
	unsigned int wanted; /* debug files, in this request */
	unsigned int blocked;
	bool greeted; /* the process has said which parts of its sandbox hold */
	ARRAY(struct queued) queue;
	size_t first; /* in the queue */
	struct buffer message;
	struct wire_message received;
};

int parser__new(struct privsep *privsep, const struct parser_options *options, struct parser **out)
{
	struct parser *parser = calloc(1, sizeof(*parser));
	int err;

	if (!parser)
		return -ENOMEM;
	parser->privsep = privsep;
	parser->child = (struct privsep_child)PRIVSEP_NO_CHILD;
	parser->result = -1;
	parser->request_ns = options->request_ns ? options->request_ns : PARSER_REQUEST_NS;
	err = privsep__spawn(privsep, PRIVSEP_PARSER, &parser->child);
	if (err) {
		free(parser);
		return err;
	}
	*out = parser;
	return 0;
}

/* The process is replaced when the next request comes. */
static void give_up(struct parser *parser)
{
	privsep__kill(&parser->child);
	parser->greeted = false;
	parser->failures++;
}

static int encode(struct parser *parser, const struct buffer *what)
{
	parser->message.n = 0;
	buffer__varint(&parser->message, ++parser->last_number);
	buffer__put(&parser->message, what->data, what->n);
	return parser->message.failed ? -ENOMEM : 0;
}

/* Whether there is a process to ask. */
static int need_process(struct parser *parser)
{
	if (parser->child.socket >= 0)
		return 0;
	if (parser->failures > PARSER_MAX_FAILURES)
		return -EBUSY;
	return privsep__spawn(parser->privsep, PRIVSEP_PARSER, &parser->child);
}

/* Opens the file of @open, and asks about it. -EPIPE: the process has ended before. */
static int ask_once(struct parser *parser, struct open_request *open, const struct buffer *what,
		    struct found_file *found)
{
	int err = need_process(parser);

	if (!err)
		err = encode(parser, what);
	if (err)
		return err;
	parser->cpu_before = privsep__cpu_ns(&parser->child);
	parser->wanted = 0;
	open->to = parser->child.socket;
	open->message = parser->message.data;
	open->size = parser->message.n;
	open->result = parser->result;
	if (open->path || open->fd >= 0)
		err = opener__open(privsep__opener(parser->privsep), open, found);
	else
		err = wire__send(open->to, open->message, open->size, &open->result,
				 open->result >= 0);
	if (err)
		return err;
	parser->number = parser->last_number;
	parser->asked_at = now_ns(CLOCK_MONOTONIC);
	parser->deadline = parser->asked_at + parser->request_ns;
	parser->last_deadline = parser->asked_at + PRIVSEP_PATIENCE * parser->request_ns;
	return 0;
}

static int ask(struct parser *parser, struct open_request *open, const struct buffer *what,
	       struct found_file *found)
{
	int err = ask_once(parser, open, what, found);

	if (err != -EPIPE)
		return err;
	give_up(parser);
	return ask_once(parser, open, what, found);
}

/* Whether the deadline has passed. A process that only waits for a CPU gets more time. */
static bool is_late(struct parser *parser)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (now < parser->deadline)
		return false;
	if (now > parser->last_deadline ||
	    !privsep__is_starved(&parser->child, parser->cpu_before, parser->request_ns))
		return true;
	parser->deadline = now + parser->request_ns;
	return false;
}

/* Opens the debug file @path, and sends it to the process with @opened. 0 or -errno. */
static int open_debug_file(struct parser *parser, const char *path, const struct buffer *opened)
{
	char clean[PATH_MAX];
	const struct open_request find = {.path = clean, .fd = -1, .to = -1, .result = -1};
	struct open_request pass = {.to = parser->child.socket,
				    .message = opened->data,
				    .size = opened->n,
				    .result = -1};
	struct opener *opener = privsep__opener(parser->privsep);
	struct found_file found = {.fd = -1};
	int err;

	if (!parser->program || parser->blocked >= MAX_BLOCKED ||
	    !debug_path__is_allowed(parser->program, path, clean))
		return -EACCES;
	err = opener__open(opener, &find, &found);
	if (!err && !found_file__is_shared(&found, parser->owner))
		err = -EACCES;
	pass.fd = found.fd;
	if (!err)
		err = opener__open(opener, &pass, NULL);
	if (found.fd >= 0)
		close(found.fd);
	parser->blocked += err == -ETIMEDOUT;
	return err;
}

/* Answers the wish for a debug file. 0, -EPROTO or -ENOMEM. */
static int give_file(struct parser *parser, struct cursor *cursor)
{
	struct buffer *reply = &parser->message; /* of the request, which was sent */
	uint64_t number = cursor__varint(cursor);
	char path[PATH_MAX];
	int err;

	wire__string(cursor, path, sizeof(path));
	if (cursor->bad || cursor__left(cursor) || ++parser->wanted > MAX_WANTED)
		return -EPROTO;
	reply->n = 0;
	buffer__varint(reply, number);
	buffer__varint(reply, 0);
	err = reply->failed ? -ENOMEM : open_debug_file(parser, path, reply);
	if (!err || reply->failed)
		return err;
	reply->n = 0;
	buffer__varint(reply, number);
	buffer__varint(reply, (uint64_t)-err);
	(void)wire__send(parser->child.socket, reply->data, reply->n, NULL, 0);
	return 0;
}

/* What the process says that is no answer. 0, or -EPROTO. */
static int take_notice(struct parser *parser, struct cursor *cursor)
{
	uint64_t notice = cursor__varint(cursor);

	if (!cursor->bad && notice == PARSER_WANTS_FILE)
		return give_file(parser, cursor);
	if (cursor->bad || notice != PARSER_HELLO || parser->greeted)
		return -EPROTO;
	parser->greeted = true;
	parser->sandbox = (unsigned int)cursor__varint(cursor);
	return 0;
}

/*
 * Receives the answer to the request in progress, until @until; sets @cursor to its fields.
 * -EAGAIN: there is none yet; otherwise the request is no longer in progress.
 */
static int receive(struct parser *parser, uint64_t until, struct cursor *cursor)
{
	struct wire_message *message = &parser->received;
	unsigned int others = 0;
	uint64_t number = 0;
	int err;

	do {
		uint64_t last = until < parser->deadline ? until : parser->deadline;

		err = wire__receive(parser->child.socket, last, 0, message);
		if (err == -ETIMEDOUT && !is_late(parser)) {
			if (now_ns(CLOCK_MONOTONIC) >= until)
				return -EAGAIN;
			err = 0;
			continue;
		}
		if (err)
			break;
		*cursor =
			(struct cursor){.at = message->data, .end = message->data + message->size};
		number = cursor__varint(cursor);
		if (cursor->bad || (number && number != parser->number && ++others > MAX_OTHERS))
			err = -EPROTO;
		else if (!number)
			err = take_notice(parser, cursor);
		if (!err && number != parser->number && is_late(parser))
			err = -ETIMEDOUT;
	} while (!err && number != parser->number); /* a message to an earlier request */
	parser->number = 0;
	if (err) {
		give_up(parser);
		return err == -ETIMEDOUT ? err : err == -EPIPE ? -EFAULT : -EPROTO;
	}
	return -(int)wire__number(cursor, 4095);
}

static int reserve_result(struct parser *parser)
{
	parser->result = memfd_create("dwell-result", MFD_CLOEXEC);
	return parser->result < 0 ? -errno : 0;
}

static void drop_result(struct parser *parser)
{
	if (parser->result >= 0)
		close(parser->result);
	parser->result = -1;
}

/* Takes the first request from the queue. */
static struct queued dequeue(struct parser *parser)
{
	struct queued queued = parser->queue.data[parser->first++];

	if (parser->first == parser->queue.n)
		parser->first = parser->queue.n = 0;
	return queued;
}

static void note_failure(struct parser *parser, const char *name, int err)
{
	if (err == -EFAULT || err == -ETIMEDOUT || err == -EPROTO)
		privsep__fail(parser->privsep, name, err);
}

/* Answers the first request of the queue. */
static void answer(struct parser *parser, int err, struct cursor *fields)
{
	const struct parser_answer answer = {
		.err = err,
		.fields = fields,
		.ns = fields ? now_ns(CLOCK_MONOTONIC) - parser->asked_at : 0,
		.result = parser->result,
	};
	struct queued queued = dequeue(parser);

	note_failure(parser, queued.name, err);
	queued.request.on_answer(queued.request.arg, queued.request.tag, &answer);
	drop_result(parser);
	buffer__free(&queued.what);
	free(queued.name);
}

/* Begins with the first request of the queue. */
static void start_next(struct parser *parser)
{
	struct queued *queued = &parser->queue.data[parser->first];
	struct open_request open = {.fd = queued->request.fd};
	int err = queued->request.has_result ? reserve_result(parser) : 0;

	if (!err)
		err = ask(parser, &open, &queued->what, NULL);
	if (err)
		answer(parser, err, NULL);
}

int parser__request(struct parser *parser, const struct parser_request *request)
{
	struct queued queued = {.request = *request, .name = strdup(request->name)};

	if (queued.name)
		buffer__put(&queued.what, request->what->data, request->what->n);
	if (queued.name && !queued.what.failed && !array__push(&parser->queue, queued))
		return 0;
	free(queued.name);
	buffer__free(&queued.what);
	return -ENOMEM;
}

size_t parser__pending(const struct parser *parser)
{
	return parser->queue.n - parser->first;
}

int parser__fd(const struct parser *parser)
{
	return parser->number ? parser->child.socket : -1;
}

void parser__run_until(struct parser *parser, uint64_t until)
{
	while (parser__pending(parser)) {
		struct cursor fields = {};
		int err;

		if (!parser->number) {
			start_next(parser);
			continue;
		}
		err = receive(parser, until, &fields);
		if (err == -EAGAIN)
			return;
		answer(parser, err, &fields);
	}
}

int parser__ask(struct parser *parser, const struct parser_request *request, struct cursor *fields,
		int *result)
{
	struct open_request open = {.fd = request->fd};
	struct found_file program = {.fd = -1};
	int err = request->has_result ? reserve_result(parser) : 0;

	parser->program = request->program;
	err = err ? err : ask(parser, &open, request->what, &program);
	if (!err && request->program && request->fd >= 0)
		*request->owner = program.owner;
	parser->owner = request->program ? *request->owner : -1;
	err = err ? err : receive(parser, UINT64_MAX, fields);
	parser->program = NULL;
	note_failure(parser, request->name, err);
	if (!err && request->has_result)
		*result = TAKE_FD(parser->result);
	drop_result(parser);
	return err;
}

int parser_answer__build_id(struct cursor *fields, char *hex, size_t size)
{
	char text[129];

	wire__string(fields, text, sizeof(text));
	if (fields->bad || cursor__left(fields) || !*text || text[strspn(text, "0123456789abcdef")])
		return -EPROTO;
	if (strlen(text) >= size)
		return -ENOSPC;
	memcpy(hex, text, strlen(text) + 1);
	return 0;
}

int parser__build_id(struct parser *parser, struct open_request *request, struct found_file *found,
		     char *hex, size_t size)
{
	struct found_file own = {.fd = -1};
	struct buffer what = {};
	struct cursor fields = {};
	int err;

	buffer__varint(&what, PARSER_BUILD_ID);
	err = what.failed ? -ENOMEM : ask(parser, request, &what, found ? found : &own);
	buffer__free(&what);
	if (own.fd >= 0)
		close(own.fd);
	if (err)
		return err;
	err = receive(parser, UINT64_MAX, &fields);
	if (err) {
		note_failure(parser, request->path ? request->path : "", err);
		return err;
	}
	return parser_answer__build_id(&fields, hex, size);
}

unsigned int parser__sandbox(const struct parser *parser)
{
	return parser->sandbox;
}

pid_t parser__pid(const struct parser *parser)
{
	return parser->child.pid;
}

void parser__free(struct parser *parser)
{
	privsep__kill(&parser->child);
	drop_result(parser);
	while (parser__pending(parser)) {
		struct queued queued = dequeue(parser);

		buffer__free(&queued.what);
		free(queued.name);
	}
	array__free(&parser->queue);
	buffer__free(&parser->message);
	free(parser);
}
