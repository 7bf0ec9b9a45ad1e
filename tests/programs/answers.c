// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client that sends requests to a server and waits for each answer in read(), from a TCP, a
 * UDP and a unix socket, and a fifo.
 *
 *	answers --serve [--ready FILE]    the server, until a signal ends it
 *	answers [--seconds S]             the client; in the same directory
 *
 * True by construction: the client waits for nothing else, and once a round for each. The last
 * line is {"rounds": N, "ways": {"tcp": {"blocked_ns": B, "tenth_ns": T}, "udp": ...}}. B is
 * the wall time of all waits less on-CPU time and run-queue time, by the scheduler's counters;
 * nine tenths of the waits were longer than T.
 */
#include "tests/programs/common/program.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "include/dwell.h"

#define UNIX_PATH "answers.unix"
#define ASK_PATH  "answers.ask"
#define TELL_PATH "answers.tell"
#define PORTS	  "answers.ports"

#define ROUNDS_MAX 100000

enum way { TCP, UDP, UNIX, FIFO, WAYS };

static const struct {
	const char *name;
	uint64_t delay_ns; /* of the answer */
} ways[WAYS] = {
	[TCP] = {"tcp", 4 * NS_PER_MS},
	[UDP] = {"udp", 3 * NS_PER_MS},
	[UNIX] = {"unix", 2 * NS_PER_MS},
	[FIFO] = {"fifo", 5 * NS_PER_MS},
};

/* The descriptors of one way. */
struct ends {
	int in, out;
};

static struct sockaddr_in loopback(unsigned short port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = port,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int open_socket(int family, int type)
{
	int fd = socket(family, type, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

/* A socket bound to a free port of the loopback device; *@port becomes its number. */
static int bind_any(int type, unsigned short *port)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int fd = open_socket(AF_INET, type);

	if (bind(fd, (struct sockaddr *)&address, size) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		die("bind");
	*port = address.sin_port;
	return fd;
}

static int accept_one(int listener)
{
	int fd = listen(listener, 1) ? -1 : accept(listener, NULL, NULL);

	if (fd < 0)
		die("accept");
	close(listener);
	return fd;
}

static void answer(int way, struct ends ends)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	char byte;

	if (way == UDP) {
		if (recvfrom(ends.in, &byte, 1, 0, (struct sockaddr *)&from, &size) != 1)
			die("recvfrom");
	} else if (read(ends.in, &byte, 1) != 1) {
		exit(0); /* the client has ended */
	}
	sleep_ns(ways[way].delay_ns);
	if (way == UDP)
		sendto(ends.out, &byte, 1, 0, (struct sockaddr *)&from, size);
	else if (write(ends.out, &byte, 1) != 1)
		exit(0);
}

static void serve(const char *ready_file)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = UNIX_PATH};
	int tcp, unix_socket = open_socket(AF_UNIX, SOCK_STREAM);
	struct ends ends[WAYS];
	struct pollfd polled[WAYS] = {};
	unsigned short ports[2];
	FILE *file;

	signal(SIGPIPE, SIG_IGN);
	tcp = bind_any(SOCK_STREAM, &ports[TCP]);
	ends[UDP].in = ends[UDP].out = bind_any(SOCK_DGRAM, &ports[UDP]);
	if (bind(unix_socket, (struct sockaddr *)&path, sizeof(path)) || listen(tcp, 1) ||
	    listen(unix_socket, 1) || mkfifo(ASK_PATH, 0600) || mkfifo(TELL_PATH, 0600))
		die("%s", UNIX_PATH);
	file = fopen(PORTS, "w");
	if (!file || fwrite(ports, sizeof(ports), 1, file) != 1 || fclose(file))
		die("%s", PORTS);
	ready(ready_file);
	ends[TCP].in = ends[TCP].out = accept_one(tcp);
	ends[UNIX].in = ends[UNIX].out = accept_one(unix_socket);
	ends[FIFO].in = open(ASK_PATH, O_RDONLY);
	ends[FIFO].out = open(TELL_PATH, O_WRONLY);
	if (ends[FIFO].in < 0 || ends[FIFO].out < 0)
		die("%s", ASK_PATH);
	for (;;) {
		for (int way = 0; way < WAYS; way++)
			polled[way] = (struct pollfd){.fd = ends[way].in, .events = POLLIN};
		if (poll(polled, WAYS, -1) < 0)
			die("poll");
		for (int way = 0; way < WAYS; way++)
			if (polled[way].revents)
				answer(way, ends[way]);
	}
}

