// SPDX-License-Identifier: BSD-2-Clause
/*
 * relay: a client, a front and a store, each a process. The client asks the front over TCP, which
 * asks the store. Their work is shorter than a sampling period or two, and each measures its
 * functions by its own CPU clock. All that they do is for the client.
 */
#include "tests/programs/paths/paths.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define FRONT 1
#define STORE 2

/* A macro: the function is to be on the stack by its own name. */
#define TIMED_WORK(function)                                                                       \
	SEPARATE void function(uint64_t us);                                                       \
	SEPARATE void function(uint64_t us)                                                        \
	{                                                                                          \
		uint64_t since = clock_ns(CLOCK_THREAD_CPUTIME_ID), now;                           \
                                                                                                   \
		do {                                                                               \
			BURN(2000);                                                                \
			now = clock_ns(CLOCK_THREAD_CPUTIME_ID);                                   \
		} while (now - since < us * NS_PER_US);                                            \
		truth__add(#function, now - since);                                                \
		NO_TAIL_CALL();                                                                    \
	}

TIMED_WORK(client_think)
TIMED_WORK(front_parse)
TIMED_WORK(front_answer)
TIMED_WORK(store_find)
TIMED_WORK(store_compute)

static int listen_at(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)address, &size))
		die("listen: %s", strerror(errno));
	return fd;
}

static int no_delay(int fd)
{
	int on = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("TCP_NODELAY: %s", strerror(errno));
	return fd;
}

static int connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		die("connect: %s", strerror(errno));
	return no_delay(fd);
}

static struct sockaddr_in front_address, store_address;
static int front_listens, store_listens;

static void serve_store(void)
{
	int front = no_delay(accept(store_listens, NULL, NULL));

	for (int i = 0; i < rounds; i++) {
		get(front);
		store_find(500);
		store_compute(1500);
		put(front);
	}
}

static void serve_front(void)
{
	int client = no_delay(accept(front_listens, NULL, NULL));
	int store = connect_to(&store_address);

	for (int i = 0; i < rounds; i++) {
		get(client);
		front_parse(400);
		put(store);
		get(store);
		front_answer(600);
		put(client);
	}
}

void run_relay(void)
{
	pid_t front, store;
	int fd;

	front_listens = listen_at(&front_address);
	store_listens = listen_at(&store_address);
	store = party__fork(STORE, serve_store);
	front = party__fork(FRONT, serve_front);
	fd = connect_to(&front_address);
	for (int i = 0; i < rounds; i++) {
		client_think(300);
		put(fd);
		get(fd);
	}
	party__wait_for(FRONT, front);
	party__wait_for(STORE, store);
}
