/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that switch often, in ways that race with their wakeups: pairs that pass a byte back
 * and forth by pipes, or a turn by a futex; threads that yield, or sleep briefly.
 *
 * True by construction: each thread calls getrusage(RUSAGE_THREAD) last, so the kernel's
 * counters of its switches are exact up to there. Its exit adds one switch, and rarely a
 * preemption. Only threads of the program wake the "pipe" and "futex" threads.
 */
#include "tests/programs/common/program.h"

#include <getopt.h>
#include <linux/futex.h>

#define THREADS_MAX 256

struct thread {
	const char *kind;
	pthread_t handle;
	pid_t tid;
	int in, out;	/* pipe */
	uint32_t *turn; /* futex */
	uint32_t mine;
	uint64_t rounds;
	struct rusage used;
};

static uint64_t rounds = 2000;

KEEP void pass_byte(struct thread *self)
{
	char byte = 0;

	if (self->mine) {
		if (read(self->in, &byte, 1) != 1 || write(self->out, &byte, 1) != 1)
			die("pipe");
	} else {
		if (write(self->out, &byte, 1) != 1 || read(self->in, &byte, 1) != 1)
			die("pipe");
	}
	NO_TAIL_CALL();
}

KEEP void pass_turn(struct thread *self)
{
	uint32_t other = !self->mine, seen;

	while ((seen = __atomic_load_n(self->turn, __ATOMIC_ACQUIRE)) != self->mine)
		syscall(SYS_futex, self->turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	__atomic_store_n(self->turn, other, __ATOMIC_RELEASE);
	syscall(SYS_futex, self->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	NO_TAIL_CALL();
}

static void *run(void *arg)
{
	struct thread *self = arg;

	set_name(self->kind);
	self->tid = thread_id();
	for (self->rounds = 0; self->rounds < rounds; self->rounds++) {
		if (!strcmp(self->kind, "pipe"))
			pass_byte(self);
		else if (!strcmp(self->kind, "futex"))
			pass_turn(self);
		else if (!strcmp(self->kind, "yield"))
			sched_yield();
		else
			usleep(50);
	}
	getrusage(RUSAGE_THREAD, &self->used);
	return NULL;
}

static void make_pair(struct thread *pair, uint32_t *turn)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		die("pipe");
	pair[0].out = there[1];
	pair[1].in = there[0];
	pair[1].out = back[1];
	pair[0].in = back[0];
	pair[0].turn = pair[1].turn = turn;
	pair[0].mine = 0;
	pair[1].mine = 1;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"pipe", "futex", "yield", "sleep"};
	static const struct option long_options[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"pairs", required_argument, NULL, 'p'},
		{},
	};
	static struct thread threads[THREADS_MAX];
	static uint32_t turns[THREADS_MAX];
	int pairs = 2, count = 0, opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 'r')
			rounds = strtoull(optarg, NULL, 10);
		else if (opt == 'p')
			pairs = atoi(optarg);
		else
			return 2;
	}
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < pairs && count + 2 <= THREADS_MAX; i++, count += 2) {
			make_pair(&threads[count], &turns[count]);
			threads[count].kind = threads[count + 1].kind = kinds[k];
		}
	}
	for (int i = 0; i < count; i++)
		threads[i].handle = start_thread(run, &threads[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i].handle, NULL);

	printf("{\"program\": \"switches\", \"pid\": %d, \"threads\": [\n", getpid());
	for (int i = 0; i < count; i++)
		printf("  {\"name\": \"%s\", \"tid\": %d, \"rounds\": %" PRIu64
		       ", \"voluntary\": %ld, \"involuntary\": %ld}%s\n",
		       threads[i].kind, threads[i].tid, threads[i].rounds, threads[i].used.ru_nvcsw,
		       threads[i].used.ru_nivcsw, i + 1 < count ? "," : "");
	printf("]}\n");
	return 0;
}
