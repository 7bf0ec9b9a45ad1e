/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases in which threads of one process wait for each other: for mutexes, a barrier, a
 * condition variable, a spin lock, the end of a thread.
 */
#include "include/dwell.h"
#include "tests/programs/knots/cases.h"
#include "tests/programs/knots/graph.h"

/*
 * A mutex that knows its last owner: after a wait that is the thread whose unlock ended it.
 * (With several waiters the owner at the start of the wait may be another.)
 */
struct lock {
	pthread_mutex_t mutex;
	const char *last;
};

KEEP void take_lock(struct lock *lock, struct vertex *self)
{
	struct wait wait;

	/* Tried first: with a free mutex, a preemption would count as a wait. */
	if (pthread_mutex_trylock(&lock->mutex)) {
		wait = wait__begin();
		pthread_mutex_lock(&lock->mutex);
		vertex__waited(self, lock->last, wait);
	}
	lock->last = self->name;
}

static void drop_lock(struct lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

/*
 * lock: four threads hold one mutex for ten elevenths of the time in which they do not wait for
 * it.
 *
 * Expected: knot {lock0, lock1, lock2, lock3}; each waits for the others three quarters of its
 * time. Bottleneck: the mutex, in hold_lock.
 */
static struct lock contended = {.mutex = PTHREAD_MUTEX_INITIALIZER};

COMPUTE(compute_locked)
COMPUTE(compute_unlocked)

KEEP void hold_lock(struct vertex *self)
{
	take_lock(&contended, self);
	compute_locked(300);
	drop_lock(&contended);
	NO_TAIL_CALL();
}

static void run_locker(struct vertex *self)
{
	while (graph__time_left()) {
		hold_lock(self);
		compute_unlocked(30);
		vertex__worked(self);
	}
}

void case_lock(void)
{
	static const char *const names[] = {"lock0", "lock1", "lock2", "lock3"};

	for (int i = 0; i < 4; i++)
		vertex__add(names[i], run_locker);
	graph__run_threads();
}

/*
 * imbalance: phases end at a barrier. In odd phases left has three units of work and right has
 * one, in even phases left has one and right three.
 *
 * Expected: knot {left, right}; each waits a third of its time. Bottleneck: the barrier; with
 * two units each, a phase would take two thirds of the time.
 */
#define UNIT_US 500

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int arrived;
	uint64_t phase;
	bool stop; /* set by the last to arrive, so that both stop in the same phase */
} barrier = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

COMPUTE(compute_unit)

KEEP void wait_barrier(struct vertex *self, const char *other)
{
	struct wait wait;
	uint64_t phase;

	pthread_mutex_lock(&barrier.mutex);
	if (++barrier.arrived == 2) {
		barrier.arrived = 0;
		barrier.phase++;
		barrier.stop = !graph__time_left();
		pthread_mutex_unlock(&barrier.mutex);
		pthread_cond_signal(&barrier.cond);
		return;
	}
	phase = barrier.phase;
	wait = wait__begin();
	while (phase == barrier.phase)
		pthread_cond_wait(&barrier.cond, &barrier.mutex);
	vertex__waited(self, other, wait);
	pthread_mutex_unlock(&barrier.mutex);
}

static void run_phases(struct vertex *self, const char *other, int odd_units, int even_units)
{
	for (uint64_t phase = 1; !barrier.stop; phase++) {
		int units = phase % 2 ? odd_units : even_units;

		for (int i = 0; i < units; i++) {
			compute_unit(UNIT_US);
			vertex__worked(self);
		}
		wait_barrier(self, other);
	}
}

static void run_left(struct vertex *self)
{
	run_phases(self, "right", 3, 1);
	NO_TAIL_CALL();
}

static void run_right(struct vertex *self)
{
	run_phases(self, "left", 1, 3);
	NO_TAIL_CALL();
}

void case_imbalance(void)
{
	vertex__separate(vertex__add("left", run_left), vertex__add("right", run_right));
	graph__run_threads();
}

