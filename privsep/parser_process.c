// SPDX-License-Identifier: BSD-2-Clause
/* The process that reads files, in a sandbox. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "abi/unwind.h"
#include "base/cleanup.h"
#include "privsep/debug_wish.h"
#include "privsep/parser_tasks.h"
#include "privsep/parser_wire.h"
#include "privsep/sandbox.h"
#include "privsep/zygote.h"
#include "symbols/symbols.h"
#include "symbols/unwind/unwind_table.h"

#define MEMORY (1ULL << 30)
#define RESULT (1ULL << 30)
#define FDS    4096 /* split debug information has a file for each unit */

int task__write_result(const struct task *task, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n =
			pwrite(task->result, (const char *)data + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int read_build_id(struct task *task)
{
	char hex[129];
	int err = symbols__build_id(task->file, hex, sizeof(hex));

	if (!err)
		wire__put_string(task->answer, hex);
	return err;
}

static int answer_table(struct task *task, const struct unwind_table *table)
{
	int err = task__write_result(task, table->rows, table->n_rows * sizeof(*table->rows));

	if (err)
		return err;
	buffer__varint(task->answer, table->n_rows);
	buffer__varint(task->answer, table->n_segments);
	for (size_t i = 0; i < table->n_segments; i++) {
		buffer__varint(task->answer, table->segments[i].offset);
		buffer__varint(task->answer, table->segments[i].size);
		buffer__svarint(task->answer, table->segments[i].bias);
	}
	return 0;
}

static int read_unwind_table(struct task *task)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	uint64_t max_rows = cursor__varint(&task->fields);
	int err = unwind_table__build_within(task->file, max_rows, &table);

	return err ? err : answer_table(task, table);
}

/* The image of this process has one or two pages; its section headers say where it ends. */
static int read_vdso_table(struct task *task)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	int err =
		vdso ? unwind_table__build_memory(vdso, 2UL * (size_t)sysconf(_SC_PAGESIZE), &table)
		     : -ENOENT;

	return err ? err : answer_table(task, table);
}

static const struct {
	int (*run)(struct task *task);
	bool has_file;
} tasks[] = {
	[PARSER_BUILD_ID] = {read_build_id, true},
	[PARSER_UNWIND_TABLE] = {read_unwind_table, true},
	[PARSER_VDSO_TABLE] = {read_vdso_table, false},
	[PARSER_CODE_OPEN] = {code_task__open, true},
	[PARSER_CODE_ASK] = {code_task__ask, false},
	[PARSER_CODE_FILE] = {code_task__ask_file, true},
};

void parser_process__serve(struct wire_message *message, struct buffer *reply)
{
	struct buffer fields = {};
	struct task task = {
		.fields = {.at = message->data, .end = message->data + message->size},
		.file = -1,
		.result = -1,
		.answer = &fields,
	};
	uint64_t number = cursor__varint(&task.fields), type = cursor__varint(&task.fields);
	size_t next = 0;
	int err = -EPROTO;

	if (!task.fields.bad && type < ARRAY_SIZE(tasks) && tasks[type].run) {
		if (tasks[type].has_file && next < message->n_fds)
			task.file = message->fds[next++];
		if (next < message->n_fds)
			task.result = message->fds[next];
		err = tasks[type].run(&task);
	}
	wire__close_fds(message);
	if (fields.failed)
		err = -ENOMEM;
	buffer__varint(reply, number);
	buffer__varint(reply, (uint64_t)-err);
	if (!err && fields.n)
		buffer__put(reply, fields.data, fields.n);
	buffer__free(&fields);
}

static void say_hello(unsigned int sandbox)
{
	struct buffer hello = {};

	buffer__varint(&hello, 0);
	buffer__varint(&hello, PARSER_HELLO);
	buffer__varint(&hello, sandbox);
	if (!hello.failed)
		wire__send(PROCESS_SOCKET, hello.data, hello.n, NULL, 0);
	buffer__free(&hello);
}

void parser__run(pid_t parent)
{
	static const struct sandbox_limits limits = {.memory = MEMORY, .file = RESULT, .fds = FDS};
	static struct wire_message message;
	unsigned int sandbox;

	debug_wish__install();
	sandbox = sandbox__enter(parent, &limits);
	if (!(sandbox & SANDBOX_CAPS) || !(sandbox & SANDBOX_SYSCALLS))
		_exit(1);
	say_hello(sandbox);
	for (;;) {
		struct buffer reply = {};

		if (wire__receive(PROCESS_SOCKET, UINT64_MAX, 2, &message))
			_exit(0);
		parser_process__serve(&message, &reply);
		if (reply.failed || wire__send(PROCESS_SOCKET, reply.data, reply.n, NULL, 0))
			_exit(1);
		buffer__free(&reply);
	}
}
