/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Server processes, one connection each, of which some requests need a lock that all of them share,
 * like a database's lock of a row. Who finds it held sleeps in epoll_wait() until the process that
 * releases the lock passes it on, and wakes it, by its latch.
 *
 *   latch CASE [--seconds N] [--ports FILE]    the servers; their ports are written to FILE
 *   latch clients FILE                         the clients: a process for each port in FILE
 *
 * The cases differ in the latch: a signalfd, an eventfd, or a pipe into which the handler of a
 * signal writes (selfpipe). checked: a signalfd, and the sleeper looks for deadlocks every 2 ms.
 * mixed: a signalfd, in the epoll set that has the connection, too, and in the same function.
 *
 * True by construction: a server is idle in lobby until a request comes. In latched, it is not:
 * its client waits for the reply, and it waits for the holder of the lock. The holder sleeps for
 * 3 ms. Every third request needs no lock. A client sleeps for 6 ms between a reply and the next
 * request.
 *
 * Truth, per server: blocked time in lobby (idle_ns), and in latched by the server that passed on
 * the lock then (latch_ns), measured as in tests/programs/idle/.
 */
#include "tests/programs/common/keep_cpus_busy.h"
#include "tests/programs/common/loopback.h"
#include "tests/programs/common/switch_log.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define SERVERS	 3
#define HOLD_NS	 (3 * NS_PER_MS)
#define THINK_NS (6 * NS_PER_MS)
#define CHECK_MS 2
#define NOBODY	 (-1)

enum latch { BY_SIGNALFD, BY_EVENTFD, BY_PIPE };

struct latch_case {
	const char *name;
	enum latch latch;
	int timeout; /* of a sleep in latched, ms */
	bool mixed;
};

static const struct latch_case cases[] = {
	{"signalfd", BY_SIGNALFD, -1, false}, {"eventfd", BY_EVENTFD, -1, false},
	{"selfpipe", BY_PIPE, -1, false},     {"checked", BY_SIGNALFD, CHECK_MS, false},
	{"mixed", BY_SIGNALFD, -1, true},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

struct server {
	pid_t pid;
	int event_fd;
	int granted_by; /* the server that passed the lock on to this one, or NOBODY */
	uint64_t idle_ns;
	uint64_t latch_ns[SERVERS];
};

/* Shared by the servers. */
static struct {
	int guard; /* a spin lock of what follows, up to servers */
	int holder;
	int queue[SERVERS]; /* of waiting servers */
	int queued;
	struct server servers[SERVERS];
} * shared;

static const struct latch_case *chosen;
static uint64_t seconds = 3;
static const char *ports_path;

/* Of this server. */
static int self, connection, request_epoll, latch_epoll, latch_fd, pipe_fd;
static struct switch_log own_log;

static void guard_lock(void)
{
	while (__atomic_exchange_n(&shared->guard, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void guard_unlock(void)
{
	__atomic_store_n(&shared->guard, 0, __ATOMIC_RELEASE);
}

static void on_signal(int signal)
{
	int error = errno;

	(void)signal;
	if (write(pipe_fd, "w", 1) != 1)
		abort();
	errno = error;
}

static void wake(int server)
{
	uint64_t one = 1;

	if (chosen->latch != BY_EVENTFD) {
		kill(shared->servers[server].pid, SIGURG);
		return;
	}
	if (write(shared->servers[server].event_fd, &one, sizeof(one)) != sizeof(one))
		die("eventfd");
}

static void open_latch(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t urgent;
	int ends[2];

	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	switch (chosen->latch) {
	case BY_SIGNALFD:
		sigprocmask(SIG_BLOCK, &urgent, NULL);
		latch_fd = signalfd(-1, &urgent, SFD_CLOEXEC | SFD_NONBLOCK);
		break;
	case BY_EVENTFD:
		latch_fd = shared->servers[self].event_fd;
		break;
	case BY_PIPE:
		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
			die("pipe");
		latch_fd = ends[0];
		pipe_fd = ends[1];
		sigaction(SIGURG, &action, NULL);
		break;
	}
	if (latch_fd < 0)
		die("latch");
}

static int open_epoll(int one, int other)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, one, &event) ||
	    (other >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, other, &event)))
		die("epoll");
	return fd;
}