/*
 * heartbeat: worker computes all the time, for a twentieth of it with a mutex held that two
 * background threads take briefly too. These wake up every 5 ms, compute a little and sleep
 * 1 ms with another mutex held, so one waits for the other, whichever CPUs they run on.
 *
 * Expected: {beat1, beat2} is a background knot: it has no device, and its threads use less
 * than one CPU. Bottleneck: worker, a sink except for its waits for the shared mutex (far less
 * than 1%).
 */
#define BEAT_NS	      (5 * NS_PER_MS)
#define BEAT_LATER_NS (200 * NS_PER_US)
#define ANSWER_NS     NS_PER_MS

static struct lock shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct lock beats = {.mutex = PTHREAD_MUTEX_INITIALIZER};

COMPUTE(compute_work)
COMPUTE(compute_shared)
COMPUTE(compute_beat)

KEEP void use_shared(struct vertex *self, uint64_t us)
{
	take_lock(&shared, self);
	compute_shared(us);
	drop_lock(&shared);
	NO_TAIL_CALL();
}

KEEP void await_tick(struct vertex *self, uint64_t at)
{
	const struct timespec ts = {at / NS_PER_S, at % NS_PER_S};
	struct wait wait = wait__begin();

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
	vertex__waited(self, "timer", wait);
}

KEEP void send_beat(struct vertex *self)
{
	take_lock(&beats, self);
	compute_beat(300);
	await_tick(self, wall_ns() + ANSWER_NS);
	drop_lock(&beats);
	NO_TAIL_CALL();
}

/* Each is a little later on every other tick, so that both wait for the other in turn. */
static void run_beat(struct vertex *self, int number)
{
	while (graph__time_left()) {
		uint64_t tick = (wall_ns() - graph->began) / BEAT_NS + 1;
		uint64_t later = (tick + number) % 2 ? BEAT_LATER_NS : 0;

		await_tick(self, graph->began + tick * BEAT_NS + later);
		send_beat(self);
		use_shared(self, 20);
		vertex__worked(self);
	}
}

static void run_beat1(struct vertex *self)
{
	run_beat(self, 1);
	NO_TAIL_CALL();
}

static void run_beat2(struct vertex *self)
{
	run_beat(self, 2);
	NO_TAIL_CALL();
}

static void run_worker(struct vertex *self)
{
	while (graph__time_left()) {
		compute_work(950);
		use_shared(self, 50);
		vertex__worked(self);
	}
}

void case_heartbeat(void)
{
	vertex__add("worker", run_worker);
	vertex__add("beat1", run_beat1);
	vertex__add("beat2", run_beat2);
	graph__run_threads();
}

/*
 * per-request: main creates a thread for each request, at most three at a time, and waits for
 * the oldest. Each computes, for a sixth of the time with a mutex held.
 *
 * Expected: main waits for the threads named req nearly all of its time; these, as one vertex,
 * wait only for each other. Bottleneck: req.
 */
#define ALIVE_MAX 3

static struct lock results = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct vertex *request;

COMPUTE(compute_request)
COMPUTE(compute_result)

KEEP void store_result(struct vertex *self)
{
	take_lock(&results, self);
	compute_result(200);
	drop_lock(&results);
	NO_TAIL_CALL();
}

static void run_request(struct vertex *self)
{
	compute_request(1000);
	store_result(self);
	vertex__worked(self);
}

KEEP void await_oldest(struct vertex *self, pthread_t thread)
{
	struct wait wait = wait__begin();

	pthread_join(thread, NULL);
	vertex__waited(self, request->name, wait);
}

static void run_main(struct vertex *self)
{
	pthread_t alive[ALIVE_MAX];
	uint64_t started = 0, joined = 0;

	while (graph__time_left()) {
		if (started - joined == ALIVE_MAX)
			await_oldest(self, alive[joined++ % ALIVE_MAX]);
		alive[started++ % ALIVE_MAX] = start_thread(run_vertex, request);
		vertex__worked(self);
	}
	while (joined < started)
		await_oldest(self, alive[joined++ % ALIVE_MAX]);
}

void case_per_request(void)
{
	struct vertex *dispatcher = vertex__add("main", run_main);

	request = vertex__add("req", run_request);
	request->many = true;
	vertex__edge(request, request->name);
	graph__begin();
	run_vertex(dispatcher);
	graph->ended = wall_ns();
}

