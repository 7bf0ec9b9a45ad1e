/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases of knots.c in which threads of one process wait for each other: at
 * mutexes, a barrier, a condition variable, a spin lock, in pthread_join.
 */
#pragma once

#include "knots_graph.h"

#if defined(__has_include)
#if __has_include("include/dwell.h")
#include "include/dwell.h"
#endif
#endif
#ifndef DWELL_SPIN_BEGIN
#define DWELL_SPIN_BEGIN(address)
#endif
#ifndef DWELL_SPIN_END
#define DWELL_SPIN_END(address)
#endif
#ifndef DWELL_SPIN_RELEASE
#define DWELL_SPIN_RELEASE(address)
#endif
#ifndef DWELL_WOKEN_FOR_NOTHING
#define DWELL_WOKEN_FOR_NOTHING()
#endif

/*
 * A mutex that knows who had it last: whose unlocking woke the one that waits for
 * it. (With several waiting, who had it when the wait began may be another.)
 */
struct lock {
	pthread_mutex_t mutex;
	const char *last;
};

KEEP void take_lock(struct lock *lock, struct vertex *self)
{
	struct wait wait;

	/* Tried first: when it is free, a preemption would look like a wait. */
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
 * lock: four threads hold one mutex for ten elevenths of the time they do not
 * wait for it.
 *
 * Expected: knot {lock0, lock1, lock2, lock3}, each waits for the others three
 * quarters of its time. Bottleneck: the mutex, in hold_lock.
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
	while (time_left()) {
		hold_lock(self);
		compute_unlocked(30);
		vertex__worked(self);
	}
}

static void case_lock(void)
{
	static const char *const names[] = {"lock0", "lock1", "lock2", "lock3"};

	for (int i = 0; i < 4; i++)
		vertex__add(names[i], run_locker);
	run_threads();
}

/*
 * imbalance: phases end at a barrier. In odd ones left has three units of work
 * and right one, in even ones it is the other way round.
 *
 * Expected: knot {left, right}, each waits a third of its time. Bottleneck: the
 * barrier; with two units each, a phase would take two thirds.
 */
#define UNIT_US 500

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int arrived;
	uint64_t phase;
	bool stop; /* decided by the last to arrive, so that both stop together */
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
		barrier.stop = !time_left();
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

static void case_imbalance(void)
{
	keep_apart(vertex__add("left", run_left), vertex__add("right", run_right));
	run_threads();
}

/*
 * heartbeat: worker computes all the time, a twentieth of it with a mutex held
 * that two background threads take briefly too. These wake up every 5 ms, compute
 * a little and wait 1 ms for an answer with another mutex held, so one of them
 * waits for the other, wherever they run.
 *
 * Expected: {beat1, beat2} is a background knot: no device in it, and together
 * they use less than one CPU. Bottleneck: worker, a sink but for its waits for
 * the shared mutex (far less than 1%).
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

/* They take turns in being a little later, or it would always be the same that waits. */
static void run_beat(struct vertex *self, int number)
{
	while (time_left()) {
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
	while (time_left()) {
		compute_work(950);
		use_shared(self, 50);
		vertex__worked(self);
	}
}

static void case_heartbeat(void)
{
	vertex__add("worker", run_worker);
	vertex__add("beat1", run_beat1);
	vertex__add("beat2", run_beat2);
	run_threads();
}

/*
 * per-request: main starts a thread for each request, three at most at a time,
 * and waits for the oldest. Each computes, a sixth of it with a mutex held.
 *
 * Expected: main waits for the threads named req, nearly all of its time; they,
 * taken for one thread that lives all the time, wait for nobody but each other.
 * Bottleneck: req.
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

	while (time_left()) {
		if (started - joined == ALIVE_MAX)
			await_oldest(self, alive[joined++ % ALIVE_MAX]);
		alive[started++ % ALIVE_MAX] = start_thread(run_vertex, request);
		vertex__worked(self);
	}
	while (joined < started)
		await_oldest(self, alive[joined++ % ALIVE_MAX]);
}

static void case_per_request(void)
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
 * broadcast: seller has a ticket every ms and tells all buyers, most of which
 * wait; one gets it, and the others wake up for nothing.
 *
 * Expected: no knot; the buyers wait for seller, and at least as many wakeups are
 * false as there are tickets. Bottleneck: seller, a sink.
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

/* False when there will be none any more. */
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
	while (time_left()) {
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

static void case_broadcast(void)
{
	vertex__add("seller", run_seller);
	vertex__add("buyer0", run_buyer);
	vertex__add("buyer1", run_buyer);
	vertex__add("buyer2", run_buyer);
	run_threads();
}

/*
 * spin: two threads contend on a spin lock, which they hold six sevenths of the
 * time they do not spin. The kernel sees them compute all the time.
 *
 * Expected, with the marks: knot {spin0, spin1}, each waits for the other five
 * twelfths of its time. Without: two sinks. CPU time includes spinning.
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
	/* Marked before it is: the other may have the lock before a mark after it. */
	DWELL_SPIN_RELEASE(&spin_lock);
	__atomic_clear(&spin_lock, __ATOMIC_RELEASE);
	NO_TAIL_CALL();
}

static void run_spinner(struct vertex *self, const char *other)
{
	while (time_left()) {
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

static void case_spin(void)
{
	keep_apart(vertex__add("spin0", run_spin0), vertex__add("spin1", run_spin1));
	run_threads();
}
