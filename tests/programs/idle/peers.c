/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases without a queue of tasks: threads wait for locks, for each other, for time. */
#include "tests/programs/common/loopback.h"
#include "tests/programs/idle/cases.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

COMPUTE(cook)
COMPUTE(think)

/*
 * convoy: eight threads contend for a lock made of a futex, hold it for 1 ms and compute for 0.1 ms
 * without it.
 *
 * convoy-sem: the same, with a semaphore, which is 1 while the lock is free.
 *
 * True by construction: a thread that waits in wait_for_work has work, which another one
 * delays. Nobody is idle. The lock is held nearly all the time, so a thread holds it for an eighth
 * of its time on average. For the rest it waits: for the lock, or, woken too early, for a CPU; for
 * the semaphore more of the latter, as each release wakes a thread.
 */
#define CONVOY	   8
#define INSIDE_US  1000
#define OUTSIDE_US 100

/*
 * 0: free, 1: held, 2: held, and there may be waiters. Drepper, "Futexes are tricky", section 5
 * (mutex2).
 */
static uint32_t futex_lock;
static sem_t sem_lock;

KEEP void turnstile(void)
{
	struct futex_wait wait = {&futex_lock, 2};
	uint32_t state = 0;

	if (__atomic_compare_exchange_n(&futex_lock, &state, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	if (state != 2)
		state = __atomic_exchange_n(&futex_lock, 2, __ATOMIC_ACQUIRE);
	while (state) {
		wait_for_work(NOT_IDLE, by_futex, &wait);
		state = __atomic_exchange_n(&futex_lock, 2, __ATOMIC_ACQUIRE);
	}
}

static void leave_turnstile(void)
{
	if (__atomic_exchange_n(&futex_lock, 0, __ATOMIC_RELEASE) == 2)
		futex_wake(&futex_lock, 1);
}

static void run_convoy(void)
{
	while (time_left()) {
		turnstile();
		cook(INSIDE_US);
		leave_turnstile();
		think(OUTSIDE_US);
	}
}

static void run_convoy_sem(void)
{
	while (time_left()) {
		wait_for_work(NOT_IDLE, by_sem, &sem_lock);
		cook(INSIDE_US);
		sem_post(&sem_lock);
		think(OUTSIDE_US);
	}
}

static void case_convoy(void)
{
	for (int i = 0; i < CONVOY; i++)
		thread__start(run_convoy, "convoy%d", i);
	threads__await_begin();
}

static void case_convoy_sem(void)
{
	sem_init(&sem_lock, 0, 1);
	for (int i = 0; i < CONVOY; i++)
		thread__start(run_convoy_sem, "convoy%d", i);
	threads__await_begin();
}

/*
 * barrier: four threads compute for 1, 2, 3 and 4 ms, wait for each other, and so on.
 *
 * True by construction: a thread that waits in rest goes on when the others have done their part of
 * the same work. Nobody is idle. On four CPUs a round takes 4 ms; on two CPUs at least 5 ms.
 */
#define PARTIES 4

static struct {
	pthread_mutex_t mutex;
	struct condition passed;
	int arrived;
	uint64_t round;
	bool stop; /* set by the last to arrive, so that all stop in the same round */
} barrier = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.passed = {PTHREAD_COND_INITIALIZER, &barrier.mutex},
};

/* False after the last round. */
KEEP bool crossing(void)
{
	uint64_t round;
	bool more;

	lock_mutex(&barrier.mutex);
	round = barrier.round;
	if (++barrier.arrived == PARTIES) {
		barrier.arrived = 0;
		barrier.round++;
		barrier.stop = !time_left();
		wake_all(&barrier.passed);
	}
	while (round == barrier.round)
		rest(NOT_IDLE, by_cond, &barrier.passed);
	more = !barrier.stop;
	pthread_mutex_unlock(&barrier.mutex);
	return more;
}

static void run_party(void)
{
	do
		cook((thread__number() + 1) * 1000ull);
	while (crossing());
}

static void case_barrier(void)
{
	for (int i = 0; i < PARTIES; i++)
		thread__start(run_party, "party%d", i);
	threads__await_begin();
}

/*
 * sleep: holder sleeps for 5 ms with a lock held, and computes for 0.5 ms without it. Two others
 * hold it for 0.1 ms and compute for 0.5 ms without it.
 *
 * True by construction: the others wait in lobby for the lock, nearly all of the time in which
 * holder sleeps in nap. So neither they nor holder are idle.
 */
#define HOLD_NS	   (5 * NS_PER_MS)
#define APART_US   500
#define WANTERS	   2
#define BRIEFLY_US 100

static pthread_mutex_t slept_on = PTHREAD_MUTEX_INITIALIZER;

static void run_holder(void)
{
	uint64_t hold = HOLD_NS;

	while (time_left()) {
		lock_mutex(&slept_on);
		nap(NOT_IDLE, by_sleep, &hold);
		pthread_mutex_unlock(&slept_on);
		think(APART_US);
	}
}

static void run_wanter(void)
{
	while (time_left()) {
		lobby(NOT_IDLE, by_mutex, &slept_on);
		cook(BRIEFLY_US);
		pthread_mutex_unlock(&slept_on);
		think(APART_US);
	}
}

static void case_sleep(void)
{
	thread__start(run_holder, "holder");
	for (int i = 0; i < WANTERS; i++)
		thread__start(run_wanter, "wanter%d", i);
	threads__await_begin();
}

/*
 * half: main sends a request, waits for the reply, sleeps for 5 ms, and so on. Server sleeps for
 * 5 ms for each request, as if for a slow device.
 *
 * True by construction: server is idle in lobby while main sleeps. It is not idle in nap, for
 * which main waits. Main is never idle: neither in rest, where it waits for the reply, nor
 * in its sleep. So server is idle for half of the time, and blocked nearly all of it.
 */
#define SERVE_NS (5 * NS_PER_MS)
#define PAUSE_NS (5 * NS_PER_MS)

static struct {
	pthread_mutex_t mutex;
	struct condition asked;
	struct condition answered;
	bool request;
	bool reply;
	bool closed;
} service = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.asked = {PTHREAD_COND_INITIALIZER, &service.mutex},
	.answered = {PTHREAD_COND_INITIALIZER, &service.mutex},
};