static void connect_all(struct ends ends[WAYS])
{
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = UNIX_PATH};
	struct sockaddr_in address;
	unsigned short ports[2];
	int on = 1;
	FILE *file = fopen(PORTS, "r");

	if (!file || fread(ports, sizeof(ports), 1, file) != 1)
		die("%s", PORTS);
	fclose(file);
	for (int way = TCP; way <= UDP; way++) {
		address = loopback(ports[way]);
		ends[way].in = ends[way].out =
			open_socket(AF_INET, way == TCP ? SOCK_STREAM : SOCK_DGRAM);
		if (connect(ends[way].in, (struct sockaddr *)&address, sizeof(address)))
			die("connect");
	}
	setsockopt(ends[TCP].out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	ends[UNIX].in = ends[UNIX].out = open_socket(AF_UNIX, SOCK_STREAM);
	if (connect(ends[UNIX].in, (struct sockaddr *)&path, sizeof(path)))
		die("%s", UNIX_PATH);
	ends[FIFO].out = open(ASK_PATH, O_WRONLY);
	ends[FIFO].in = open(TELL_PATH, O_RDONLY);
	if (ends[FIFO].in < 0 || ends[FIFO].out < 0)
		die("%s", ASK_PATH);
}

/* Wall time less on-CPU time and run-queue time of the calling thread. */
static uint64_t blocked_clock(int schedstat)
{
	unsigned long long queued = 0;
	char text[128] = "";

	if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%*u %llu", &queued) != 1)
		die("schedstat");
	return wall_ns() - clock_ns(CLOCK_THREAD_CPUTIME_ID) - queued;
}

KEEP void think(void)
{
	BURN(300000);
	NO_TAIL_CALL();
}

static void tell_waits(const char *name, uint64_t *blocked, size_t n, const char *before)
{
	uint64_t sum = 0;

	qsort(blocked, n, sizeof(*blocked), compare_numbers);
	for (size_t i = 0; i < n; i++)
		sum += blocked[i];
	printf("%s\"%s\": {\"blocked_ns\": %" PRIu64 ", \"tenth_ns\": %" PRIu64 "}", before, name,
	       sum, n ? blocked[n / 10] : 0);
}

static void ask(double seconds)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	static uint64_t blocked[WAYS][ROUNDS_MAX]; /* of each wait */
	struct ends ends[WAYS];
	uint64_t end;
	size_t rounds = 0;

	connect_all(ends);
	end = wall_ns() + (uint64_t)(seconds * NS_PER_S);
	for (; rounds < ROUNDS_MAX && wall_ns() < end; rounds++) {
		for (int way = 0; way < WAYS; way++) {
			uint64_t before;
			char byte = 0;

			think();
			before = blocked_clock(schedstat);
			if (write(ends[way].out, &byte, 1) != 1 ||
			    read(ends[way].in, &byte, 1) != 1)
				die("%s", ways[way].name);
			blocked[way][rounds] = blocked_clock(schedstat) - before;
		}
		DWELL_PROGRESS_NAMED("round");
	}
	printf("{\"rounds\": %zu, \"ways\": {", rounds);
	for (int way = 0; way < WAYS; way++)
		tell_waits(ways[way].name, blocked[way], rounds, way ? ", " : "");
	printf("}}\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"serve", no_argument, NULL, 'S'},
		{"ready", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{},
	};
	const char *ready_file = NULL;
	bool server = false;
	double seconds = 3;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'S')
			server = true;
		else if (option == 'r')
			ready_file = optarg;
		else if (option == 's')
			seconds = atof(optarg);
		else
			return 2;
	}
	if (server)
		serve(ready_file);
	else
		ask(seconds);
	return 0;
}
