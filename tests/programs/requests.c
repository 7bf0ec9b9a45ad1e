// SPDX-License-Identifier: BSD-2-Clause
/*
 * A server and its clients, whose requests are known.
 *
 *   requests CASE tcp:PORT|unix:PATH [--requests N]
 *
 * Each request carries its number; both sides note the time before and after each of their calls.
 * What the kernel sees of a request lies between these: it arrives after its sender began to send
 * it, was read when the server's read returned, and is over between the start and the end of the
 * server's last write; clients have a progress point, too. {"requests": N, "least_ns": sum,
 * "most_ns": sum, "unread_ns": sum, ...}
 */
#include "include/dwell.h"
#include "tests/programs/common/probe.h"
#include "tests/programs/common/program.h"

#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

PROBE_SEMAPHORE(answer__begin);
PROBE_SEMAPHORE(answer__end);

#define MAX_CONNECTIONS 8
#define MAX_REQUESTS	20000 /* of a connection */
#define MESSAGE		64    /* bytes */
#define LARGE		(1 << 20)

/* What is known of a request; of a batch, of its first and last message. */
struct request {
	uint64_t send_begin;
	uint64_t send_end;
	uint64_t read_end;    /* of the first read */
	uint64_t write_begin; /* of the last write */
	uint64_t write_end;
};

struct message {
	uint32_t connection;
	uint32_t number;
	char rest[MESSAGE - 8];
};

/* How the clients send, and how the server answers. */
static const struct scenario {
	const char *name;
	int connections;
	int batch;	  /* messages that are sent at once */
	bool split;	  /* a message in two parts, some time apart */
	size_t reply;	  /* bytes */
	bool pool;	  /* another thread answers */
	bool reconnect;	  /* a connection for each request */
	bool greeting;	  /* the server speaks first */
	uint64_t work_us; /* of a request */
	bool uneven;	  /* one of 20 takes 5 ms longer */
} scenarios[] = {
	{"closed", 1, 1, false, MESSAGE, false, false, false, 100, false},
	{"queue", 4, 1, false, MESSAGE, false, false, false, 200, false},
	{"batch", 2, 8, false, MESSAGE, false, false, false, 50, false},
	{"split", 1, 1, true, MESSAGE, false, false, false, 100, false},
	{"large", 1, 1, false, LARGE, false, false, false, 100, false},
	{"pool", 4, 1, false, MESSAGE, true, false, false, 200, false},
	{"reconnect", 2, 1, false, MESSAGE, false, true, false, 100, false},
	{"greeting", 2, 1, false, MESSAGE, false, true, true, 100, false},
	{"uneven", 1, 1, false, MESSAGE, false, false, false, 100, true},
};

static const struct scenario *scenario;
static const char *address;
static struct request requests[MAX_CONNECTIONS][MAX_REQUESTS];
static uint32_t n_requests = 200; /* of each connection */
static uint64_t per_us;		  /* iterations */
static uint64_t rare_ns, rare_most_ns, answer_least_ns, answer_most_ns;
static int listener;

static int open_socket(struct sockaddr_storage *at, socklen_t *size)
{
	int family = strncmp(address, "unix:", 5) ? AF_INET : AF_UNIX;
	int fd = socket(family, SOCK_STREAM, 0), yes = 1;

	memset(at, 0, sizeof(*at));
	if (family == AF_UNIX) {
		struct sockaddr_un *path = (void *)at;

		path->sun_family = AF_UNIX;
		/* The longest path has no NUL behind it. */
		memcpy(path->sun_path, address + 5, strnlen(address + 5, sizeof(path->sun_path)));
		*size = sizeof(*path);
	} else {
		struct sockaddr_in *port = (void *)at;

		port->sin_family = AF_INET;
		port->sin_port = htons((uint16_t)atoi(address + 4));
		port->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*size = sizeof(*port);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	}
	if (fd < 0)
		die("socket");
	return fd;
}

static void read_fully(int fd, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, (char *)to + done, size - done);

		if (n <= 0)
			die("read");
		done += (size_t)n;
	}
}

