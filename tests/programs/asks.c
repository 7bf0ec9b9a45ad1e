// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that ask a server, which takes a known time for each answer, or send it as much as they
 *may.
 *
 *	asks --serve ADDRESS:PORT [--udp] [--takes US] [--flood] [--ready FILE]   until it is killed
 *	asks --ask ADDRESS:PORT [--udp] [--thinks US] [--flood] [--threads N] [--seconds S]
 *
 * True by construction: the server has a thread for each connection (UDP: one for all), which
 * sleeps for --takes before each answer. Each thread of the client computes for --thinks of its CPU
 * time, asks, and waits for the answer; it waits for nothing else. With --flood the server only
 * reads, and the client only sends, with a small send buffer: it waits for space in that. The last
 * line is, for all threads together, {"rounds": N, "asked_ns": A, "life_ns": L}: A is the wall time
 * from before the question until after the answer; with --flood in send().
 */
#include "tests/programs/common/program.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define THREADS_MAX  64
#define PACKET	     1400
#define SMALL_BUFFER 20000

static struct sockaddr_in address;
static uint64_t takes_ns = 9 * NS_PER_MS, thinks_ns = NS_PER_MS, end;
static int type = SOCK_STREAM;
static bool flood;

struct asker {
	pthread_t thread;
	uint64_t rounds, asked_ns, life_ns;
};

static void *answer(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	static __thread char bytes[65536];
	char byte;

	while (flood && recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	while (!flood && recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &size) == 1) {
		sleep_ns(takes_ns);
		if (sendto(fd, &byte, 1, 0, type == SOCK_DGRAM ? (struct sockaddr *)&from : NULL,
			   type == SOCK_DGRAM ? size : 0) != 1)
			break;
		size = sizeof(from);
	}
	close(fd);
	return NULL;
}

static void set_option(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		die("setsockopt");
}

static void serve(const char *ready_file)
{
	int fd = socket(AF_INET, type, 0);

	set_name("answers");
	signal(SIGPIPE, SIG_IGN);
	set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die("bind");
	if (type == SOCK_STREAM && listen(fd, THREADS_MAX))
		die("listen");
	ready(ready_file);
	if (type == SOCK_DGRAM)
		answer((void *)(intptr_t)fd);
	for (;;) {
		int connection = accept(fd, NULL, NULL);

		if (connection < 0)
			die("accept");
		set_option(connection, IPPROTO_TCP, TCP_NODELAY, 1);
		start_thread(answer, (void *)(intptr_t)connection);
	}
}

KEEP void think(void)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + thinks_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		BURN(1000);
	NO_TAIL_CALL();
}

KEEP void ask_once(int fd)
{
	static const char bytes[PACKET];
	char byte = 0;

	if (flood && send(fd, bytes, sizeof(bytes), 0) < 0)
		die("send");
	if (!flood && (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1))
		die("no answer");
	NO_TAIL_CALL();
}

static void *ask(void *arg)
{
	struct asker *self = arg;
	uint64_t begin = wall_ns(), before;
	int fd = socket(AF_INET, type, 0);

	set_name("asker");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	if (flood)
		set_option(fd, SOL_SOCKET, SO_SNDBUF, SMALL_BUFFER);
	if (type == SOCK_STREAM)
		set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	while (wall_ns() < end) {
		if (!flood)
			think();
		before = wall_ns();
		ask_once(fd);
		self->asked_ns += wall_ns() - before;
		self->rounds++;
	}
	self->life_ns = wall_ns() - begin;
	close(fd);
	return NULL;
}

static void ask_all(int n, double seconds)
{
	static struct asker askers[THREADS_MAX];
	struct asker sum = {};

	end = wall_ns() + (uint64_t)(seconds * NS_PER_S);
	for (int i = 0; i < n; i++)
		askers[i].thread = start_thread(ask, &askers[i]);
	for (int i = 0; i < n; i++) {
		pthread_join(askers[i].thread, NULL);
		sum.rounds += askers[i].rounds;
		sum.asked_ns += askers[i].asked_ns;
		sum.life_ns += askers[i].life_ns;
	}
	printf("{\"rounds\": %" PRIu64 ", \"asked_ns\": %" PRIu64 ", \"life_ns\": %" PRIu64 "}\n",
	       sum.rounds, sum.asked_ns, sum.life_ns);
}

static void parse_address(char *text)
{
	char *colon = strchr(text, ':');

	if (!colon)
		die("%s is not ADDRESS:PORT", text);
	*colon = '\0';
	address = (struct sockaddr_in){.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)atoi(colon + 1))};
	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		die("%s is not an address", text);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"serve", required_argument, NULL, 'S'},
		{"ask", required_argument, NULL, 'a'},
		{"udp", no_argument, NULL, 'u'},
		{"flood", no_argument, NULL, 'f'},

		{"takes", required_argument, NULL, 't'},
		{"thinks", required_argument, NULL, 'c'},
		{"ready", required_argument, NULL, 'r'},
		{"threads", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 's'},
		{},
	};
	const char *ready_file = NULL;
	bool server = false;
	double seconds = 2;
	int option, n = 8;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'S':
		case 'a':
			server = option == 'S';
			parse_address(optarg);
			break;
		case 'u':
			type = SOCK_DGRAM;
			break;
		case 'f':
			flood = true;
			break;
		case 't':
			takes_ns = strtoull(optarg, NULL, 10) * NS_PER_US;
			break;
		case 'c':
			thinks_ns = strtoull(optarg, NULL, 10) * NS_PER_US;
			break;
		case 'r':
			ready_file = optarg;
			break;
		case 'n':
			n = atoi(optarg);
			break;
		case 's':
			seconds = atof(optarg);
			break;
		default:
			return 2;
		}
	}
	if (n < 1 || n > THREADS_MAX)
		return 2;
	if (server)
		serve(ready_file);
	ask_all(n, seconds);
	return 0;
}
