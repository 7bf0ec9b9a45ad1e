// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pauses: the part of virtual time that runs inside the profiled program. The kernel side writes
 * the length of a pause to the thread's slot and sends the thread a signal, where that does not
 * interrupt a system call. The handler sleeps, or spins, for that time. See abi/delay_area.h.
 *
 * Nothing in this file allocates, prints or takes a lock.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/cycles.h"
#include "arch/signal_action.h"
#include "arch/system_call.h"
#include "runtime/runtime.h"

#define SLICE_NS 20000000 /* a sleeping thread checks this often whether its pause was forgiven */

static struct causal_area *area;
static int descriptor = -1;
static void (*previous)(int, siginfo_t *,
			void *); /* handler of the signal, installed before ours */

/* A hint: index of the thread's slot. After fork() or before the first use it is another's. */
static __thread uint32_t slot_hint __attribute__((tls_model("initial-exec")));

SIGNAL_RESTORER(pause_restore);

static long kernel_call(long number, long a, long b, long c, long d)
{
	return system_call(number, a, b, c, d, 0, 0);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
				.tv_nsec = (long)(ns % 1000000000)};

	kernel_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&time, 0);
}

/* The calling thread's slot, or NULL. */
static struct causal_slot *find_slot(void)
{
	uint32_t tid = (uint32_t)kernel_call(SYS_gettid, 0, 0, 0, 0);

	if (area->slot[CAUSAL_SLOT(slot_hint)].tid == tid)
		return &area->slot[CAUSAL_SLOT(slot_hint)];
	for (uint32_t i = 0; i < CAUSAL_PROBES; i++) {
		uint32_t at = CAUSAL_SLOT(CAUSAL_HOME(tid) + i);

		if (area->slot[at].tid != tid)
			continue;
		slot_hint = at;
		return &area->slot[at];
	}
	return NULL;
}

/* Whether a pause of @epoch is still wanted. False: debts were forgiven, or pauses ended. */
static bool is_valid(uint32_t epoch)
{
	return !__atomic_load_n(&area->ended, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&area->epoch, __ATOMIC_RELAXED) == epoch;
}

/* ns that remain of the pause of @slot; 0 if it was forgiven. */
static uint64_t remaining(const struct causal_slot *slot, uint32_t epoch)
{
	int64_t left = (int64_t)(slot->until - __atomic_load_n(&slot->own, __ATOMIC_RELAXED));

	return left > 0 && is_valid(epoch) ? (uint64_t)left : 0;
}

/*
 * Sleeps for slot->asleep. The kernel side adds the time slept to `own`; should it fail to, the
 * sleep ends nevertheless.
 */
static void sleep_part(const struct causal_slot *slot, uint32_t epoch)
{
	uint64_t end = slot->asked + slot->asleep, time;

	while ((time = now()) < end && remaining(slot, epoch))
		sleep_ns(end - time < SLICE_NS ? end - time : SLICE_NS);
}

/*
 * Spins for the rest of a pause. The kernel side has added the time without a CPU (slept, or on a
 * run queue) to `own`; all other time since the request, signal delivery included, is added here.
 */
static void spin_part(struct causal_slot *slot, uint32_t epoch)
{
	int64_t counted = 0, held;

	while (is_valid(epoch)) {
		held = (int64_t)(now() - slot->asked);
		held -= (int64_t)__atomic_load_n(&slot->away, __ATOMIC_RELAXED);
		if (held > counted) {
			__atomic_fetch_add(&slot->own, (uint64_t)(held - counted),
					   __ATOMIC_RELAXED);
			counted = held;
		}
		if (!remaining(slot, epoch))
			break;
		relax_cpu();
	}
}

/*
 * Blocks those signals outside of CAUSAL_HANDLER_MASK for which the program has a handler, until
 * our handler returns.
 */
static void block_handled_signals(void)
{
	static const int signals[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
	struct kernel_sigaction action;
	uint64_t handled = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!kernel_call(SYS_rt_sigaction, signals[i], 0, (long)&action,
				 sizeof(action.mask)) &&
		    (uintptr_t)action.handler > 1)
			handled |= 1ULL << (signals[i] - 1);
	if (handled)
		kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&handled, 0, sizeof(handled));
}

static void pause_thread(void)
{
	struct causal_slot *slot = find_slot();
	uint64_t begin = now();
	uint32_t epoch;

	if (!slot)
		return;
	block_handled_signals();
	epoch = slot->epoch;
	__atomic_store_n(&slot->pausing, CAUSAL_PAUSES, __ATOMIC_RELEASE);
	if (slot->asleep)
		sleep_part(slot, epoch);
	spin_part(slot, epoch);
	slot->asked = now();
	slot->paused_ns += slot->asked - begin;
	slot->pauses++;
	__atomic_store_n(&slot->pausing, CAUSAL_RUNS, __ATOMIC_RELEASE);
}

/* The kernel side's signals have SI_KERNEL; others go to the handler that was installed before. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code == SI_KERNEL)
		pause_thread();
	else if ((uintptr_t)previous > 1)
		previous(number, info, context);
	errno = saved;
}

/*
 * Installs our handler. The previous one is stored first, because a signal for it can arrive at
 * once.
 */
static void install_handler(int number)
{
	struct kernel_sigaction action = {
		.handler = on_signal,
		.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORER_KERNEL,
		.restorer = pause_restore,
		.mask = CAUSAL_HANDLER_MASK,
	};
	struct kernel_sigaction before;

	if (kernel_call(SYS_rt_sigaction, number, 0, (long)&before, sizeof(before.mask)) ||
	    before.handler == on_signal)
		return;
	previous = before.handler;
	kernel_call(SYS_rt_sigaction, number, (long)&action, 0, sizeof(action.mask));
}

void pause__reinstall_handler(void)
{
	if (area)
		install_handler((int)area->signal);
}

struct causal_area *pause__area(void)
{
	return area;
}

int pause__descriptor(void)
{
	return descriptor;
}

/* The decimal number in @text; -1: it is not one. */
static long parse_number(const char *text)
{
	long value = 0;

	if (!text || *text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9' && value < 1000000; text++)
		value = value * 10 + (*text - '0');
	return *text ? -1 : value;
}

static __attribute__((constructor)) void pause__begin(void)
{
	long fd = parse_number(secure_getenv(CAUSAL_ENVIRONMENT));
	void *mapped;

	if (fd < 0)
		return;
	mapped = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (mapped == MAP_FAILED)
		return;
	area = mapped;
	if (area->magic != CAUSAL_MAGIC || area->version != CAUSAL_VERSION ||
	    area->size != sizeof(*area) || area->signal < 1 || area->signal > 64) {
		munmap(mapped, sizeof(*area));
		area = NULL;
		return;
	}
	descriptor = (int)fd;
	install_handler((int)area->signal);
}
