// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two processes on a TCP connection over loopback, one of which waits for what TCP holds back:
 *
 *	tcp_holds nagle|cork|more|lost|window|beside|listen|unanswered
 *
 * In a network namespace of its own where it may have one, so that the kernel's counters are of
 * nothing else. The last line has the truth as JSON: "held": for each time that something was held
 * back, [ns by which it was at most, and at least, held], by the clocks of both sides; "waiter":
 * the pid that waited, "other": the other one; "counters": what the kernel counted.
 */
#include <linux/filter.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/programs/common/disk_file.h"
#include "tests/programs/common/loopback.h"
#include "tests/programs/common/program.h"

#define ROUNDS	    6
#define BULK	    8000000
#define SLEEP_NS    300000000
#define DROPPING_NS 100000000
#define REST_NS	    30000000

/* What both processes write. */
static struct shared {
	uint64_t before[ROUNDS]; /* the write, or (window, listen) when nothing held it any more */
	uint64_t after[ROUNDS];
	uint64_t begun[ROUNDS]; /* the wait, */
	uint64_t got[ROUNDS];	/* and its end */
	int n;
} * shared;

static struct sockaddr_in listens_at, deaf_address;

static void set_option(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		die("setsockopt");
}

static void use_own_network(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		die("lo");
	close(fd);
}

static void read_byte(int fd)
{
	char byte;

	if (recv(fd, &byte, 1, 0) != 1)
		die("recv");
}

static void write_with(int fd, int flags)
{
	if (send(fd, "x", 1, MSG_NOSIGNAL | flags) != 1)
		die("send");
}

static void write_byte(int fd)
{
	write_with(fd, 0);
}

static void note_write_with(int fd, int round, int flags)
{
	shared->before[round] = wall_ns();
	write_with(fd, flags);
	shared->after[round] = wall_ns();
}

static void note_write(int fd, int round)
{
	note_write_with(fd, round, 0);
}

/* The answer is two small writes. */
static void serve_nagle(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 0);
	for (int i = 0; i < ROUNDS; i++) {
		read_byte(fd);
		write_byte(fd);
		note_write(fd, i);
	}
}

static void serve_cork(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_CORK, 1);
	for (int i = 0; i < ROUNDS; i++) {
		read_byte(fd);
		note_write(fd, i);
	}
}

/* As proxies send the headers that they have before the body. */
static void serve_more(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	for (int i = 0; i < ROUNDS; i++) {
		read_byte(fd);
		note_write_with(fd, i, MSG_MORE);
		sleep_ns(REST_NS);
		write_byte(fd);
		read_byte(fd);
	}
}

static void ask(int fd, int bytes)
{
	for (int i = 0; i < ROUNDS; i++) {
		write_byte(fd);
		for (int k = 1; k < bytes; k++)
			read_byte(fd);
		shared->begun[i] = wall_ns();
		read_byte(fd);
		shared->got[i] = wall_ns();
	}
	shared->n = ROUNDS;
}

static void ask_for_one(int fd)
{
	ask(fd, 1);
}

static void ask_for_two(int fd)
{
	ask(fd, 2);
}

static void ask_for_all(int fd)
{
	for (int i = 0; i < ROUNDS; i++) {
		write_byte(fd);
		shared->begun[i] = wall_ns();
		read_byte(fd);
		shared->got[i] = wall_ns();
		read_byte(fd);
		write_byte(fd);
	}
	shared->n = ROUNDS;
}