static void write_fully(int fd, const void *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)from + done, size - done);

		if (n <= 0)
			die("write");
		done += (size_t)n;
	}
}

/* A message, of which a part was read before, that the server has to answer. */
struct job {
	int fd;
	uint64_t read_end;
	size_t n; /* messages */
	struct message messages[16];
};

KEEP void work_on_request(void)
{
	BURN(per_us * scenario->work_us);
}

KEEP void sleep_rarely(void)
{
	uint64_t begin = wall_ns();

	sleep_ns(5 * NS_PER_MS);
	rare_ns += wall_ns() - begin;
}

/* Writes the reply to a message; several times if it is large. */
static void reply_to(const struct job *job, struct request *request)
{
	static char reply[LARGE];
	uint64_t begin;

	work_on_request();
	if (scenario->uneven && job->messages[0].number % 20 == 19) {
		begin = wall_ns();
		sleep_rarely();
		rare_most_ns += wall_ns() - begin;
	}
	for (size_t sent = 0; sent < scenario->reply; sent += MESSAGE * 256) {
		size_t left = scenario->reply - sent;

		request->write_begin = wall_ns();
		write_fully(job->fd, reply, left < MESSAGE * 256 ? left : MESSAGE * 256);
		request->write_end = wall_ns();
	}
}

/* Also a request by its name, by its marks, and by its probes. Returns ns between these. */
KEEP uint64_t answer(const struct job *job, struct request *request)
{
	uint64_t begin, ns;

	DWELL_BEGIN("answering");
	PROBE(requests, answer__begin);
	begin = wall_ns();
	for (size_t i = 0; i < job->n; i++)
		reply_to(job, request);
	ns = wall_ns() - begin;
	PROBE(requests, answer__end);
	DWELL_END("answering");
	return ns;
}

