// SPDX-License-Identifier: BSD-2-Clause
/* Cases in which one process calls another, and waits for its answer. */
#include "tests/programs/paths/paths.h"

#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/programs/common/loopback.h"

#define B 1
#define C 2
#define D 3
#define E 4

/* The descriptors of a connection: of the caller, and of the process that it calls. */
struct link {
	int caller;
	int called;
	int back; /* what the called one answers to; the caller reads from @answer */
	int answer;
};

static struct link links[5];

static void make_pipes(struct link *link)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		die("pipe: %s", strerror(errno));
	*link = (struct link){there[1], there[0], back[1], back[0]};
}

static void make_pair(struct link *link, int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type, 0, ends))
		die("socketpair: %s", strerror(errno));
	*link = (struct link){ends[0], ends[1], ends[1], ends[0]};
}

static void make_tcp(struct link *link)
{
	int client, server;

	loopback__connect(&client, &server);
	*link = (struct link){client, server, server, client};
}

static int bound_udp(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof(*address)) ||
	    getsockname(fd, (struct sockaddr *)address, &size))
		die("udp: %s", strerror(errno));
	return fd;
}

static void make_udp(struct link *link)
{
	struct sockaddr_in one, other;
	int client = bound_udp(&one), server = bound_udp(&other);

	if (connect(client, (struct sockaddr *)&other, sizeof(other)) ||
	    connect(server, (struct sockaddr *)&one, sizeof(one)))
		die("connect: %s", strerror(errno));
	*link = (struct link){client, server, server, client};
}

/* Sends a request over @link, and waits for the answer of @party. */
static void call(const struct link *link, int party)
{
	put(link->caller);
	wait__begin(party);
	get(link->answer);
	wait__end();
}

/* ---- pass: two processes and two pipes, as in the paper ---- */

static void answer_pass(void)
{
	for (int i = 0; i < rounds; i++) {
		get(links[0].called);
		until_asleep(BASE);
		work_b(10);
		put(links[0].back);
	}
}

void run_pass(void)
{
	pid_t pid;

	make_pipes(&links[0]);
	pid = party__fork(B, answer_pass);
	for (int i = 0; i < rounds; i++) {
		work_a(5);
		call(&links[0], B);
	}
	party__wait_for(B, pid);
}

/* ---- chain: A calls B over pipes, B calls C over a Unix socket, C D over TCP, D E over UDP ----
 */

static void serve_chain(int own, void (*before)(uint64_t), uint64_t ms)
{
	for (int i = 0; i < rounds; i++) {
		get(links[own - 1].called);
		until_asleep(own - 1);
		before(ms);
		if (own < E)
			call(&links[own], own + 1);
		put(links[own - 1].back);
	}
}

static void serve_b(void)
{
	serve_chain(B, work_b, 6);
}

static void serve_c(void)
{
	serve_chain(C, work_c, 5);
}

static void serve_d(void)
{
	serve_chain(D, work_d, 7);
}

static void serve_e(void)
{
	serve_chain(E, work_e, 8);
}

void run_chain(void)
{
	static void (*const servers[])(void) = {serve_b, serve_c, serve_d, serve_e};
	pid_t pids[4];

	make_pipes(&links[0]);
	make_pair(&links[1], SOCK_STREAM);
	make_tcp(&links[2]);
	make_udp(&links[3]);
	for (int i = 0; i < 4; i++)
		pids[i] = party__fork(B + i, servers[i]);
	for (int i = 0; i < rounds; i++) {
		work_a(4);
		call(&links[0], B);
	}
	for (int i = 0; i < 4; i++)
		party__wait_for(B + i, pids[i]);
}

/* ---- triangle: A calls B, B calls C, and C answers A ---- */

static void triangle_b(void)
{
	for (int i = 0; i < rounds; i++) {
		get(links[0].called);
		until_asleep(BASE);
		until_asleep(C);
		work_b(8);
		put(links[1].caller);
	}
}

static void triangle_c(void)
{
	for (int i = 0; i < rounds; i++) {
		/* Most of this wait is before A calls. */
		wait__begin(B);
		get(links[1].called);
		wait__end();
		work_c(6);
		put(links[0].back);
	}
}

