/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages with descriptors, over a socket of type SOCK_SEQPACKET between two of dwell's processes.
 * What is in them is varints and strings (base/buffer.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"

#define WIRE_MAX_BYTES (64 << 10) /* of a message; a longer one is not sent, nor received */
#define WIRE_MAX_FDS   3

struct wire_message {
	size_t size;
	int fds[WIRE_MAX_FDS + 1]; /* the receiver's, close-on-exec; padding may carry one more */
	size_t n_fds;
	uint8_t data[WIRE_MAX_BYTES];
};

/* A connected pair, close-on-exec. 0 or -errno. */
int wire__pair(int sockets[2]);

/* Sends @size bytes and the @n descriptors of @fds, which stay the caller's. 0 or -errno. */
int wire__send(int socket, const void *data, size_t size, const int *fds, size_t n);

/*
 * Receives a message, with at most @max_fds descriptors; those of a message with more of either are
 * closed. Does not wait beyond @until (CLOCK_MONOTONIC, ns; 0: not at all, UINT64_MAX: for ever).
 * 0, -ETIMEDOUT, -EPIPE (the other end is closed), -EMSGSIZE, or another -errno.
 */
int wire__receive(int socket, uint64_t until, size_t max_fds, struct wire_message *message);

void wire__close_fds(struct wire_message *message);

void wire__put_string(struct buffer *buffer, const char *text);

/*
 * A string of less than @size bytes, without a NUL in it, copied to @text. Sets cursor->bad if
 * there is none.
 */
void wire__string(struct cursor *cursor, char *text, size_t size);

/* A number of at most @max; sets cursor->bad if it is more. */
uint64_t wire__number(struct cursor *cursor, uint64_t max);

int64_t wire__signed(struct cursor *cursor);