KEEP void await_event(int epoll, int timeout)
{
	struct epoll_event event;

	if (epoll_wait(epoll, &event, 1, timeout) < 0 && errno != EINTR)
		die("epoll_wait");
	NO_TAIL_CALL();
}

/* Adds the blocked time since @begin to *@ns. */
static void add_blocked(uint64_t *ns, const struct thread_times *begin)
{
	struct thread_times end = thread_times__now(&own_log);
	struct phase_times phase = {};

	phase_times__add(&phase, begin, &end);
	*ns += phase_times__blocked(&phase);
}

static bool receive_request(char *request)
{
	ssize_t n = recv(connection, request, 1, MSG_DONTWAIT);

	return n >= 0 || errno != EAGAIN;
}

/* Sleeps until a request is there. 0: the connection is closed. */
KEEP char lobby(void)
{
	struct thread_times begin = thread_times__now(&own_log);
	char request = 0;

	while (!receive_request(&request))
		await_event(request_epoll, -1);
	add_blocked(&shared->servers[self].idle_ns, &begin);
	return request;
}

static bool is_granted(void)
{
	return __atomic_load_n(&shared->servers[self].granted_by, __ATOMIC_ACQUIRE) != NOBODY;
}

/* Sleeps until the holder has passed on the lock. */
KEEP void latched(void)
{
	struct thread_times begin = thread_times__now(&own_log);
	struct server *own = &shared->servers[self];
	char bytes[sizeof(struct signalfd_siginfo)];

	do {
		await_event(latch_epoll, chosen->timeout);
		while (read(latch_fd, bytes, sizeof(bytes)) > 0)
			;
	} while (!is_granted());
	add_blocked(&own->latch_ns[own->granted_by], &begin);
}

/* mixed: lobby() and latched() in one function, so that nothing but the events tells them apart. */
KEEP char anywhere(bool for_lock)
{
	struct thread_times begin = thread_times__now(&own_log);
	struct server *own = &shared->servers[self];
	char bytes[sizeof(struct signalfd_siginfo)];
	char request = 0;

	while (for_lock ? !is_granted() : !receive_request(&request)) {
		await_event(request_epoll, -1);
		while (read(latch_fd, bytes, sizeof(bytes)) > 0)
			;
	}
	add_blocked(for_lock ? &own->latch_ns[own->granted_by] : &own->idle_ns, &begin);
	return request;
}

static void lock_row(void)
{
	struct server *own = &shared->servers[self];
	bool held;

	guard_lock();
	held = shared->holder != NOBODY;
	own->granted_by = NOBODY;
	if (held)
		shared->queue[shared->queued++] = self;
	else
		shared->holder = self;
	guard_unlock();
	if (!held)
		return;
	if (chosen->mixed)
		anywhere(true);
	else
		latched();
}

static void unlock_row(void)
{
	int next = NOBODY;

	guard_lock();
	if (shared->queued) {
		next = shared->queue[0];
		memmove(shared->queue, shared->queue + 1, sizeof(int) * --shared->queued);
		__atomic_store_n(&shared->servers[next].granted_by, self, __ATOMIC_RELEASE);
	}
	shared->holder = next;
	guard_unlock();
	if (next != NOBODY)
		wake(next);
}

/* Goes on until its client has gone, which it does when the time is over. */
static void serve(void)
{
	char request;

	while ((request = chosen->mixed ? anywhere(false) : lobby())) {
		if (request == 'l') {
			lock_row();
			sleep_ns(HOLD_NS);
			unlock_row();
		}
		if (send(connection, "r", 1, MSG_NOSIGNAL) != 1)
			break;
		switch_log__read(&own_log);
	}
}