static void answer_job(const struct job *job)
{
	struct request request = {.read_end = job->read_end};
	struct request *to = &requests[job->messages[0].connection % MAX_CONNECTIONS]
				      [job->messages[0].number % MAX_REQUESTS];
	uint64_t begin = wall_ns(), least = answer(job, &request);

	__atomic_fetch_add(&answer_most_ns, wall_ns() - begin, __ATOMIC_RELAXED);
	__atomic_fetch_add(&answer_least_ns, least, __ATOMIC_RELAXED);
	to->read_end = request.read_end;
	to->write_begin = request.write_begin;
	__atomic_store_n(&to->write_end, request.write_end, __ATOMIC_RELEASE);
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct job jobs[MAX_CONNECTIONS];
	int n;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void *answer_queued(void *arg)
{
	struct job job;

	for (;;) {
		pthread_mutex_lock(&queue.lock);
		while (!queue.n)
			pthread_cond_wait(&queue.filled, &queue.lock);
		job = queue.jobs[--queue.n];
		pthread_mutex_unlock(&queue.lock);
		answer_job(&job);
	}
	return arg;
}

/* Reads what a client has sent at once, and answers it. False: it has closed. */
static bool serve(int fd)
{
	struct job job = {.fd = fd};
	size_t whole = MESSAGE * (size_t)scenario->batch, have;
	ssize_t n = read(fd, job.messages, whole);

	if (n <= 0)
		return false;
	job.read_end = wall_ns();
	have = (size_t)n;
	read_fully(fd, (char *)job.messages + have, whole - have);
	job.n = (size_t)scenario->batch;
	if (!scenario->pool) {
		answer_job(&job);
		return true;
	}
	pthread_mutex_lock(&queue.lock);
	queue.jobs[queue.n++] = job;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
	return true;
}

static void *run_server(void *arg)
{
	int events = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
	const struct message hello = {};

	set_name("server");
	epoll_ctl(events, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		if (epoll_wait(events, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == listener) {
			event.data.fd = accept(listener, NULL, NULL);
			if (scenario->greeting)
				write_fully(event.data.fd, &hello, sizeof(hello));
			epoll_ctl(events, EPOLL_CTL_ADD, event.data.fd, &event);
		} else if (!serve(event.data.fd)) {
			close(event.data.fd);
		}
	}
	return arg;
}

static int connect_client(void)
{
	struct sockaddr_storage at;
	socklen_t size;
	int fd = open_socket(&at, &size);
	struct message hello;

	if (connect(fd, (struct sockaddr *)&at, size))
		die("connect");
	if (scenario->greeting)
		read_fully(fd, &hello, sizeof(hello));
	return fd;
}

static void send_request(int fd, uint32_t connection, uint32_t number, struct request *request)
{
	struct message messages[16] = {};
	size_t size = MESSAGE * (size_t)scenario->batch, first = scenario->split ? 10 : size;

	for (int i = 0; i < scenario->batch; i++) {
		messages[i].connection = connection;
		messages[i].number = number;
	}
	request->send_begin = wall_ns();
	write_fully(fd, messages, first);
	request->send_end = wall_ns();
	if (first == size)
		return;
	sleep_ns(300 * NS_PER_US);
	write_fully(fd, (char *)messages + first, size - first);
}

static void *run_client(void *arg)
{
	uint32_t connection = (uint32_t)(uintptr_t)arg;
	size_t expected = scenario->reply * (size_t)scenario->batch;
	char *reply = malloc(expected);
	int fd = -1;

	set_name("client");
	for (uint32_t i = 0; i < n_requests; i++) {
		if (fd < 0)
			fd = connect_client();
		send_request(fd, connection, i, &requests[connection][i]);
		read_fully(fd, reply, expected);
		DWELL_PROGRESS_NAMED("client");
		if (scenario->reconnect) {
			close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		close(fd);
	free(reply);
	return NULL;
}

static void print_truth(void)
{
	uint64_t least = 0, most = 0, unread = 0, unread_most = 0;

	for (int c = 0; c < scenario->connections; c++)
		for (uint32_t i = 0; i < n_requests; i++) {
			struct request *request = &requests[c][i];

			while (!__atomic_load_n(&request->write_end, __ATOMIC_ACQUIRE))
				sched_yield();
			least += request->write_begin - request->read_end;
			most += request->write_end - request->send_begin;
			unread_most += request->read_end - request->send_begin;
			if (request->read_end > request->send_end)
				unread += request->read_end - request->send_end;
		}
	printf("{\"requests\": %u, \"least_ns\": %" PRIu64 ", \"most_ns\": %" PRIu64
	       ", \"unread_ns\": %" PRIu64 ", \"unread_most_ns\": %" PRIu64
	       ", \"rare_ns\": %" PRIu64 ", \"rare_most_ns\": %" PRIu64
	       ", \"answer_least_ns\": %" PRIu64 ", \"answer_most_ns\": %" PRIu64 "}\n",
	       n_requests * (uint32_t)scenario->connections, least, most, unread, unread_most,
	       rare_ns, rare_most_ns, answer_least_ns, answer_most_ns);
}

static void listen_at_address(void)
{
	struct sockaddr_storage at;
	socklen_t size;

	listener = open_socket(&at, &size);
	if (at.ss_family == AF_UNIX)
		unlink(address + 5);
	if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 64))
		die("%s", address);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"requests", required_argument, NULL, 'r'}, {}};
	pthread_t clients[MAX_CONNECTIONS];

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
		if (option == 'r')
			n_requests = (uint32_t)atoi(optarg);
	if (argc - optind != 2 || !n_requests || n_requests > MAX_REQUESTS)
		die("usage: requests CASE tcp:PORT|unix:PATH [--requests N]");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(scenarios[i].name, argv[optind]))
			scenario = &scenarios[i];
	if (!scenario)
		die("no case %s", argv[optind]);
	address = argv[optind + 1];
	signal(SIGPIPE, SIG_IGN);
	per_us = loops_per_ms() / 1000;
	listen_at_address();
	start_thread(run_server, NULL);
	for (int i = 0; i < 2 && scenario->pool; i++)
		start_thread(answer_queued, NULL);
	for (int i = 0; i < scenario->connections; i++)
		clients[i] = start_thread(run_client, (void *)(uintptr_t)i);
	for (int i = 0; i < scenario->connections; i++)
		pthread_join(clients[i], NULL);
	print_truth();
	return 0;
}
