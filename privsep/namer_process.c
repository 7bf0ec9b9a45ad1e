// SPDX-License-Identifier: BSD-2-Clause
/* The process that finds names, in a sandbox. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "privsep/names_wire.h"
#include "privsep/sandbox.h"
#include "privsep/zygote.h"
#include "symbols/symbol_files.h"

#define MEMORY (2ULL << 30)
#define FDS    65536

struct namer {
	struct symbolizer *symbolizer;
	int result;
	struct wire_message message;
	struct buffer reply;
	struct names_source source;
	struct unnamed_address addresses[NAMES_BATCH_ADDRESSES];
};

static void send_reply(struct namer *namer)
{
	if (namer->reply.failed ||
	    wire__send(PROCESS_SOCKET, namer->reply.data, namer->reply.n, NULL, 0))
		_exit(1);
	namer->reply.n = 0;
}

/* The next message, of @type. */
static struct cursor receive(struct namer *namer, enum names_message type)
{
	struct wire_message *message = &namer->message;
	struct cursor cursor;

	if (wire__receive(PROCESS_SOCKET, UINT64_MAX, 1, message))
		_exit(0);
	cursor = (struct cursor){.at = message->data, .end = message->data + message->size};
	if (cursor__varint(&cursor) != type)
		_exit(1);
	return cursor;
}

/* As symbol_file_open_fn. The file is of the source in progress. */
static int ask_for_file(void *context, const struct symbol_source *source,
			const struct symbol_file_request *request)
{
	struct namer *namer = context;
	struct cursor cursor;
	int err;

	(void)source;
	buffer__varint(&namer->reply, NAMES_OPEN);
	buffer__varint(&namer->reply, request->kind);
	buffer__varint(&namer->reply, request->outside);
	wire__put_string(&namer->reply, request->name);
	send_reply(namer);
	cursor = receive(namer, NAMES_FILE);
	err = -(int)wire__number(&cursor, 4095);
	if (!err && namer->message.n_fds == 1)
		return namer->message.fds[0];
	wire__close_fds(&namer->message);
	return err ? err : -ENOENT;
}

static void start(struct namer *namer)
{
	struct cursor cursor = receive(namer, NAMES_START);
	char debug_root[NAMES_MAX_PATH];
	struct symbolizer_options options = {
		.lines = wire__number(&cursor, 1),
		.debuginfod = wire__number(&cursor, 1),
		.debug_root = debug_root,
		.open_file = ask_for_file,
		.open_context = namer,
	};

	wire__string(&cursor, debug_root, sizeof(debug_root));
	if (cursor.bad || namer->message.n_fds != 1 ||
	    symbolizer__new(&options, &namer->symbolizer))
		_exit(1);
	namer->result = namer->message.fds[0];
}

static void name_address(struct namer *namer, int source, const struct unnamed_address *address,
			 struct names_writer *writer)
{
	struct symbol_frame frames[NAMES_MAX_FRAMES] = {};
	size_t n = 1;

	if (address->data)
		frames[0].name = symbolizer__variable(namer->symbolizer, source, address->address);
	else
		n = symbolizer__resolve(namer->symbolizer, source, address->address, frames,
					NAMES_MAX_FRAMES);
	names_writer__frames(writer, frames, n);
}

static int write_result(const struct namer *namer, const struct buffer *bytes)
{
	size_t done = 0;

	if (bytes->failed)
		return -ENOMEM;
	if (bytes->n > NAMES_MAX_RESULT)
		return -EDQUOT;
	while (done < bytes->n) {
		ssize_t n = pwrite(namer->result, bytes->data + done, bytes->n - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

static void name_batch(struct namer *namer)
{
	struct cursor cursor = receive(namer, NAMES_BATCH);
	struct names_writer names = {};
	int source, err;
	size_t n;

	names_wire__source(&cursor, &namer->source);
	n = names_wire__addresses(&cursor, namer->addresses);
	if (cursor.bad)
		_exit(1);
	source = symbolizer__add_source(namer->symbolizer, &namer->source.source);
	if (source < 0)
		_exit(1);
	for (size_t i = 0; i < n; i++)
		name_address(namer, source, &namer->addresses[i], &names);
	/* It is known only now. */
	names_writer__string(&names, symbolizer__diagnostic(namer->symbolizer, source));
	err = write_result(namer, &names.bytes);
	buffer__varint(&namer->reply, NAMES_DONE);
	buffer__varint(&namer->reply, (uint64_t)-err);
	buffer__varint(&namer->reply, names.bytes.n);
	send_reply(namer);
	names_writer__free(&names);
}

void namer__run(pid_t parent)
{
	static const struct sandbox_limits limits = {
		.memory = MEMORY, .file = NAMES_MAX_RESULT, .fds = FDS};
	static struct namer namer;
	unsigned int sandbox = sandbox__enter(parent, &limits);

	if (!(sandbox & SANDBOX_CAPS) || !(sandbox & SANDBOX_SYSCALLS))
		_exit(1);
	buffer__varint(&namer.reply, NAMES_HELLO);
	buffer__varint(&namer.reply, sandbox);
	send_reply(&namer);
	start(&namer);
	for (;;)
		name_batch(&namer);
}
