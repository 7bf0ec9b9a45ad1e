/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for locks, condition variables, semaphores, and for threads and children to end. Of a
 * lock, a helper holds it for 10 ms each time it is asked to.
 */
#include "tests/programs/waits/kinds.h"

#include <sys/file.h>

static void lock_mutex(struct wait_slot *slot)
{
	pthread_mutex_lock(&slot->mutex);
}

static void unlock_mutex(struct wait_slot *slot)
{
	pthread_mutex_unlock(&slot->mutex);
}

static void *run_mutex_holder(void *arg)
{
	struct wait_slot *slot = arg;

	set_name("helper");
	for (;;) {
		sem_wait(&slot->go);
		lock_mutex(slot);
		sem_post(&slot->held);
		sleep_ns(WAIT_NS);
		unlock_mutex(slot);
	}
	return NULL;
}

static void prepare_mutex(struct wait_slot *slot)
{
	pthread_mutex_init(&slot->mutex, NULL);
	sem_init(&slot->go, 0, 0);
	sem_init(&slot->held, 0, 0);
	start_thread(run_mutex_holder, slot);
}

static void wait_mutex(struct wait_slot *slot)
{
	sem_post(&slot->go);
	sem_wait(&slot->held);
	lock_mutex(slot);
	unlock_mutex(slot);
}

/* A child with its own descriptor holds the lock. It is asked, and answers, by pipes. */
static void run_flock_holder(struct wait_slot *slot, int asked, int told)
{
	int fd = open(slot->file.path, O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "flock_holder");
	for (;;) {
		uint64_t one = 1;

		if (read(asked, &one, sizeof(one)) <= 0)
			_exit(0);
		flock(fd, LOCK_EX);
		if (write(told, &one, sizeof(one)) < 0)
			_exit(0);
		sleep_ns(WAIT_NS);
		flock(fd, LOCK_UN);
	}
}

static void prepare_flock(struct wait_slot *slot)
{
	int ask[2], tell[2];

	prepare_cached_file(slot);
	if (pipe(ask) || pipe(tell))
		die("pipe");
	slot->child = fork();
	if (slot->child < 0)
		die("fork");
	if (!slot->child)
		run_flock_holder(slot, ask[0], tell[1]);
	slot->other_fd = ask[1];
	slot->turn = tell[0];
}

static void wait_flock(struct wait_slot *slot)
{
	put_one(slot->other_fd);
	take_one(slot->turn);
	flock(slot->fd, LOCK_EX);
	flock(slot->fd, LOCK_UN);
}

static void finish_flock(struct wait_slot *slot)
{
	finish_child(slot);
	finish_file(slot);
}

static void prepare_cond(struct wait_slot *slot)
{
	pthread_mutex_init(&slot->mutex, NULL);
	pthread_cond_init(&slot->cond, NULL);
}

static void wait_cond(struct wait_slot *slot)
{
	uint64_t turn;

	pthread_mutex_lock(&slot->mutex);
	turn = slot->turn;
	while (turn == slot->turn)
		pthread_cond_wait(&slot->cond, &slot->mutex);
	pthread_mutex_unlock(&slot->mutex);
}

static void wake_cond(struct wait_slot *slot)
{
	pthread_mutex_lock(&slot->mutex);
	slot->turn++;
	pthread_cond_signal(&slot->cond);
	pthread_mutex_unlock(&slot->mutex);
}

static void prepare_semaphore(struct wait_slot *slot)
{
	sem_init(&slot->go, 0, 0);
}

static void wait_semaphore(struct wait_slot *slot)
{
	while (sem_wait(&slot->go))
		;
}

static void wake_semaphore(struct wait_slot *slot)
{
	sem_post(&slot->go);
}

static void *run_sleeper(void *arg)
{
	set_name("sleeper");
	sleep_ns(WAIT_NS);
	return NULL;
}

static void wait_join(struct wait_slot *slot)
{
	pthread_join(start_thread(run_sleeper, NULL), NULL);
}

static int run_child(void *arg)
{
	prctl(PR_SET_NAME, "child");
	sleep_ns(WAIT_NS);
	_exit(0);
}

/*
 * The child shares the memory: a copy would lock it and make it read-only, and other threads
 * would have page faults.
 */
static void wait_child(struct wait_slot *slot)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	pid_t pid = clone(run_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	if (pid < 0)
		die("clone");
	waitpid(pid, NULL, 0);
}

const struct wait_kind lock_waits[] = {
	{"mutex", "lock", prepare_mutex, wait_mutex, NULL, NULL},
	{"cond_wait", "lock", prepare_cond, wait_cond, wake_cond, NULL},
	{"sem_wait", "lock", prepare_semaphore, wait_semaphore, wake_semaphore, NULL},
	{"join", "lock", NULL, wait_join, NULL, NULL},
	{"flock", "other", prepare_flock, wait_flock, NULL, finish_flock},
	{"waitpid", "other", NULL, wait_child, NULL, NULL},
	{},
};