static void __attribute__((noreturn)) run_server(int number, int listener)
{
	char name[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "server%d", number);
	self = number;
	shared->servers[self].pid = getpid();
	open_latch();
	switch_log__open(&own_log);
	set_name(name);
	connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		die("accept");
	request_epoll = open_epoll(connection, chosen->mixed ? latch_fd : -1);
	latch_epoll = open_epoll(latch_fd, -1);
	serve();
	_exit(0);
}

static void prepare(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	shared->holder = NOBODY;
	for (int i = 0; i < SERVERS; i++)
		shared->servers[i].event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void print_truth(void)
{
	printf("{\"case\":\"%s\",\"servers\":{", chosen->name);
	for (int i = 0; i < SERVERS; i++) {
		const struct server *server = &shared->servers[i];

		printf("%s\"server%d\":{\"tid\":%d,\"idle_ns\":%" PRIu64 ",\"latch_ns\":{",
		       i ? "," : "", i, server->pid, server->idle_ns);
		for (int k = 0; k < SERVERS; k++)
			printf("%s\"server%d\":%" PRIu64, k ? "," : "", k, server->latch_ns[k]);
		printf("}}");
	}
	printf("}}\n");
}

static void run_servers(void)
{
	struct sockaddr_in addresses[SERVERS];
	struct busy_cpus busy = {};
	char temporary[4096];
	pid_t pids[SERVERS];
	FILE *file;

	prepare();
	busy_cpus__start(&busy);
	for (int i = 0; i < SERVERS; i++) {
		int listener = loopback__listen(&addresses[i], 1);

		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (!pids[i])
			run_server(i, listener);
		close(listener);
	}
	snprintf(temporary, sizeof(temporary), "%s.new", ports_path);
	file = fopen(temporary, "we");
	if (!file)
		die("%s", temporary);
	fprintf(file, "%" PRIu64, seconds);
	for (int i = 0; i < SERVERS; i++)
		fprintf(file, " %d", ntohs(addresses[i].sin_port));
	fclose(file);
	if (rename(temporary, ports_path))
		die("%s", ports_path);
	for (int i = 0; i < SERVERS; i++)
		waitpid(pids[i], NULL, 0);
	busy_cpus__stop(&busy);
	print_truth();
}

static void __attribute__((noreturn)) run_client(int number, int port, uint64_t end)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t random = number + 1;
	char reply;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_name("client");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	for (int i = number; wall_ns() < end; i++) {
		if (send(fd, i % 3 ? "l" : "p", 1, MSG_NOSIGNAL) != 1 ||
		    recv(fd, &reply, 1, 0) != 1)
			break;
		sleep_ns(draw(&random, THINK_NS / 2, THINK_NS * 3 / 2));
	}
	_exit(0);
}

static void run_clients(const char *path)
{
	FILE *file;
	int port;

	while (!(file = fopen(path, "re")))
		sleep_ns(NS_PER_MS);
	if (fscanf(file, "%" SCNu64, &seconds) != 1)
		die("%s", path);
	for (int i = 0; fscanf(file, "%d", &port) == 1; i++)
		if (!fork())
			run_client(i, port, wall_ns() + seconds * NS_PER_S);
	fclose(file);
	while (wait(NULL) > 0)
		;
}

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr, "usage: latch CASE --ports FILE [--seconds N], latch clients FILE\n");
	for (size_t i = 0; i < CASES; i++)
		fprintf(stderr, "  %s\n", cases[i].name);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "clients")) {
		run_clients(argv[2]);
		return 0;
	}
	for (int i = 2; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			seconds = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--ports"))
			ports_path = argv[i + 1];
	}
	for (size_t i = 0; i < CASES && argc > 1; i++)
		if (!strcmp(argv[1], cases[i].name))
			chosen = &cases[i];
	if (!chosen || !ports_path)
		usage();
	run_servers();
	return 0;
}
