/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of waiting of waits.c: a table of { name, class, functions }.
 *
 * prepare() runs once in the main thread, wait() again and again in the kind's
 * own thread, wake() every 10 ms in the driver's, finish() at the end.
 */
#pragma once

#include "moments.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define WAIT_NS	       (10 * NS_PER_MS)
#define WAIT_SLOTS_MAX 32

struct wait_slot;

struct wait_kind {
	const char *name;  /* of the thread: 15 characters at most */
	const char *class; /* io, lock or other; several when the kernel's way there has them */
	void (*prepare)(struct wait_slot *slot);
	void (*wait)(struct wait_slot *slot);
	void (*wake)(struct wait_slot *slot);
	void (*finish)(struct wait_slot *slot);
};

struct wait_slot {
	const struct wait_kind *kind;
	pthread_t thread;
	pid_t tid;
	uint64_t rounds;
	struct spent spent;
	char object[512]; /* what it waits for, as the system names it; or empty */
	bool finished;

	/* What the kinds use, each its own. */
	int fd;
	int other_fd;
	pid_t child;
	struct disk_file file;
	char *memory;
	uint64_t turn;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t go;
	sem_t held;
	struct sockaddr_in address;
};

static const char *waits_dir = "/var/tmp";

/* A byte, or a count of one. */
static void put_one(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN && errno != EPIPE)
		die("write");
}

static void take_one(int fd)
{
	uint64_t one;

	if (read(fd, &one, sizeof(one)) < 0)
		die("read");
}

/* Disk. */

static void prepare_file(struct wait_slot *slot)
{
	disk_file__create(&slot->file, waits_dir, slot->kind->name, 4 << 20, 0);
	slot->memory = disk_buffer(64 << 10);
	snprintf(slot->object, sizeof(slot->object), "%s", slot->file.path);
}

static void prepare_synced_file(struct wait_slot *slot)
{
	disk_file__create(&slot->file, waits_dir, slot->kind->name, 1 << 20, O_DSYNC);
	slot->memory = disk_buffer(4096);
	snprintf(slot->object, sizeof(slot->object), "%s", slot->file.path);
}

/* Written through the page cache, so that fsync has something to do. */
static void prepare_cached_file(struct wait_slot *slot)
{
	prepare_file(slot);
	slot->fd = open(slot->file.path, O_RDWR | O_CLOEXEC);
	if (slot->fd < 0)
		die("%s", slot->file.path);
}

static void finish_file(struct wait_slot *slot)
{
	disk_file__remove(&slot->file);
}

static void wait_pread(struct wait_slot *slot)
{
	off_t offset = slot->turn++ * 4096 % slot->file.size;

	if (pread(slot->file.fd, slot->memory, 4096, offset) != 4096)
		die("%s", slot->file.path);
}

static void wait_pwrite(struct wait_slot *slot)
{
	off_t offset = slot->turn++ * 4096 % slot->file.size;

	if (pwrite(slot->file.fd, slot->memory, 4096, offset) != 4096)
		die("%s", slot->file.path);
}

static void wait_fsync(struct wait_slot *slot)
{
	off_t offset = slot->turn++ * 4096 % slot->file.size;

	if (pwrite(slot->fd, slot->memory, 4096, offset) != 4096 || fsync(slot->fd))
		die("%s", slot->file.path);
}

/* Reads every page of a file mapped anew, which is not in the page cache. */
static void wait_page_fault(struct wait_slot *slot)
{
	const size_t size = 256 << 10;
	volatile char *memory;

	posix_fadvise(slot->fd, 0, 0, POSIX_FADV_DONTNEED);
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, slot->fd, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	madvise((void *)memory, size, MADV_RANDOM);
	for (size_t i = 0; i < size; i += 4096)
		(void)memory[i];
	munmap((void *)memory, size);
}

/* Two threads append to one file around the page cache: the inode's lock is held meanwhile. */
static void append_block(struct wait_slot *slot)
{
	uint64_t turn = __atomic_fetch_add(&slot->turn, 1, __ATOMIC_RELAXED) % 256;

	if (turn == 255 && ftruncate(slot->file.fd, 0))
		die("%s", slot->file.path);
	if (pwrite(slot->file.fd, slot->memory, 64 << 10, turn * (64 << 10)) < 0)
		die("%s", slot->file.path);
}

