/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for time and signals. */
#include "tests/programs/waits/kinds.h"

#include <sys/timerfd.h>

static void wait_nanosleep(struct wait_slot *slot)
{
	sleep_ns(WAIT_NS);
}

static void prepare_timer(struct wait_slot *slot)
{
	const struct itimerspec every = {{0, WAIT_NS}, {0, WAIT_NS}};

	slot->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (slot->fd < 0 || timerfd_settime(slot->fd, 0, &every, NULL))
		die("timerfd");
}

static void wait_signal(struct wait_slot *slot)
{
	const struct timespec limit = {1, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigtimedwait(&set, NULL, &limit);
}

static void wake_signal(struct wait_slot *slot)
{
	if (!__atomic_load_n(&slot->finished, __ATOMIC_ACQUIRE))
		pthread_kill(slot->thread, SIGUSR1);
}

const struct wait_kind timer_waits[] = {
	{"timerfd_read", "other", prepare_timer, wait_read, NULL, NULL},
	{"nanosleep", "other", NULL, wait_nanosleep, NULL, NULL},
	{"sigtimedwait", "other", NULL, wait_signal, wake_signal, NULL},
	{},
};
