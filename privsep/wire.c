// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

int wire__pair(int sockets[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) ? -errno : 0;
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WIRE_MAX_FDS * sizeof(int))];
};

int wire__send(int socket, const void *data, size_t size, const int *fds, size_t n)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {};
	ssize_t sent;

	if (size > WIRE_MAX_BYTES || n > WIRE_MAX_FDS)
		return -EMSGSIZE;
	if (n) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Waits until @socket can be read. 0, -ETIMEDOUT or another -errno. */
static int wait_for_message(int socket, uint64_t until)
{
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	int n;

	do {
		uint64_t now = now_ns(CLOCK_MONOTONIC), left = until > now ? until - now : 0;
		struct timespec time = {.tv_sec = (time_t)(left / 1000000000),
					.tv_nsec = (long)(left % 1000000000)};

		n = ppoll(&ready, 1, until == UINT64_MAX ? NULL : &time, NULL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

static void take_fds(struct wire_message *message, struct msghdr *header)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
		    n > ARRAY_SIZE(message->fds) - message->n_fds)
			continue;
		memcpy(message->fds + message->n_fds, CMSG_DATA(part), n * sizeof(int));
		message->n_fds += n;
	}
}

int wire__receive(int socket, uint64_t until, size_t max_fds, struct wire_message *message)
{
	struct iovec part = {.iov_base = message->data, .iov_len = sizeof(message->data)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {};
	ssize_t received;
	int err = wait_for_message(socket, until);

	message->size = message->n_fds = 0;
	if (err)
		return err;
	if (max_fds) { /* without room for them the kernel drops all descriptors */
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(max_fds * sizeof(int));
	}
	do
		received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (received < 0 && errno == EINTR);
	if (received < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	take_fds(message, &header);
	if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || message->n_fds > max_fds) {
		wire__close_fds(message);
		return -EMSGSIZE;
	}
	if (!received)
		return -EPIPE;
	message->size = (size_t)received;
	return 0;
}

void wire__close_fds(struct wire_message *message)
{
	for (size_t i = 0; i < message->n_fds; i++)
		if (message->fds[i] >= 0)
			close(message->fds[i]);
	message->n_fds = 0;
}

void wire__put_string(struct buffer *buffer, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	buffer__varint(buffer, size);
	if (size)
		buffer__put(buffer, text, size);
}

void wire__string(struct cursor *cursor, char *text, size_t size)
{
	uint64_t length = cursor__varint(cursor);
	const void *bytes = length < size ? cursor__bytes(cursor, length) : NULL;

	text[0] = '\0';
	if (!bytes || memchr(bytes, '\0', length)) {
		cursor->bad = true;
		return;
	}
	memcpy(text, bytes, length);
	text[length] = '\0';
}

uint64_t wire__number(struct cursor *cursor, uint64_t max)
{
	uint64_t value = cursor__varint(cursor);

	if (value <= max)
		return value;
	cursor->bad = true;
	return 0;
}

int64_t wire__signed(struct cursor *cursor)
{
	uint64_t value = cursor__varint(cursor);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