void run_triangle(void)
{
	pid_t b, c;

	make_pipes(&links[0]);
	make_pipes(&links[1]);
	b = party__fork(B, triangle_b);
	c = party__fork(C, triangle_c);
	for (int i = 0; i < rounds; i++) {
		work_a(7);
		call(&links[0], C);
	}
	party__wait_for(B, b);
	party__wait_for(C, c);
}

/* ---- handoff: B waits at the other end of the connection first, C answers ---- */

static void accept_handoff(void)
{
	put(links[2].caller);
	get(links[1].called);
	put(links[1].back);
	pause();
}

static void answer_handoff(void)
{
	for (int i = 0; i < rounds; i++) {
		get(links[0].called);
		until_asleep(BASE);
		work_c(10);
		put(links[1].back);
	}
}

void run_handoff(void)
{
	pid_t b, c;

	make_pipes(&links[0]);
	make_tcp(&links[1]);
	make_pipes(&links[2]);
	b = party__fork(B, accept_handoff);
	c = party__fork(C, answer_handoff);
	get(links[2].called);
	until_asleep(B);
	call(&links[1], B);
	for (int i = 0; i < rounds; i++) {
		work_a(5);
		put(links[0].caller);
		wait__begin(C);
		get(links[1].answer);
		wait__end();
	}
	party__wait_for(C, c);
	kill(b, SIGKILL);
}

/* ---- signals ---- */

static sigset_t usr1;

static void answer_signals(void)
{
	int number;

	for (int i = 0; i < rounds; i++) {
		sigwait(&usr1, &number);
		until_asleep(BASE);
		work_b(10);
		kill(getppid(), SIGUSR1);
	}
}

void run_signals(void)
{
	pid_t pid;
	int number;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	pid = party__fork(B, answer_signals);
	for (int i = 0; i < rounds; i++) {
		work_a(5);
		kill(pid, SIGUSR1);
		wait__begin(B);
		sigwait(&usr1, &number);
		wait__end();
	}
	party__wait_for(B, pid);
}

/* ---- eventfd ---- */

static int asked, answered;

static void ring(int fd)
{
	if (eventfd_write(fd, 1))
		die("eventfd: %s", strerror(errno));
}

static void await(int fd)
{
	eventfd_t value;

	if (eventfd_read(fd, &value))
		die("eventfd: %s", strerror(errno));
}

static void answer_eventfd(void)
{
	for (int i = 0; i < rounds; i++) {
		await(asked);
		until_asleep(BASE);
		work_b(10);
		ring(answered);
	}
}

void run_eventfd(void)
{
	pid_t pid;

	asked = eventfd(0, 0);
	answered = eventfd(0, 0);
	pid = party__fork(B, answer_eventfd);
	for (int i = 0; i < rounds; i++) {
		work_a(5);
		ring(asked);
		wait__begin(B);
		await(answered);
		wait__end();
	}
	party__wait_for(B, pid);
}

/* ---- io_uring: reads the answer from a pipe ---- */

static struct {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail;
	struct io_uring_sqe *entries;
} uring;

static void uring_open(void)
{
	struct io_uring_params params = {};
	char *sq, *cq;

	uring.fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (uring.fd < 0)
		die("io_uring_setup: %s", strerror(errno));
	sq = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned int),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring.fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring.fd, IORING_OFF_CQ_RING);
	uring.entries =
		mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, uring.fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || uring.entries == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	uring.sq_tail = (unsigned int *)(sq + params.sq_off.tail);
	uring.sq_mask = (unsigned int *)(sq + params.sq_off.ring_mask);
	uring.sq_array = (unsigned int *)(sq + params.sq_off.array);
	uring.cq_head = (unsigned int *)(cq + params.cq_off.head);
	uring.cq_tail = (unsigned int *)(cq + params.cq_off.tail);
}

