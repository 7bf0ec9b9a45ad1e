// SPDX-License-Identifier: BSD-2-Clause
/* What leaves functions in other ways than by returning, and what a push must not disturb. */
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/calls/expect.h"

static jmp_buf jump;

FUNCTION void inner(const char *what, const char *wanted)
{
	expect(what, wanted);
	NO_TAIL_CALL;
}

FUNCTION void middle(const char *what, const char *wanted)
{
	inner(what, wanted);
	NO_TAIL_CALL;
}

FUNCTION void nested(void)
{
	middle("nested calls", "main nested middle inner");
	inner("a call after them", "main nested inner");
	expect("the function itself", "main nested");
	NO_TAIL_CALL;
}

FUNCTION void jumper(int depth)
{
	if (depth > 0)
		jumper(depth - 1);
	if (depth == 0)
		longjmp(jump, 1);
	NO_TAIL_CALL;
}

FUNCTION void catcher(void)
{
	volatile int times = 0;

	if (!setjmp(jump))
		jumper(5);
	times = times + 1;
	expect("after longjmp", "main catcher");
	inner("a call after longjmp", "main catcher inner");
	if (times < 3)
		jumper(times);
	expect("after several", "main catcher");
	NO_TAIL_CALL;
}

static sigjmp_buf signal_jump;

FUNCTION void handle(int signal)
{
	inner(signal == SIGUSR1 ? "in a signal handler"
				: "in a signal handler on a stack of its own",
	      signal == SIGUSR1 ? "main raiser handle inner" : "handle inner");
	if (signal == SIGURG)
		siglongjmp(signal_jump, 1);
	NO_TAIL_CALL;
}

FUNCTION void raiser(void)
{
	struct sigaction action = {.sa_handler = handle};
	static char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGURG, &action, NULL);
	raise(SIGUSR1);
	expect("after a signal", "main raiser");
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR2);
		inner("after a signal on another stack", "main raiser inner");
	}
	if (!sigsetjmp(signal_jump, 1))
		raise(SIGURG);
	inner("after a jump out of a handler", "main raiser inner");
	raise(SIGUSR2);
	expect("in the end", "main raiser");
	NO_TAIL_CALL;
}

static ucontext_t contexts[3];

FUNCTION void yield(int from, int to)
{
	swapcontext(&contexts[from], &contexts[to]);
	NO_TAIL_CALL;
}

FUNCTION void deeper(int self, int depth)
{
	if (depth)
		deeper(self, depth - 1);
	else
		for (int i = 0; i < 3; i++) {
			yield(self, self == 1 ? 2 : 0);
			inner("in a coroutine", "coroutine deeper deeper inner");
		}
	NO_TAIL_CALL;
}

FUNCTION void coroutine(int self)
{
	deeper(self, 1);
	yield(self, 0);
	NO_TAIL_CALL;
}

FUNCTION void make(int self, char *stack, size_t size)
{
	getcontext(&contexts[self]);
	contexts[self].uc_stack = (stack_t){.ss_sp = stack, .ss_size = size};
	contexts[self].uc_link = &contexts[0];
	makecontext(&contexts[self], (void (*)(void))coroutine, 1, self);
}

FUNCTION void scheduler(size_t size)
{
	char *stacks[3];

	for (int i = 1; i < 3; i++)
		make(i, stacks[i] = malloc(size), size);
	for (int i = 0; i < 4; i++) {
		swapcontext(&contexts[0], &contexts[1]);
		expect("between coroutines", "main scheduler");
		inner("a call between coroutines", "main scheduler inner");
	}
	for (int i = 1; i < 3; i++)
		free(stacks[i]);
}

FUNCTION void last(void)
{
	expect("a tail call, or the call of one",
	       DWELL_TAIL ? "main caller last" : "main caller tail last");
	NO_TAIL_CALL;
}

FUNCTION void tail(void)
{
	last();
}

FUNCTION void caller(void)
{
	tail();
	expect("after a tail call", "main caller");
	NO_TAIL_CALL;
}