/* False when the service is closed. */
KEEP bool porch(void)
{
	bool more;

	lock_mutex(&service.mutex);
	while (!service.request && !service.closed)
		lobby(IDLE, by_cond, &service.asked);
	more = service.request;
	service.request = false;
	pthread_mutex_unlock(&service.mutex);
	return more;
}

static void run_half(void)
{
	uint64_t serve = SERVE_NS;

	while (porch()) {
		nap(NOT_IDLE, by_sleep, &serve);
		lock_mutex(&service.mutex);
		service.reply = true;
		pthread_mutex_unlock(&service.mutex);
		wake_one(&service.answered);
	}
}

KEEP void corridor(void)
{
	lock_mutex(&service.mutex);
	service.request = true;
	pthread_mutex_unlock(&service.mutex);
	wake_one(&service.asked);
	lock_mutex(&service.mutex);
	while (!service.reply)
		rest(NOT_IDLE, by_cond, &service.answered);
	service.reply = false;
	pthread_mutex_unlock(&service.mutex);
	NO_TAIL_CALL();
}

static void case_half(void)
{
	uint64_t between = PAUSE_NS;

	thread__start(run_half, "server");
	threads__await_begin();
	while (time_left()) {
		corridor();
		pause_between(NOT_IDLE, by_sleep, &between);
	}
	lock_mutex(&service.mutex);
	service.closed = true;
	pthread_mutex_unlock(&service.mutex);
	wake_one(&service.asked);
}