/* The receiver drops segments for some time. */
static void receive_late(int fd)
{
	struct sock_filter nothing = {.code = BPF_RET | BPF_K};
	const struct sock_fprog filter = {.len = 1, .filter = &nothing};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		die("SO_ATTACH_FILTER");
	__atomic_store_n(&shared->n, -1, __ATOMIC_SEQ_CST);
	sleep_ns(DROPPING_NS);
	set_option(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
	shared->begun[0] = wall_ns();
	read_byte(fd);
	shared->got[0] = wall_ns();
	shared->n = 1;
}

static void send_in_vain(int fd)
{
	while (__atomic_load_n(&shared->n, __ATOMIC_SEQ_CST) != -1)
		sleep_ns(1000000);
	note_write(fd, 0);
}

/* The receiver does not read for some time. */
static void read_late(int fd)
{
	static char bytes[65536];
	ssize_t n, left = BULK;

	sleep_ns(SLEEP_NS);
	shared->before[0] = wall_ns();
	for (; left > 0; left -= n) {
		n = recv(fd, bytes, sizeof(bytes), 0);
		if (n <= 0)
			die("recv");
	}
	shared->after[0] = wall_ns();
}

static void send_much(int fd)
{
	static char bytes[BULK];

	shared->begun[0] = wall_ns();
	if (send(fd, bytes, BULK, MSG_NOSIGNAL) != BULK)
		die("send");
	shared->got[0] = wall_ns();
	shared->n = 1;
}

static void use_one_cpu(void)
{
	cpu_set_t cpus;
	int first = 0;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		die("sched_getaffinity");
	while (!CPU_ISSET(first, &cpus))
		first++;
	CPU_ZERO(&cpus);
	CPU_SET(first, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
}

/* Requests to a disk complete in the same softirqs in which segments come. */
static void read_disk(void)
{
	struct disk_file file;
	char *memory = disk_buffer(4096);
	uint64_t at = 0;

	disk_file__create(&file, ".", "beside", 1 << 24, 0);
	while (!__atomic_load_n(&shared->n, __ATOMIC_SEQ_CST)) {
		if (pread(file.fd, memory, 4096, (off_t)at) != 4096)
			die("pread");
		at = (at + 4096) % file.size;
	}
	disk_file__remove(&file);
	free(memory);
}

static void receive_much(int fd)
{
	static char bytes[65536];

	use_one_cpu();
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

static void send_beside_disk(int fd)
{
	static char bytes[BULK];
	uint64_t until = wall_ns() + 3 * (uint64_t)SLEEP_NS;
	pid_t reader;

	use_one_cpu();
	reader = fork();
	if (reader < 0)
		die("fork");
	if (!reader) {
		set_name("reader");
		read_disk();
		_exit(0);
	}
	while (wall_ns() < until)
		if (send(fd, bytes, BULK, MSG_NOSIGNAL) != BULK)
			die("send");
	__atomic_store_n(&shared->n, 1, __ATOMIC_SEQ_CST);
	waitpid(reader, NULL, 0);
	shutdown(fd, SHUT_WR);
}

static int connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		die("connect");
	return fd;
}

/* The listen queue holds one connection, which is accepted late. */
static void accept_late(int listener)
{
	sleep_ns(SLEEP_NS);
	for (int i = 0; i < 2; i++)
		if (accept4(listener, NULL, NULL, SOCK_CLOEXEC) < 0)
			die("accept");
	sleep_ns(SLEEP_NS);
}

static void connect_twice(int listener)
{
	connect_to(&listens_at);
	shared->begun[0] = wall_ns();
	connect_to(&listens_at);
	shared->got[0] = wall_ns();
	shared->n = 1;
}

/* A question over UDP that nobody answers is asked again. */
static void ask_twice(int fd)
{
	static const char question[] = "a question of more than 16 bytes";
	struct pollfd answer = {.events = POLLIN};

	(void)fd;
	answer.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (answer.fd < 0 ||
	    connect(answer.fd, (struct sockaddr *)&deaf_address, sizeof(deaf_address)))
		die("connect");
	for (int i = 0; i < 2; i++) {
		if (send(answer.fd, question, sizeof(question), 0) != sizeof(question))
			die("send");
		if (i)
			break;
		shared->begun[0] = wall_ns();
		poll(&answer, 1, SLEEP_NS / 1000000);
		shared->got[0] = wall_ns();
	}
	shared->n = 1;
}

static void do_not_answer(int fd)
{
	read_byte(fd); /* until the waiter is gone */
}

/* A socket that receives, and is not read. */
static void bind_deaf(void)
{
	socklen_t size = sizeof(deaf_address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	deaf_address.sin_family = AF_INET;
	deaf_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&deaf_address, size) ||
	    getsockname(fd, (struct sockaddr *)&deaf_address, &size))
		die("bind");
}

/* The value of counter @name in the kernel's table of pairs of lines. */
static unsigned long counter(const char *name)
{
	static char names[8192], values[8192];
	FILE *file = fopen("/proc/thread-self/net/netstat", "re");
	unsigned long found = 0;

	while (file && fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file)) {
		char *next_name, *next_value, *n = strtok_r(names, " \n", &next_name);
		char *v = strtok_r(values, " \n", &next_value);

		for (; n && v;
		     n = strtok_r(NULL, " \n", &next_name), v = strtok_r(NULL, " \n", &next_value))
			if (!strcmp(n, name))
				found = strtoul(v, NULL, 10);
	}
	if (file)
		fclose(file);
	return found;
}

static void tell(const char *mode, pid_t waiter, pid_t other)
{
	static const char *const names[] = {"DelayedACKs", "TCPTimeouts", "TCPLossProbes",
					    "TCPSynRetrans", "ListenOverflows"};
	bool write = !strcmp(mode, "nagle") || !strcmp(mode, "cork") || !strcmp(mode, "more") ||
		     !strcmp(mode, "lost");

	printf("{\"waiter\": %d, \"other\": %d, \"held\": [", waiter, other);
	for (int i = 0; i < shared->n; i++) {
		uint64_t from = write ? shared->before[i] : shared->begun[i];
		uint64_t at_least = write ? shared->after[i] : shared->begun[i];

		if (at_least < shared->begun[i])
			at_least = shared->begun[i];
		printf("%s[%llu, %llu]", i ? ", " : "", (unsigned long long)(shared->got[i] - from),
		       (unsigned long long)(shared->got[i] > at_least ? shared->got[i] - at_least
								      : 0));
	}
	printf("], \"counters\": {");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("%s\"%s\": %lu", i ? ", " : "", names[i], counter(names[i]));
	printf("}}\n");
}

/* What the two processes do; the listener's fd takes the place of a connection's. */
static const struct mode {
	const char *name;
	void (*other)(int fd);
	void (*waiter)(int fd);
} modes[] = {
	{"beside", receive_much, send_beside_disk}, {"nagle", serve_nagle, ask_for_two},
	{"cork", serve_cork, ask_for_one},	    {"more", serve_more, ask_for_all},
	{"lost", send_in_vain, receive_late},	    {"window", read_late, send_much},
	{"listen", accept_late, connect_twice},	    {"unanswered", do_not_answer, ask_twice},
};

static const struct mode *find_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, name))
			return &modes[i];
	die("usage: tcp_holds nagle|cork|more|lost|window|beside|listen|unanswered");
}

int main(int argc, char **argv)
{
	const struct mode *mode = find_mode(argc == 2 ? argv[1] : "");
	int client_fd, server_fd;
	pid_t child;

	use_own_network();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (mode->other == accept_late)
		client_fd = server_fd = loopback__listen(&listens_at, 0);
	else
		loopback__connect(&client_fd, &server_fd);
	bind_deaf();
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		set_name("other");
		mode->other(server_fd);
		_exit(0);
	}
	set_name("waiter");
	mode->waiter(client_fd);
	if (mode->waiter == ask_twice)
		write_byte(client_fd);
	waitpid(child, NULL, 0);
	tell(mode->name, getpid(), child);
	return 0;
}