FUNCTION int recurse(int depth)
{
	int result = depth ? recurse(depth - 1) + 1 : 0;

	NO_TAIL_CALL;
	return result;
}

FUNCTION void recursion(void)
{
	const struct shadow_stack *stack = shadow_stack_at((uint64_t)__builtin_frame_address(0));

	check("5001 calls deep", recurse(5000) == 5000);
	check("those that found no room are counted", stack->missed == 5001 + 2 - SHADOW_DEPTH);
	inner("after them", "main recursion inner");
	NO_TAIL_CALL;
}

FUNCTION void large(size_t size)
{
	volatile char *room = alloca(size);

	room[0] = 1;
	inner("below a large frame", "main larger large inner");
	NO_TAIL_CALL;
}

FUNCTION void larger(void)
{
	volatile char room[100000] = {1};

	large(100);
	large(200000);
	inner("above it again", room[0] ? "main larger inner" : "");
	NO_TAIL_CALL;
}

FUNCTION int compare(const void *a, const void *b)
{
	static int times;

	if (!times++)
		expect("called back by a library", "main sorter compare");
	return *(const int *)a - *(const int *)b;
}

FUNCTION void sorter(void)
{
	int values[100];

	for (int i = 0; i < 100; i++)
		values[i] = i * 37 % 100;
	qsort(values, 100, sizeof(*values), compare);
	check("sorted", values[0] == 0 && values[99] == 99);
}

FUNCTION void leave(int depth)
{
	if (depth > 0)
		leave(depth - 1);
	if (depth == 0)
		pthread_exit(NULL);
	NO_TAIL_CALL;
}

/* The thread of the shadow stack that its push is on. */
FUNCTION uint32_t owner(void)
{
	uint32_t tid = shadow__owner(__dwell_shadow.top)->tid;

	NO_TAIL_CALL;
	return tid;
}

C_NAME DWELL_UNTIMED __attribute__((noinline)) uint32_t owner_below(size_t size)
{
	volatile char *room = alloca(size);

	room[0] = 1;
	return owner() + room[0] - 1;
}

/* 0: a plain thread; 1: its first push is deep; 2: a later one is as deep as that of another was.
 */
static int phase;

FUNCTION void *short_lived(void *arg)
{
	char text[256];

	shadow_text(text, sizeof(text));
	*(int *)arg = !strcmp(text, "short_lived") &&
		      (phase < 2 || owner_below(20000) == (uint32_t)gettid());
	leave(5);
	return NULL;
}

C_NAME DWELL_UNTIMED void *start(void *arg)
{
	volatile char *room = alloca(phase == 1 ? 20000 : 100);

	room[0] = 1;
	return short_lived(arg);
}

DWELL_UNTIMED static unsigned used_stacks(void)
{
	const struct shadow_stack *stacks = (struct shadow_stack *)__dwell_shadow_memory;
	unsigned n = 0;

	for (unsigned i = 1; i < __dwell_shadow_memory->stacks; i++)
		n += stacks[i].state == SHADOW_USED;
	return n;
}

FUNCTION void threads(void)
{
	int good = 0;
	unsigned used;

	for (int i = 0; i < 300; i++) {
		pthread_t threads[10];
		int each[10] = {};

		phase = i % 3;
		for (int k = 0; k < 10; k++)
			pthread_create(&threads[k], NULL, start, &each[k]);
		for (int k = 0; k < 10; k++) {
			pthread_join(threads[k], NULL);
			good += each[k];
		}
	}
	check("each of 3000 threads has a stack of its own", good == 3000);
	used = used_stacks();
	if (used > 30)
		printf("# %u stacks\n", used);
	check("stacks of ended threads are used again", used <= 30);
}

FUNCTION void parent(void)
{
	char seen[256] = "";
	int status, ends[2];
	pid_t pid;

	if (pipe(ends))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		expected = 100;
		failed = 0;
		inner("in a child", "main parent inner");
		_exit(failed);
	}
	for (int i = 0; i < 1000; i++)
		shadow_text(seen, sizeof(seen));
	waitpid(pid, &status, 0);
	check("a child has a stack of its own", status == 0);
	expected += 1;
	expect("which its parent does not notice", "main parent");
	pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	inner("after vfork", "main parent inner");
	NO_TAIL_CALL;
}