/*
 * background: keeper sleeps for 20 ms, computes for 1 ms, and so on. Main computes.
 *
 * True by construction: no thread waits for keeper, so it is idle in nap. Main waits for nothing:
 * keeper's last nap ends before main would wait for its end.
 */
static bool keeper_is_done;

static void run_keeper(void)
{
	uint64_t between = 20 * NS_PER_MS;

	while (time_left()) {
		nap(IDLE, by_sleep, &between);
		cook(1000);
	}
	__atomic_store_n(&keeper_is_done, true, __ATOMIC_RELAXED);
}

static void case_background(void)
{
	thread__start(run_keeper, "keeper");
	threads__await_begin();
	while (!__atomic_load_n(&keeper_is_done, __ATOMIC_RELAXED))
		think(1000);
}

/*
 * network: server computes for 1 ms for each request that it receives by TCP. A client process
 * sends one, waits for the reply, sleeps for 4 ms, and so on.
 *
 * True by construction: server blocks in lobby only, where it is idle until the next request, for
 * about four fifths of the time. Main sleeps to the end and is not idle.
 */
#define MESSAGE_SIZE 64

static struct {
	int fd; /* of the server */
	pid_t client;
} network;

/* False when the connection is closed. */
static bool send_message(int fd)
{
	static const char message[MESSAGE_SIZE];

	return send(fd, message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

static bool receive_message(int fd)
{
	char message[MESSAGE_SIZE];

	return recv(fd, message, sizeof(message), MSG_WAITALL) == sizeof(message);
}

/* *@arg becomes false when the connection is closed. */
KEEP void by_recv(void *arg)
{
	*(bool *)arg = receive_message(network.fd);
	NO_TAIL_CALL();
}

static void run_network(void)
{
	bool more;

	for (;;) {
		lobby(IDLE, by_recv, &more);
		if (!more)
			break;
		cook(1000);
		send_message(network.fd);
	}
}

static void __attribute__((noreturn)) run_client(int fd, bool for_reply)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "client");
	for (;;) {
		if (!send_message(fd) || (for_reply && !receive_message(fd)))
			_exit(0);
		sleep_ns(4 * NS_PER_MS);
	}
}

static void start_client(bool for_reply)
{
	int client_fd;

	loopback__connect(&client_fd, &network.fd);
	network.client = fork();
	if (network.client < 0)
		die("fork");
	if (!network.client) {
		close(network.fd);
		run_client(client_fd, for_reply);
	}
	close(client_fd);
}

KEEP void by_waitpid(void *arg)
{
	waitpid(*(pid_t *)arg, NULL, 0);
	NO_TAIL_CALL();
}

static void case_network(void)
{
	uint64_t left;

	start_client(true);
	thread__start(run_network, "server");
	threads__await_begin();
	left = time_left();
	pause_between(NOT_IDLE, by_sleep, &left);
	shutdown(network.fd, SHUT_RDWR);
	gate(NOT_IDLE, by_waitpid, &network.client);
}

/*
 * reply-epoll, reply-poll: asker has the client's end of a connection. It sends a request, waits in
 * lobby until the reply is there, in epoll_wait() or poll(), and computes for 1 ms. The server, a
 * process, sleeps for 4 ms before it replies.
 *
 * True by construction: asker blocks in lobby only, for about four fifths of the time, and is not
 * idle: it waits for replies.
 */
static struct {
	int fd;
	int epoll; /* -1: poll() is used */
	pid_t server;
} question;

KEEP void by_readiness(void *arg)
{
	struct epoll_event event;
	struct pollfd polled[2] = {{.fd = question.fd, .events = POLLIN}, {.fd = -1}};

	if (question.epoll < 0)
		poll(polled, 2, -1);
	else
		epoll_wait(question.epoll, &event, 1, -1);
	NO_TAIL_CALL();
}

static void run_asker(void)
{
	while (time_left()) {
		send_message(question.fd);
		lobby(NOT_IDLE, by_readiness, NULL);
		if (!receive_message(question.fd))
			die("recv");
		cook(1000);
	}
	shutdown(question.fd, SHUT_RDWR);
}

