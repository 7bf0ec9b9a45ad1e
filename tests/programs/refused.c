// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs whose effects cannot be predicted by pauses, or not as they are measured. Each prints
 * what really happens as JSON: {"with": N, "without": N} is how often it makes progress in 300 ms
 * with and without the target's work, measured after the time given.
 *
 *   refused server PORT SECONDS      requests over TCP; nobody waits for housekeeping()
 *   refused clients PORT             its eight clients, 8 ms between answer and request
 *   refused overlap FILE SECONDS     asynchronous reads are in flight during crunch()
 *   refused buffered FILE SECONDS    the same; buffered reads are over when io_submit() returns
 *   refused ring FILE SECONDS        reads by io_uring are in flight during crunch()
 *   refused ring-waits FILE SECONDS  the same; the call that submits them waits for them
 *   refused deaf SECONDS             two threads beside crunch(), one blocks all signals
 *   refused steps SECONDS            step() is called so often that a probe in it costs most
 *   refused daemon SECONDS           steps, in a process that goes on alone
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS	    8
#define READS	    4
#define BATCHES	    4 /* to a visit of batch_done(), where a probe takes its time */
#define BLOCK	    4096
#define FILE_BLOCKS 4096
#define PART	    0.3 /* seconds */

static volatile bool ending, without_target;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The target's work is left out during the second part after @seconds. False: all is over. */
static bool goes_on(double begin, double seconds)
{
	double passed = now() - begin - seconds;

	without_target = passed > PART;
	return passed < 2 * PART;
}

static long progress[3]; /* until the parts, and in each */

static void print_truth(void)
{
	printf("{\"with\": %ld, \"without\": %ld}\n", progress[1], progress[2]);
}

static void make_progress(double begin, double seconds)
{
	double passed = now() - begin - seconds;

	progress[passed < 0 ? 0 : passed < PART ? 1 : 2]++;
}

static uint64_t compute(uint64_t x, long n)
{
	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

__attribute__((noinline)) static uint64_t housekeeping(uint64_t x)
{
	return compute(x, 500000);
}

__attribute__((noinline)) static uint64_t serve(uint64_t x)
{
	return compute(x, 60000);
}

static void *housekeeper(void *arg)
{
	uint64_t x = 7;

	while (!ending) {
		if (!without_target)
			x = housekeeping(x);
		usleep(300);
	}
	return x ? arg : NULL;
}

static struct sockaddr_in address_of(const char *port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int listen_at(const char *port)
{
	const struct sockaddr_in address = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, CLIENTS)) {
		perror(port);
		exit(1);
	}
	return fd;
}

static int server(const char *port, double seconds)
{
	struct pollfd fds[CLIENTS + 1] = {{.fd = listen_at(port), .events = POLLIN}};
	double begin = now();
	int n = 1, one = 1;
	pthread_t thread;
	uint64_t x = 3;
	char byte;

	pthread_create(&thread, NULL, housekeeper, NULL);
	while (goes_on(begin, seconds)) {
		if (poll(fds, (nfds_t)n, 50) <= 0)
			continue;
		if (fds[0].revents && n <= CLIENTS) {
			fds[n] = (struct pollfd){.fd = accept(fds[0].fd, NULL, NULL),
						 .events = POLLIN};
			setsockopt(fds[n++].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		}
		for (int i = 1; i < n; i++) {
			if (!fds[i].revents || read(fds[i].fd, &byte, 1) != 1)
				continue;
			x = serve(x);
			make_progress(begin, seconds);
			if (write(fds[i].fd, &byte, 1) != 1)
				break;
		}
	}
	ending = true;
	pthread_join(thread, NULL);
	print_truth();
	return x == 42;
}

static void *client(void *port)
{
	const struct sockaddr_in address = address_of(port);
	int fd, one = 1;
	char byte = 1;

	for (int tries = 0; tries < 500; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || !connect(fd, (const struct sockaddr *)&address, sizeof(address)))
			break;
		close(fd);
		usleep(20000);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1)
		usleep(8000);
	close(fd);
	return NULL;
}

