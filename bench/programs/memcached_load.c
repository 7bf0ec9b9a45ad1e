// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client of memcached: GET and SET of random keys over some connections, by one thread.
 *
 *	memcached_load --port P [--connections N] [--keys N] [--value BYTES] [--sets PERCENT]
 *		[--seconds S] [--warm S] [--rate R | --depth N]
 *	memcached_load --port P --fill [--keys N] [--value BYTES]
 *
 * With --rate, requests arrive at random (a Poisson process of R a second), and are sent at once,
 * whether or not earlier ones are answered. Their latency counts from the arrival that was
 * intended, so that a client that is late does not hide that the server is slow. Otherwise each
 * connection has always N requests under way (--depth, default 1). Of the first --warm seconds
 * nothing is counted.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define S	   1000000000ull
#define UNDER_WAY  16384 /* requests of one connection, a power of two */
#define BUFFER	   (1 << 17)
#define MOST_VALUE 65536
#define LONGEST	   UINT32_MAX

struct connection {
	int fd;
	uint64_t arrivals[UNDER_WAY]; /* of the requests that are not answered; a ring */
	uint32_t first, end;
	size_t skip; /* bytes of a value that are still to come */
	size_t in_size, out_size, out_sent;
	char in[BUFFER], out[BUFFER + MOST_VALUE];
};

static struct {
	uint64_t port, connections, keys, value, sets, rate, depth;
	double seconds, warm;
	bool fill;
} options = {.connections = 16, .keys = 20000, .value = 100, .sets = 10, .depth = 1, .seconds = 3};

static struct connection *connections;
static int poller;
static uint32_t *latencies;
static size_t n_latencies, room;
static uint64_t counted_from, answered, hits;
static char value[MOST_VALUE];

