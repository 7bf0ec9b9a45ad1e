/* SPDX-License-Identifier: BSD-2-Clause */
/* What a parser does for requests. Each returns 0 or the negative errno that is answered. */
#pragma once

#include "base/buffer.h"
#include "privsep/wire.h"

/* Does what @message asks, closes its descriptors, and puts the answer in @reply. */
void parser_process__serve(struct wire_message *message, struct buffer *reply);

/* A request: its fields, its descriptors (-1: not sent), and its answer. */
struct task {
	struct cursor fields;
	int file;
	int result;
	struct buffer *answer;
};

/* Writes @size bytes to the result. 0 or -errno. */
int task__write_result(const struct task *task, const void *data, size_t size);

/* Of enum parser_request_type: PARSER_CODE_OPEN, _ASK, _FILE. */
int code_task__open(struct task *task);
int code_task__ask(struct task *task);
int code_task__ask_file(struct task *task);