static void *run_appender(void *arg)
{
	struct wait_slot *slot = arg;

	set_name("helper");
	while (!__atomic_load_n(&slot->finished, __ATOMIC_ACQUIRE))
		append_block(slot);
	return NULL;
}

static void prepare_append(struct wait_slot *slot)
{
	prepare_file(slot);
	start_thread(run_appender, slot);
}

/* Pipes, sockets and what can be polled. */

static void prepare_pipe(struct wait_slot *slot)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	slot->fd = ends[0];
	slot->other_fd = ends[1];
}

static void wait_read(struct wait_slot *slot)
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

/* Empties one page; the writer fills it at once and waits again. */
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

static int listen_on_loopback(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)address, &size))
		die("listen");
	return fd;
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
	int listener = listen_on_loopback(&slot->address);

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

static void finish_child(struct wait_slot *slot)
{
	kill(slot->child, SIGKILL);
	waitpid(slot->child, NULL, 0);
}

static void prepare_accept(struct wait_slot *slot)
{
	slot->fd = listen_on_loopback(&slot->address);
}

static void wait_accept(struct wait_slot *slot)
{
	int fd = accept(slot->fd, NULL, NULL);

	if (fd < 0)
		die("accept");
	close(fd);
}

static void wake_accept(struct wait_slot *slot)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct linger reset = {1, 0};

	if (fd < 0 || connect(fd, (struct sockaddr *)&slot->address, sizeof(slot->address)))
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

/* Timers and signals. */

static void wait_nanosleep(struct wait_slot *slot)
{
	sleep_ns(WAIT_NS);
}

static void prepare_timer(struct wait_slot *slot)
{
	const struct itimerspec every = {{0, WAIT_NS}, {0, WAIT_NS}};

	slot->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (slot->fd < 0 || timerfd_settime(slot->fd, 0, &every, NULL))
		die("timerfd");
}