static void fail(const char *what)
{
	fprintf(stderr, "memcached_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
}

static uint64_t draw(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The time to the next arrival of a Poisson process. */
static uint64_t draw_gap(void)
{
	double uniform = ((double)(draw() >> 11) + 1) / 9007199254740993.0;

	return (uint64_t)(-log(uniform) / (double)options.rate * (double)S);
}

static int connect_to_server(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)options.port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		fail("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void flush(struct connection *connection)
{
	while (connection->out_sent < connection->out_size) {
		ssize_t sent = send(connection->fd, connection->out + connection->out_sent,
				    connection->out_size - connection->out_sent,
				    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN)
			return; /* tried again after the next answer */
		if (sent < 0)
			fail("send");
		connection->out_sent += (size_t)sent;
	}
	connection->out_size = connection->out_sent = 0;
}

static void add_request(struct connection *connection, uint64_t arrival, uint64_t key, bool set)
{
	char *out = connection->out + connection->out_size;

	if (connection->end - connection->first == UNDER_WAY ||
	    connection->out_size + 100 + options.value > sizeof(connection->out)) {
		errno = ENOBUFS;
		fail("the server is too slow for this rate");
	}
	connection->arrivals[connection->end++ % UNDER_WAY] = arrival;
	if (set) {
		out += sprintf(out, "set key:%08u 0 0 %u\r\n", (unsigned int)key,
			       (unsigned int)options.value);
		memcpy(out, value, options.value);
		out += options.value;
		out += sprintf(out, "\r\n");
	} else {
		out += sprintf(out, "get key:%08u\r\n", (unsigned int)key);
	}
	connection->out_size = (size_t)(out - connection->out);
}

static void add_random_request(struct connection *connection, uint64_t arrival)
{
	add_request(connection, arrival, draw() % options.keys, draw() % 100 < options.sets);
}

static void note_answer(struct connection *connection, uint64_t time)
{
	uint64_t arrival = connection->arrivals[connection->first++ % UNDER_WAY];
	uint64_t latency = time - arrival;

	if (arrival < counted_from)
		return;
	answered++;
	if (n_latencies == room) {
		room = room ? 2 * room : 1 << 20;
		latencies = realloc(latencies, room * sizeof(*latencies));
		if (!latencies)
			fail("memory");
	}
	latencies[n_latencies++] = latency < LONGEST ? (uint32_t)latency : LONGEST;
}

/* One line of an answer, without its end. */
static void take_line(struct connection *connection, const char *line, uint64_t time)
{
	unsigned int bytes;

	if (sscanf(line, "VALUE %*s %*u %u", &bytes) == 1) {
		connection->skip = bytes + 2;
		hits++;
	} else if (!strcmp(line, "END") || !strcmp(line, "STORED")) {
		note_answer(connection, time);
	} else {
		errno = EPROTO;
		fail(line);
	}
}

static size_t take_answers(struct connection *connection, uint64_t time)
{
	uint32_t before = connection->first;
	char *at = connection->in, *end = connection->in + connection->in_size;

	while (at < end) {
		size_t skipped = connection->skip < (size_t)(end - at) ? connection->skip
								       : (size_t)(end - at);
		char *line_end;

		at += skipped;
		connection->skip -= skipped;
		line_end = memchr(at, '\n', (size_t)(end - at));
		if (!line_end)
			break;
		line_end[-1] = '\0';
		take_line(connection, at, time);
		at = line_end + 1;
	}
	connection->in_size = (size_t)(end - at);
	memmove(connection->in, at, connection->in_size);
	return connection->first - before;
}

static size_t receive(struct connection *connection)
{
	ssize_t got = recv(connection->fd, connection->in + connection->in_size,
			   sizeof(connection->in) - connection->in_size, MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got <= 0)
		fail("recv");
	connection->in_size += (size_t)got;
	return take_answers(connection, now());
}

/* Waits until something arrives, or @until; returns the number of answers. */
static size_t wait_for_answers(uint64_t until, bool closed_loop)
{
	struct epoll_event events[64];
	uint64_t time = now(), left = until > time ? until - time : 0;
	struct timespec timeout = {(time_t)(left / S), (long)(left % S)};
	int n = epoll_pwait2(poller, events, 64, &timeout, NULL);
	size_t answers = 0;

	for (int i = 0; i < n; i++) {
		struct connection *connection = events[i].data.ptr;
		size_t received = receive(connection);

		answers += received;
		for (time = now(); closed_loop && received; received--)
			add_random_request(connection, time);
		flush(connection);
	}
	return answers;
}

static void run_open_loop(uint64_t begin, uint64_t end)
{
	uint64_t next = begin + draw_gap();
	size_t under_way = 0;

	while (next < end || (under_way && now() < end + S)) {
		uint64_t time = now();

		for (; next <= time && next < end; next += draw_gap()) {
			struct connection *connection = &connections[draw() % options.connections];

			add_random_request(connection, next);
			flush(connection);
			under_way++;
		}
		under_way -= wait_for_answers(next < end ? next : end + S, false);
	}
	if (under_way)
		fprintf(stderr, "memcached_load: %zu requests were not answered\n", under_way);
}

static void run_closed_loop(uint64_t end)
{
	for (uint64_t i = 0; i < options.connections; i++) {
		for (uint64_t k = 0; k < options.depth; k++)
			add_random_request(&connections[i], now());
		flush(&connections[i]);
	}
	while (now() < end)
		wait_for_answers(end, true);
}

static void fill(void)
{
	for (uint64_t key = 0; key < options.keys; key++) {
		add_request(&connections[0], now(), key, true);
		flush(&connections[0]);
		while (connections[0].first != connections[0].end)
			wait_for_answers(now() + S, false);
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static uint32_t quantile(double p)
{
	return n_latencies ? latencies[(size_t)(p * (double)(n_latencies - 1))] : 0;
}

static void tell(double seconds)
{
	qsort(latencies, n_latencies, sizeof(*latencies), compare);
	printf("{\"requests\": %llu, \"hits\": %llu, \"per_second\": %.1f, \"p50_ns\": %u, "
	       "\"p90_ns\": %u, "
	       "\"p99_ns\": %u, \"p999_ns\": %u, \"max_ns\": %u}\n",
	       (unsigned long long)answered, (unsigned long long)hits, (double)answered / seconds,
	       quantile(0.5), quantile(0.9), quantile(0.99), quantile(0.999), quantile(1));
}

static void set_up(void)
{
	poller = epoll_create1(EPOLL_CLOEXEC);
	connections = calloc(options.connections, sizeof(*connections));
	if (poller < 0 || !connections)
		fail("epoll");
	for (uint64_t i = 0; i < options.connections; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};

		connections[i].fd = connect_to_server();
		if (epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].fd, &event))
			fail("epoll_ctl");
	}
	memset(value, 'v', sizeof(value));
	/* Or waits end 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

static void parse(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t *number;
		double *real;
	} known[] = {
		{"port", &options.port, NULL},	 {"connections", &options.connections, NULL},
		{"keys", &options.keys, NULL},	 {"value", &options.value, NULL},
		{"sets", &options.sets, NULL},	 {"rate", &options.rate, NULL},
		{"depth", &options.depth, NULL}, {"seconds", NULL, &options.seconds},
		{"warm", NULL, &options.warm},
	};

	for (int i = 1; i < argc; i++) {
		bool taken = !strcmp(argv[i], "--fill");

		options.fill |= taken;
		for (size_t k = 0; k < sizeof(known) / sizeof(*known) && !taken; k++) {
			taken = i + 1 < argc && !strncmp(argv[i], "--", 2) &&
				!strcmp(argv[i] + 2, known[k].name);
			if (!taken)
				continue;
			i++;
			if (known[k].number)
				*known[k].number = strtoull(argv[i], NULL, 10);
			else
				*known[k].real = strtod(argv[i], NULL);
		}
		if (!taken) {
			fprintf(stderr, "memcached_load: unknown option %s\n", argv[i]);
			exit(2);
		}
	}
	if (!options.port || !options.connections || !options.keys || options.value >= MOST_VALUE) {
		fprintf(stderr, "memcached_load: --port is missing, or a number is wrong\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	uint64_t begin, end;

	parse(argc, argv);
	set_up();
	begin = now();
	end = begin + (uint64_t)((options.warm + options.seconds) * (double)S);
	counted_from = begin + (uint64_t)(options.warm * (double)S);
	if (options.fill)
		fill();
	else if (options.rate)
		run_open_loop(begin, end);
	else
		run_closed_loop(end);
	tell(options.fill ? (double)(now() - begin) / (double)S : options.seconds);
	return 0;
}