static void __attribute__((noreturn)) run_server(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "answerer");
	while (receive_message(fd)) {
		sleep_ns(4 * NS_PER_MS);
		send_message(fd);
	}
	_exit(0);
}

static void ask(bool by_epoll)
{
	struct epoll_event event = {.events = EPOLLIN};
	int server_fd;

	loopback__connect(&question.fd, &server_fd);
	question.server = fork();
	if (question.server < 0)
		die("fork");
	if (!question.server) {
		close(question.fd);
		run_server(server_fd);
	}
	close(server_fd);
	question.epoll = by_epoll ? epoll_create1(EPOLL_CLOEXEC) : -1;
	if (by_epoll && epoll_ctl(question.epoll, EPOLL_CTL_ADD, question.fd, &event))
		die("epoll_ctl");
	thread__start(run_asker, "asker");
	threads__await_begin();
	gate(NOT_IDLE, by_waitpid, &question.server);
}

static void case_reply_epoll(void)
{
	ask(true);
}

static void case_reply_poll(void)
{
	ask(false);
}

/*
 * loop: an event loop gets a message from a client process by TCP every 4 ms, gives it to helper,
 * which computes for 2 ms and tells the loop by an eventfd. The client waits for no reply.
 *
 * True by construction: the loop waits in lobby only, in epoll_wait(), where messages arrive: it is
 * idle, as it could take another one, though it also waits for what helper does. Helper is idle in
 * rest until it gets one.
 */
#define HELP_US 2000

static struct {
	int epoll;
	int done; /* an eventfd */
	sem_t asked;
	bool closed;
} loop;

KEEP void by_event(void *arg)
{
	epoll_wait(loop.epoll, arg, 1, -1);
	NO_TAIL_CALL();
}

static void run_loop(void)
{
	struct epoll_event event;
	uint64_t one;

	for (;;) {
		lobby(IDLE, by_event, &event);
		if (event.data.fd == loop.done) {
			if (read(loop.done, &one, sizeof(one)) != sizeof(one))
				die("eventfd");
			continue;
		}
		if (!receive_message(network.fd))
			break;
		sem_post(&loop.asked);
	}
	__atomic_store_n(&loop.closed, true, __ATOMIC_RELEASE);
	sem_post(&loop.asked);
}

static void run_helper(void)
{
	uint64_t one = 1;

	for (;;) {
		rest(IDLE, by_sem, &loop.asked);
		if (__atomic_load_n(&loop.closed, __ATOMIC_ACQUIRE))
			break;
		cook(HELP_US);
		if (write(loop.done, &one, sizeof(one)) != sizeof(one))
			die("eventfd");
	}
}

static void case_loop(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	uint64_t left;

	start_client(false);
	sem_init(&loop.asked, 0, 0);
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	loop.done = eventfd(0, EFD_CLOEXEC);
	event.data.fd = loop.done;
	if (loop.epoll < 0 || epoll_ctl(loop.epoll, EPOLL_CTL_ADD, loop.done, &event))
		die("epoll");
	event.data.fd = network.fd;
	if (epoll_ctl(loop.epoll, EPOLL_CTL_ADD, network.fd, &event))
		die("epoll_ctl");
	thread__start(run_loop, "loop");
	thread__start(run_helper, "helper");
	threads__await_begin();
	left = time_left();
	pause_between(NOT_IDLE, by_sleep, &left);
	shutdown(network.fd, SHUT_RDWR);
	gate(NOT_IDLE, by_waitpid, &network.client);
}

const struct idle_case peer_cases[] = {
	{"convoy", case_convoy},
	{"convoy-sem", case_convoy_sem},
	{"barrier", case_barrier},
	{"sleep", case_sleep},
	{"half", case_half},
	{"background", case_background},
	{"network", case_network},
	{"loop", case_loop},
	{"reply-epoll", case_reply_epoll},
	{"reply-poll", case_reply_poll},
	{},
};