static void uring_read(int fd, char *byte)
{
	unsigned int tail = *uring.sq_tail, at = tail & *uring.sq_mask;

	uring.entries[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = fd, .addr = (uint64_t)byte, .len = 1};
	uring.sq_array[at] = at;
	__atomic_store_n(uring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, uring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter: %s", strerror(errno));
	__atomic_store_n(uring.cq_head, __atomic_load_n(uring.cq_tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

void run_uring(void)
{
	pid_t pid;
	char byte;

	make_pipes(&links[0]);
	pid = party__fork(B, answer_pass);
	uring_open();
	for (int i = 0; i < rounds; i++) {
		work_a(5);
		put(links[0].caller);
		wait__begin(B);
		uring_read(links[0].answer, &byte);
		wait__end();
	}
	party__wait_for(B, pid);
}

/* ---- hosts: network namespaces, joined by a pair of virtual devices ---- */

static int ready_pipe[2], go_pipe[2];
static struct sockaddr_in far_address = {.sin_family = AF_INET, .sin_port = 0};

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		die("socket: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void serve_far(void)
{
	int listener, fd, on = 1;

	if (unshare(CLONE_NEWNET))
		die("unshare: %s", strerror(errno));
	put(ready_pipe[1]);
	get(go_pipe[0]); /* the device is here, and has its address */
	listener = tcp_socket();
	if (bind(listener, (struct sockaddr *)&far_address, sizeof(far_address)) ||
	    listen(listener, 4))
		die("listen: %s", strerror(errno));
	put(ready_pipe[1]);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (int i = 0; i < rounds; i++) {
		get(fd);
		until_asleep(BASE);
		work_b(10);
		put(fd);
	}
}

static void shell(const char *format, pid_t pid)
{
	char command[512];

	snprintf(command, sizeof(command), format, pid, pid, pid);
	if (system(command))
		die("failed: %s", command);
}

void run_hosts(void)
{
	struct link link = {};
	pid_t pid;

	far_address.sin_port = htons(7000);
	inet_pton(AF_INET, "10.93.7.2", &far_address.sin_addr);
	if (pipe(ready_pipe) || pipe(go_pipe))
		die("pipe: %s", strerror(errno));
	/* The base has a namespace of its own, too: nothing of the machine's is changed. */
	if (unshare(CLONE_NEWNET))
		die("unshare: %s", strerror(errno));
	pid = party__fork(B, serve_far);
	get(ready_pipe[0]);
	shell("ip link add here type veth peer name there netns %d && "
	      "ip addr add 10.93.7.1/24 dev here && ip link set here up && "
	      "nsenter -t %d -n ip addr add 10.93.7.2/24 dev there && "
	      "nsenter -t %d -n ip link set there up",
	      pid);
	put(go_pipe[1]);
	get(ready_pipe[0]);
	link.caller = link.answer = tcp_socket();
	if (connect(link.caller, (struct sockaddr *)&far_address, sizeof(far_address)))
		die("connect: %s", strerror(errno));
	for (int i = 0; i < rounds; i++) {
		work_a(5);
		call(&link, B);
	}
	party__wait_for(B, pid);
}

/* ---- listen and ask: a server that was there before, with a thread for each connection ---- */

static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char byte;

	while (read(fd, &byte, 1) == 1) {
		work_b(10);
		put(fd);
	}
	close(fd);
	return NULL;
}

/* Prints its port, and serves @rounds connections. */
void run_listen(void)
{
	struct sockaddr_in address;
	int listener = loopback__listen(&address, 4);
	pthread_t threads[64];

	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (int i = 0; i < rounds && i < 64; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept: %s", strerror(errno));
		threads[i] = start_thread(serve_one, (void *)(intptr_t)fd);
		pthread_join(threads[i], NULL);
	}
}

/* Asks the server at @port, ten times on each connection. */
void run_ask(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	for (int i = 0; i < rounds; i++) {
		int fd = tcp_socket();

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
			die("connect: %s", strerror(errno));
		for (int k = 0; k < 10; k++) {
			uint64_t since = wall_ns();

			put(fd);
			get(fd);
			truth__add("asked", wall_ns() - since);
		}
		close(fd);
	}
}