/* Waits until the process's first thread has exited. It stays as a zombie, which can be sent
 * signals. */
DWELL_UNTIMED static void await_end_of_first_thread(void)
{
	char path[64], text[512], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	for (int i = 0; i < 10000 && state != 'Z'; i++) {
		FILE *file = fopen(path, "r");
		size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		char *end;

		text[n] = '\0';
		end = strrchr(text, ')');
		state = end && end[1] ? end[2] : 0;
		if (file)
			fclose(file);
		usleep(1000);
	}
}

C_NAME DWELL_UNTIMED void *successor(void *arg)
{
	uint32_t tid;

	await_end_of_first_thread();
	tid = owner();
	_exit(tid == (uint32_t)gettid() && used_stacks() == 1 ? 0 : 1);
}

#define SMALL_STACK (160 << 10)

static void start_on(pthread_t *thread, char *stack, void *(*function)(void *), void *arg)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, SMALL_STACK) ||
	    pthread_create(thread, &attributes, function, arg))
		_exit(2);
}

/* The first thread of a child, which exits while another one begins close to where it pushed. */
FUNCTION void *predecessor(void *stack)
{
	static int result = 1;
	pthread_t thread;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		start_on(&thread, stack, successor, NULL);
		pthread_exit(NULL);
	}
	waitpid(pid, &result, 0);
	return &result;
}

/*
 * pthread_join() returns before the kernel has removed the thread: one that has its machine stack
 * next must not take its shadow stack for one in use.
 */
DWELL_UNTIMED static void exiting(void)
{
	char *stacks = mmap(NULL, 2 * SMALL_STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	void *result;

	if (stacks == MAP_FAILED)
		_exit(2);
	start_on(&thread, stacks + SMALL_STACK, predecessor, stacks);
	pthread_join(thread, &result);
	check("the stack of an exiting thread is left", *(int *)result == 0);
}

FUNCTION double floats(int n, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(list, double);
	va_end(list);
	return sum;
}

struct wide {
	long a, b, c, d;
	double e;
};

FUNCTION struct wide arguments(long a, long b, long c, long d, long e, long f, long g, double h,
			       double i, float j)
{
	return (struct wide){a + b, c + d, e + f, g, h + i + (double)j};
}

/* In a thread that has not pushed anything: so each push is the first, which takes the long way. */
FUNCTION void *fresh(void *arg)
{
	struct wide wide = arguments(1, 2, 3, 4, 5, 6, 7, 0.5, 0.25, 0.125f);

	*(int *)arg = wide.a == 3 && wide.b == 7 && wide.c == 11 && wide.d == 7 && wide.e == 0.875;
	return NULL;
}

C_NAME DWELL_UNTIMED void *fresh_floats(void *arg)
{
	*(int *)arg = floats(5, 0.5, 0.25, 0.125, 1.0, 2.0) == 3.875;
	return NULL;
}

C_NAME DWELL_UNTIMED void *fresh_wide(void *arg)
{
	struct wide wide = arguments(1, 2, 3, 4, 5, 6, 7, 0.5, 0.25, 0.125f);

	*(int *)arg = wide.a == 3 && wide.b == 7 && wide.c == 11 && wide.d == 7 && wide.e == 0.875;
	return NULL;
}

FUNCTION void registers(void)
{
	void *(*const functions[])(void *) = {fresh, fresh_floats, fresh_wide};
	int good[3] = {};

	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, functions[i], &good[i]);
		pthread_join(thread, NULL);
	}
	check("arguments arrive", good[0] && good[1] && good[2]);
	errno = 77;
	inner("errno", "main registers inner");
	check("is kept", errno == 77);
}

int main(int argc, char **argv)
{
	nested();
	catcher();
	raiser();
	scheduler(65536);
	scheduler(16384);
	caller();
	recursion();
	larger();
	sorter();
	threads();
	parent();
	exiting();
	registers();
	return end();
}
