/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for pipes, sockets and eventfds. */
#include "tests/programs/common/loopback.h"
#include "tests/programs/waits/kinds.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>

void put_one(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN && errno != EPIPE)
		die("write");
}

void take_one(int fd)
{
	uint64_t one;

	if (read(fd, &one, sizeof(one)) < 0)
		die("read");
}

static void prepare_pipe(struct wait_slot *slot)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	slot->fd = ends[0];
	slot->other_fd = ends[1];
}

void wait_read(struct wait_slot *slot)
{
	take_one(slot->fd);
}

static void wake_write(struct wait_slot *slot)
{
	put_one(slot->other_fd);
}

static void wait_pipe_write(struct wait_slot *slot)
{
	static char block[4096];

	if (write(slot->other_fd, block, sizeof(block)) < 0)
		die("write");
}

/* Reads one page; the writer fills it at once and waits again. */
static void wake_pipe_write(struct wait_slot *slot)
{
	char block[4096];
	int queued = 0;

	if (ioctl(slot->fd, FIONREAD, &queued) || queued < (int)sizeof(block))
		return;
	if (read(slot->fd, block, sizeof(block)) < 0)
		die("read");
}

static void prepare_unix(struct wait_slot *slot)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	slot->fd = ends[0];
	slot->other_fd = ends[1];
}

static void wait_recv(struct wait_slot *slot)
{
	char byte[8];

	if (recv(slot->fd, byte, sizeof(byte), 0) < 0)
		die("recv");
}

/* A child that sends a byte every 10 ms until it is killed. */
static void run_sender(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "sender");
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		_exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (;;) {
		sleep_ns(WAIT_NS);
		if (send(fd, "t", 1, 0) < 0)
			_exit(0);
	}
}

static void prepare_tcp(struct wait_slot *slot)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	int listener = loopback__listen(&slot->address, 16);

	slot->child = fork();
	if (slot->child < 0)
		die("fork");
	if (!slot->child)
		run_sender(&slot->address);
	slot->fd = accept(listener, (struct sockaddr *)&peer, &size);
	if (slot->fd < 0)
		die("accept");
	close(listener);
	snprintf(slot->object, sizeof(slot->object), "127.0.0.1:%d", ntohs(peer.sin_port));
}

void finish_child(struct wait_slot *slot)
{
	kill(slot->child, SIGKILL);
	waitpid(slot->child, NULL, 0);
}

static void prepare_accept(struct wait_slot *slot)
{
	slot->fd = loopback__listen(&slot->address, 16);
}

static void wait_accept(struct wait_slot *slot)
{
	int fd = accept(slot->fd, NULL, NULL);

	if (fd < 0)
		die("accept");
	close(fd);
}

/*
 * Waits for a second at most. While the accepting thread has no CPU, the queue of connections can
 * become full; if that thread then ends, the kernel ignores further ones for two minutes.
 */
static void wake_accept(struct wait_slot *slot)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval second = {.tv_sec = 1};
	const struct linger reset = {1, 0};

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second)))
		die("socket");
	if (connect(fd, (struct sockaddr *)&slot->address, sizeof(slot->address)) &&
	    errno != EINPROGRESS)
		die("connect");
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

static void prepare_event(struct wait_slot *slot)
{
	slot->fd = slot->other_fd = eventfd(0, EFD_CLOEXEC);
	if (slot->fd < 0)
		die("eventfd");
}

static void wait_poll(struct wait_slot *slot)
{
	struct pollfd poll_fd = {.fd = slot->fd, .events = POLLIN};

	poll(&poll_fd, 1, -1);
	take_one(slot->fd);
}

static void wait_select(struct wait_slot *slot)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(slot->fd, &set);
	select(slot->fd + 1, &set, NULL, NULL, NULL);
	take_one(slot->fd);
}

/* fd is the event, child the epoll descriptor. */
static void prepare_epoll(struct wait_slot *slot)
{
	struct epoll_event event = {.events = EPOLLIN};

	prepare_event(slot);
	slot->child = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(slot->child, EPOLL_CTL_ADD, slot->fd, &event))
		die("epoll_ctl");
}

static void wait_epoll(struct wait_slot *slot)
{
	struct epoll_event event;

	epoll_wait(slot->child, &event, 1, -1);
	take_one(slot->fd);
}

const struct wait_kind descriptor_waits[] = {
	{"pipe_read", "other", prepare_pipe, wait_read, wake_write, NULL},
	{"pipe_write", "other", prepare_pipe, wait_pipe_write, wake_pipe_write, NULL},
	{"tcp_recv", "other", prepare_tcp, wait_recv, NULL, finish_child},
	{"unix_recv", "other", prepare_unix, wait_recv, wake_write, NULL},
	{"accept", "other", prepare_accept, wait_accept, wake_accept, NULL},
	{"poll", "other", prepare_event, wait_poll, wake_write, NULL},
	{"select", "other", prepare_event, wait_select, wake_write, NULL},
	{"epoll_wait", "other", prepare_epoll, wait_epoll, wake_write, NULL},
	{"eventfd_read", "other", prepare_event, wait_read, wake_write, NULL},
	{},
};