static void wait_signal(struct wait_slot *slot)
{
	const struct timespec limit = {1, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigtimedwait(&set, NULL, &limit);
}

static void wake_signal(struct wait_slot *slot)
{
	if (!__atomic_load_n(&slot->finished, __ATOMIC_ACQUIRE))
		pthread_kill(slot->thread, SIGUSR1);
}

/* Locks: a helper thread holds the lock for 10 ms, then waits until it is asked again. */

static void lock_mutex(struct wait_slot *slot)
{
	pthread_mutex_lock(&slot->mutex);
}

static void unlock_mutex(struct wait_slot *slot)
{
	pthread_mutex_unlock(&slot->mutex);
}

static void *run_mutex_holder(void *arg)
{
	struct wait_slot *slot = arg;

	set_name("helper");
	for (;;) {
		sem_wait(&slot->go);
		lock_mutex(slot);
		sem_post(&slot->held);
		sleep_ns(WAIT_NS);
		unlock_mutex(slot);
	}
	return NULL;
}

static void prepare_mutex(struct wait_slot *slot)
{
	pthread_mutex_init(&slot->mutex, NULL);
	sem_init(&slot->go, 0, 0);
	sem_init(&slot->held, 0, 0);
	start_thread(run_mutex_holder, slot);
}

static void wait_mutex(struct wait_slot *slot)
{
	sem_post(&slot->go);
	sem_wait(&slot->held);
	lock_mutex(slot);
	unlock_mutex(slot);
}

/* A child with a descriptor of its own holds the lock; pipes say when. */
static void run_flock_holder(struct wait_slot *slot, int asked, int told)
{
	int fd = open(slot->file.path, O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "flock_holder");
	for (;;) {
		uint64_t one = 1;

		if (read(asked, &one, sizeof(one)) <= 0)
			_exit(0);
		flock(fd, LOCK_EX);
		if (write(told, &one, sizeof(one)) < 0)
			_exit(0);
		sleep_ns(WAIT_NS);
		flock(fd, LOCK_UN);
	}
}

static void prepare_flock(struct wait_slot *slot)
{
	int ask[2], tell[2];

	prepare_cached_file(slot);
	if (pipe(ask) || pipe(tell))
		die("pipe");
	slot->child = fork();
	if (slot->child < 0)
		die("fork");
	if (!slot->child)
		run_flock_holder(slot, ask[0], tell[1]);
	slot->other_fd = ask[1];
	slot->turn = tell[0];
}

static void wait_flock(struct wait_slot *slot)
{
	put_one(slot->other_fd);
	take_one(slot->turn);
	flock(slot->fd, LOCK_EX);
	flock(slot->fd, LOCK_UN);
}

static void finish_flock(struct wait_slot *slot)
{
	finish_child(slot);
	finish_file(slot);
}

static void prepare_cond(struct wait_slot *slot)
{
	pthread_mutex_init(&slot->mutex, NULL);
	pthread_cond_init(&slot->cond, NULL);
}

static void wait_cond(struct wait_slot *slot)
{
	uint64_t turn;

	pthread_mutex_lock(&slot->mutex);
	turn = slot->turn;
	while (turn == slot->turn)
		pthread_cond_wait(&slot->cond, &slot->mutex);
	pthread_mutex_unlock(&slot->mutex);
}

static void wake_cond(struct wait_slot *slot)
{
	pthread_mutex_lock(&slot->mutex);
	slot->turn++;
	pthread_cond_signal(&slot->cond);
	pthread_mutex_unlock(&slot->mutex);
}

static void prepare_semaphore(struct wait_slot *slot)
{
	sem_init(&slot->go, 0, 0);
}

static void wait_semaphore(struct wait_slot *slot)
{
	while (sem_wait(&slot->go))
		;
}

static void wake_semaphore(struct wait_slot *slot)
{
	sem_post(&slot->go);
}

/* Others' ends. */

static void *run_sleeper(void *arg)
{
	set_name("sleeper");
	sleep_ns(WAIT_NS);
	return NULL;
}

static void wait_join(struct wait_slot *slot)
{
	pthread_join(start_thread(run_sleeper, NULL), NULL);
}

static int run_child(void *arg)
{
	prctl(PR_SET_NAME, "child");
	sleep_ns(WAIT_NS);
	_exit(0);
}

/*
 * It shares the memory. To copy it, all would be locked and made read-only, and many a
 * page of the others be faulted in once more.
 */
static void wait_child(struct wait_slot *slot)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	pid_t pid = clone(run_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	if (pid < 0)
		die("clone");
	waitpid(pid, NULL, 0);
}

static const struct wait_kind wait_kinds[] = {
	{"pread", "io", prepare_file, wait_pread, NULL, finish_file},
	{"pwrite", "io|other", prepare_synced_file, wait_pwrite, NULL, finish_file},
	{"fsync", "io|other", prepare_cached_file, wait_fsync, NULL, finish_file},
	{"page_fault", "io", prepare_cached_file, wait_page_fault, NULL, finish_file},
	{"append", "lock|io", prepare_append, append_block, NULL, finish_file},
	{"pipe_read", "other", prepare_pipe, wait_read, wake_write, NULL},
	{"pipe_write", "other", prepare_pipe, wait_pipe_write, wake_pipe_write, NULL},
	{"tcp_recv", "other", prepare_tcp, wait_recv, NULL, finish_child},
	{"unix_recv", "other", prepare_unix, wait_recv, wake_write, NULL},
	{"accept", "other", prepare_accept, wait_accept, wake_accept, NULL},
	{"poll", "other", prepare_event, wait_poll, wake_write, NULL},
	{"select", "other", prepare_event, wait_select, wake_write, NULL},
	{"epoll_wait", "other", prepare_epoll, wait_epoll, wake_write, NULL},
	{"eventfd_read", "other", prepare_event, wait_read, wake_write, NULL},
	{"timerfd_read", "other", prepare_timer, wait_read, NULL, NULL},
	{"nanosleep", "other", NULL, wait_nanosleep, NULL, NULL},
	{"sigtimedwait", "other", NULL, wait_signal, wake_signal, NULL},
	{"mutex", "lock", prepare_mutex, wait_mutex, NULL, NULL},
	{"cond_wait", "lock", prepare_cond, wait_cond, wake_cond, NULL},
	{"sem_wait", "lock", prepare_semaphore, wait_semaphore, wake_semaphore, NULL},
	{"join", "lock", NULL, wait_join, NULL, NULL},
	{"flock", "other", prepare_flock, wait_flock, NULL, finish_flock},
	{"waitpid", "other", NULL, wait_child, NULL, NULL},
	{},
};