/*
 * broadcast: seller adds a ticket every ms and wakes all buyers; one gets it, and for the
 * others the wakeup is false.
 *
 * Expected: no knot; the buyers wait for seller, and there are at least as many false wakeups
 * as tickets. Bottleneck: seller, a sink.
 */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int tickets;
	bool closed;
} office = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

COMPUTE(compute_ticket)
COMPUTE(compute_trip)

KEEP void sell_ticket(void)
{
	pthread_mutex_lock(&office.mutex);
	office.tickets++;
	pthread_mutex_unlock(&office.mutex);
	pthread_cond_broadcast(&office.cond);
	NO_TAIL_CALL();
}

KEEP void await_ticket(struct vertex *self)
{
	struct wait wait = wait__begin();

	for (;;) {
		pthread_cond_wait(&office.cond, &office.mutex);
		if (office.tickets || office.closed)
			break;
		DWELL_WOKEN_FOR_NOTHING();
		self->false_wakeups++;
	}
	vertex__waited(self, "seller", wait);
}

/* False when the office is closed and no ticket is left. */
KEEP bool take_ticket(struct vertex *self)
{
	bool taken;

	pthread_mutex_lock(&office.mutex);
	if (!office.tickets && !office.closed)
		await_ticket(self);
	taken = office.tickets > 0;
	office.tickets -= taken;
	pthread_mutex_unlock(&office.mutex);
	return taken;
}

static void run_seller(struct vertex *self)
{
	while (graph__time_left()) {
		compute_ticket(1000);
		sell_ticket();
		vertex__worked(self);
	}
	pthread_mutex_lock(&office.mutex);
	office.closed = true;
	pthread_mutex_unlock(&office.mutex);
	pthread_cond_broadcast(&office.cond);
}

static void run_buyer(struct vertex *self)
{
	while (take_ticket(self)) {
		compute_trip(600);
		vertex__worked(self);
	}
}

void case_broadcast(void)
{
	vertex__add("seller", run_seller);
	vertex__add("buyer0", run_buyer);
	vertex__add("buyer1", run_buyer);
	vertex__add("buyer2", run_buyer);
	graph__run_threads();
}

/*
 * spin: two threads contend for a spin lock, which they hold for six sevenths of the time in
 * which they do not spin. To the kernel they compute all the time.
 *
 * Expected, with the annotations: knot {spin0, spin1}; each waits for the other five twelfths
 * of its time. Without: two sinks. CPU time includes spinning.
 */
static bool spin_lock;

COMPUTE(compute_spinlocked)
COMPUTE(compute_between)

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

KEEP void spin(struct vertex *self, const char *other)
{
	uint64_t begin = wall_ns();

	DWELL_SPIN_BEGIN(&spin_lock);
	do {
		while (__atomic_load_n(&spin_lock, __ATOMIC_RELAXED))
			relax();
	} while (__atomic_test_and_set(&spin_lock, __ATOMIC_ACQUIRE));
	DWELL_SPIN_END(&spin_lock);
	edge__add(vertex__edge(self, other), wall_ns() - begin);
}

KEEP void hold_spin_lock(struct vertex *self, const char *other)
{
	if (__atomic_test_and_set(&spin_lock, __ATOMIC_ACQUIRE))
		spin(self, other);
	compute_spinlocked(300);
	/* Annotated before the release: after it the other thread may have the lock already. */
	DWELL_SPIN_RELEASE(&spin_lock);
	__atomic_clear(&spin_lock, __ATOMIC_RELEASE);
	NO_TAIL_CALL();
}

static void run_spinner(struct vertex *self, const char *other)
{
	while (graph__time_left()) {
		hold_spin_lock(self, other);
		compute_between(50);
		vertex__worked(self);
	}
}

static void run_spin0(struct vertex *self)
{
	run_spinner(self, "spin1");
	NO_TAIL_CALL();
}

static void run_spin1(struct vertex *self)
{
	run_spinner(self, "spin0");
	NO_TAIL_CALL();
}

void case_spin(void)
{
	vertex__separate(vertex__add("spin0", run_spin0), vertex__add("spin1", run_spin1));
	graph__run_threads();
}