static int clients(char *port)
{
	pthread_t threads[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, client, port);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

__attribute__((noinline)) static uint64_t crunch(uint64_t x)
{
	return compute(x, 100000);
}

__attribute__((noinline)) static void batch_done(const long *n)
{
	__asm__ volatile("" ::"r"(n) : "memory");
}

static int make_file(const char *path, bool direct)
{
	_Alignas(BLOCK) static char block[BLOCK];
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	for (int i = 0; fd >= 0 && i < FILE_BLOCKS; i++)
		if (write(fd, block, sizeof(block)) != BLOCK)
			break;
	close(fd);
	return open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
}

static _Alignas(BLOCK) char blocks[READS][BLOCK];

static uint64_t random_offset(void)
{
	static unsigned int at = 1;

	at = at * 1103515245 + 12345;
	return (at >> 8) % FILE_BLOCKS * BLOCK;
}

static int overlap(const char *path, double seconds, bool direct)
{
	int fd = make_file(path, direct);
	aio_context_t context = 0;
	double begin = now();
	uint64_t x = 9;
	long n = 0;

	if (fd < 0 || syscall(SYS_io_setup, READS, &context)) {
		perror(path);
		return 1;
	}
	while (goes_on(begin, seconds)) {
		struct iocb requests[READS], *all[READS];
		struct io_event events[READS];

		for (int i = 0; i < READS; i++) {
			requests[i] = (struct iocb){.aio_fildes = (uint32_t)fd,
						    .aio_lio_opcode = IOCB_CMD_PREAD,
						    .aio_buf = (uint64_t)(uintptr_t)blocks[i],
						    .aio_nbytes = BLOCK,
						    .aio_offset = (int64_t)random_offset()};
			all[i] = &requests[i];
		}
		if (syscall(SYS_io_submit, context, READS, all) != READS)
			return 1;
		if (!without_target)
			x = crunch(x);
		if (syscall(SYS_io_getevents, context, READS, READS, events, NULL) != READS)
			return 1;
		make_progress(begin, seconds);
		if (++n % BATCHES == 0)
			batch_done(&n);
	}
	print_truth();
	return x == 42;
}

struct ring {
	int fd;
	struct io_uring_params params;
	char *queues;
	struct io_uring_sqe *requests;
};

static uint32_t *ring_field(const struct ring *ring, uint32_t offset)
{
	return (uint32_t *)(ring->queues + offset);
}

static int ring_open(struct ring *ring)
{
	size_t size;

	ring->fd = (int)syscall(SYS_io_uring_setup, READS, &ring->params);
	if (ring->fd < 0)
		return -1;
	size = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof(struct io_uring_cqe) +
	       4096;
	ring->queues =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->requests = mmap(NULL, ring->params.sq_entries * sizeof(*ring->requests),
			      PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	return ring->queues == MAP_FAILED || ring->requests == MAP_FAILED ? -1 : 0;
}

static void ring_fill(const struct ring *ring, int fd)
{
	uint32_t *tail = ring_field(ring, ring->params.sq_off.tail);
	uint32_t mask = *ring_field(ring, ring->params.sq_off.ring_mask);

	for (uint32_t i = 0; i < READS; i++) {
		uint32_t slot = (*tail + i) & mask;

		ring->requests[slot] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
							     .fd = fd,
							     .addr = (uint64_t)(uintptr_t)blocks[i],
							     .len = BLOCK,
							     .off = random_offset()};
		ring_field(ring, ring->params.sq_off.array)[slot] = slot;
	}
	__atomic_store_n(tail, *tail + READS, __ATOMIC_RELEASE);
}

/* Takes all results that are there. */
static void ring_take(const struct ring *ring)
{
	uint32_t tail =
		__atomic_load_n(ring_field(ring, ring->params.cq_off.tail), __ATOMIC_ACQUIRE);

	__atomic_store_n(ring_field(ring, ring->params.cq_off.head), tail, __ATOMIC_RELEASE);
}

static long ring_enter(const struct ring *ring, int begun, int awaited)
{
	return syscall(SYS_io_uring_enter, ring->fd, begun, awaited,
		       awaited ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
}

static int ring_reads(const char *path, double seconds, bool waits)
{
	int fd = make_file(path, true);
	struct ring ring = {};
	double begin = now();
	uint64_t x = 9;
	long n = 0;

	if (fd < 0 || ring_open(&ring)) {
		perror(path);
		return 1;
	}
	while (goes_on(begin, seconds)) {
		ring_fill(&ring, fd);
		if (ring_enter(&ring, READS, waits ? READS : 0) != READS)
			return 1;
		if (!without_target)
			x = crunch(x);
		if (!waits && ring_enter(&ring, 0, READS) < 0)
			return 1;
		ring_take(&ring);
		make_progress(begin, seconds);
		if (++n % BATCHES == 0)
			batch_done(&n);
	}
	print_truth();
	return x == 42;
}

/* Calls the kernel all the time, and with @blocked can receive no signal. */
static void *calls(void *blocked)
{
	const uint64_t all = UINT64_MAX;

	if (blocked)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
	while (!ending)
		syscall(SYS_getppid);
	return NULL;
}

static int deaf(double seconds)
{
	double begin = now();
	pthread_t threads[2];
	uint64_t x = 5;
	long n = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, calls, i ? &n : NULL);
	while (now() - begin < seconds) {
		x = crunch(x);
		batch_done(&n);
	}
	ending = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return x == 42;
}

__attribute__((noinline)) static uint64_t think(uint64_t x, long n)
{
	return compute(x, n);
}

__attribute__((noinline)) static uint64_t step(uint64_t x)
{
	return think(x, 2);
}

/* It exists, and is never called. */
__attribute__((noinline, used)) static uint64_t never(uint64_t x)
{
	return compute(x, 3);
}

__attribute__((noinline)) static uint64_t item(uint64_t x)
{
	for (int i = 0; i < 4000; i++)
		x = step(think(x, 500));
	return x;
}

static int steps(double seconds)
{
	double begin = now();
	uint64_t x = 1;

	while (now() - begin < seconds)
		x = item(x);
	return x == 42;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	double seconds = atof(argv[argc - 1]);

	if (!strcmp(what, "server"))
		return server(argv[2], seconds);
	if (!strcmp(what, "clients"))
		return clients(argv[2]);
	if (!strcmp(what, "overlap") || !strcmp(what, "buffered"))
		return overlap(argv[2], seconds, !strcmp(what, "overlap"));
	if (!strcmp(what, "ring") || !strcmp(what, "ring-waits"))
		return ring_reads(argv[2], seconds, !strcmp(what, "ring-waits"));
	if (!strcmp(what, "deaf"))
		return deaf(seconds);
	if (!strcmp(what, "steps"))
		return steps(seconds);
	if (!strcmp(what, "daemon"))
		return fork() ? 0 : steps(seconds);
	fprintf(stderr, "usage: refused server|clients|overlap|buffered|ring|ring-waits|deaf|steps|"
			"daemon ...\n");
	return 1;
}
