// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "privsep/cached_open.h"
#include "privsep/opener_wire.h"

/* Processes that may be left behind, killed, but blocked. */
#define MAX_ABANDONED 8

struct opener {
	struct privsep *privsep;
	pthread_mutex_t lock; /* of what follows */
	struct privsep_child child;
	int abandoned[MAX_ABANDONED]; /* pidfds of those that have not ended yet */
	size_t n_abandoned;
	struct map64 blocked; /* hashes of roots in which a lookup has blocked */
	struct buffer request;
	struct wire_message message;
};

int opener__new(struct privsep *privsep, struct opener **out)
{
	struct opener *opener = calloc(1, sizeof(*opener));

	if (!opener)
		return -ENOMEM;
	pthread_mutex_init(&opener->lock, NULL);
	opener->privsep = privsep;
	opener->child = (struct privsep_child)PRIVSEP_NO_CHILD;
	*out = opener;
	return 0;
}

static uint64_t root_key(const struct open_request *request)
{
	const char *root = request->root ? request->root : "";

	return hash__bytes(root, strlen(root));
}

/* The opener process has blocked in @request, or has ended (NULL). */
static void abandon(struct opener *opener, const struct open_request *request)
{
	if (opener->n_abandoned < MAX_ABANDONED) {
		int pidfd = fcntl(opener->child.pidfd, F_DUPFD_CLOEXEC, 3);

		if (pidfd >= 0)
			opener->abandoned[opener->n_abandoned++] = pidfd;
	}
	privsep__kill(&opener->child);
	if (request && request->root)
		map64__put(&opener->blocked, root_key(request), 0);
}

/* Whether fewer processes than MAX_ABANDONED are blocked. Forgets those that have ended. */
static bool has_patience(struct opener *opener)
{
	size_t n = 0;

	for (size_t i = 0; i < opener->n_abandoned; i++) {
		struct pollfd ended = {.fd = opener->abandoned[i], .events = POLLIN};

		if (poll(&ended, 1, 0) > 0)
			close(ended.fd);
		else
			opener->abandoned[n++] = ended.fd;
	}
	opener->n_abandoned = n;
	return n < MAX_ABANDONED;
}

static int send_request(struct opener *opener, const struct open_request *request)
{
	struct buffer *buffer = &opener->request;
	int fds[WIRE_MAX_FDS];
	uint64_t flags = request->no_follow ? OPEN_NO_FOLLOW : 0;
	size_t n = 0;

	if (request->path)
		flags |= OPEN_PATH;
	else
		fds[n++] = request->fd;
	if (request->root)
		flags |= OPEN_ROOT;
	if (request->to >= 0) {
		flags |= OPEN_FORWARD;
		fds[n++] = request->to;
	}
	if (request->result >= 0) {
		flags |= OPEN_RESULT;
		fds[n++] = request->result;
	}
	buffer->n = 0;
	buffer__varint(buffer, flags);
	wire__put_string(buffer, request->path);
	wire__put_string(buffer, request->root);
	if (request->size)
		buffer__put(buffer, request->message, request->size);
	return buffer->failed ? -ENOMEM
			      : wire__send(opener->child.socket, buffer->data, buffer->n, fds, n);
}

/* Reads the answer in opener->message. Its descriptor, if there is one, is then @found's. */
static int read_answer(struct opener *opener, struct found_file *found)
{
	struct wire_message *message = &opener->message;
	struct cursor cursor = {.at = message->data, .end = message->data + message->size};
	int err = -(int)wire__number(&cursor, 4095);
	struct found_file file = {.fd = -1};

	file.device = cursor__varint(&cursor);
	file.inode = cursor__varint(&cursor);
	file.size = cursor__varint(&cursor);
	file.owner = (uint32_t)wire__number(&cursor, UINT32_MAX);
	file.mode = (uint32_t)wire__number(&cursor, UINT32_MAX);
	if (!err && cursor.bad)
		err = -EPROTO;
	if (!err && found) {
		if (message->n_fds)
			file.fd = message->fds[--message->n_fds];
		*found = file;
	}
	wire__close_fds(message);
	return err;
}

/* Receives the answer. A process that only waits for a CPU gets more time. */
static int receive(struct opener *opener)
{
	uint64_t before = privsep__cpu_ns(&opener->child);
	int err = -ETIMEDOUT;

	for (int i = 0; i < PRIVSEP_PATIENCE && err == -ETIMEDOUT; i++) {
		err = wire__receive(opener->child.socket, now_ns(CLOCK_MONOTONIC) + OPENER_NS, 1,
				    &opener->message);
		if (err == -ETIMEDOUT && !privsep__is_starved(&opener->child, before, OPENER_NS))
			break;
	}
	return err;
}

/* Asks for @request; *@answered: the answer is in opener->message. */
static int ask(struct opener *opener, const struct open_request *request, bool *answered)
{
	int err = 0;

	*answered = false;
	if (opener->child.socket < 0 && !has_patience(opener))
		return -EBUSY;
	if (opener->child.socket < 0)
		err = privsep__spawn(opener->privsep, PRIVSEP_OPENER, &opener->child);
	if (err)
		return err;
	err = send_request(opener, request);
	if (err == -ENOMEM || err == -EMSGSIZE || err == -EBADF)
		return err;
	if (!err)
		err = receive(opener);
	if (err)
		abandon(opener, err == -ETIMEDOUT ? request : NULL);
	*answered = !err;
	return err;
}

/* The lock is held. */
static int open_by(struct opener *opener, const struct open_request *request,
		   struct found_file *found)
{
	bool answered;
	int err;

	if (request->root && map64__get(&opener->blocked, root_key(request)))
		return -ETIMEDOUT;
	err = ask(opener, request, &answered);
	if (err == -EPIPE) /* it was killed, perhaps long ago */
		err = ask(opener, request, &answered);
	return answered ? read_answer(opener, found) : err;
}

int opener__open(struct opener *opener, const struct open_request *request,
		 struct found_file *found)
{
	int err = cached_open(request, found);

	if (err != -EAGAIN)
		return err;
	pthread_mutex_lock(&opener->lock);
	err = open_by(opener, request, found);
	pthread_mutex_unlock(&opener->lock);
	return err;
}

bool found_file__is_shared(const struct found_file *found, int64_t owner)
{
	return found->mode & S_IROTH || found->owner == owner;
}

pid_t opener__pid(const struct opener *opener)
{
	return opener->child.pid;
}

void opener__free(struct opener *opener)
{
	privsep__kill(&opener->child);
	for (size_t i = 0; i < opener->n_abandoned; i++)
		close(opener->abandoned[i]);
	map64__free(&opener->blocked);
	buffer__free(&opener->request);
	pthread_mutex_destroy(&opener->lock);
	free(opener);
}
