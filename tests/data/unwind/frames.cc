// SPDX-License-Identifier: BSD-2-Clause
/* Every kind of frame that compilers lay out, entered and left in many ways. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;
static jmp_buf back;

/* The tracer looks closely between these two. */
extern "C" NOINLINE void watch_begin()
{
	asm volatile("");
	sink = 1;
}

extern "C" NOINLINE void watch_end()
{
	asm volatile("");
	sink = 2;
}

static NOINLINE int leaf(int x)
{
	return x * 3 + sink;
}

static NOINLINE int variable(int n)
{
	char *bytes = (char *)alloca(n * 16);

	memset(bytes, n, n * 16);
	sink = bytes[n];
	return leaf(bytes[n / 2]);
}

static NOINLINE int array(int n)
{
	int values[n];

	for (int i = 0; i < n; i++)
		values[i] = leaf(i);
	return values[n - 1] + variable(n);
}

static NOINLINE int aligned(int n)
{
	alignas(64) volatile char line[128];

	line[n] = (char)n;
	return leaf(line[n]) + array(n);
}

/* Aligned, and of variable size: the old stack pointer goes through memory. */
static NOINLINE int aligned_variable(int n)
{
	alignas(64) volatile char line[64];
	char *bytes = (char *)alloca(n + 100);

	line[1] = (char)n;
	bytes[n] = 1;
	sink = bytes[n];
	return aligned(n) + line[1];
}

static NOINLINE int large(int n)
{
	volatile char room[200000];

	room[n] = 1;
	return leaf(room[n]) + aligned_variable(n);
}

static NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, double x)
{
	return a + b * c - d + e * leaf((int)f) + large((int)g) + h + (long)x;
}

struct guard {
	int value;
	~guard()
	{
		sink = leaf(value);
	}
};

static NOINLINE void thrower(int depth)
{
	guard g = {depth};

	if (!depth)
		throw depth;
	thrower(depth - 1);
	sink = g.value;
}

static NOINLINE int catcher()
{
	try {
		thrower(2);
	} catch (int value) {
		return leaf(value);
	}
	return 0;
}

static NOINLINE void jumper(int depth)
{
	if (depth)
		jumper(depth - 1);
	else
		longjmp(back, 1);
	sink = depth;
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

static void handler(int signal)
{
	sink = signal;
	aligned(5);
}

static NOINLINE int recurse(int n)
{
	return n ? recurse(n - 1) + n : array(3);
}

static NOINLINE __attribute__((noreturn)) void leave()
{
	watch_end();
	_Exit(0);
}

int main()
{
	int values[] = {3, 1, 4, 1, 5, 9, 2, 6};
	struct timespec now;
	char text[64];

	signal(SIGUSR1, handler);
	watch_begin();
	sink = (int)many(1, 2, 3, 4, 5, 6, 7, 8, 1.5);
	qsort(values, 8, sizeof(values[0]), compare);
	snprintf(text, sizeof(text), "%d %s %.3f", values[0], "x", 1.25);
	sink = recurse(5);
	if (!setjmp(back))
		jumper(2);
	clock_gettime(CLOCK_MONOTONIC, &now);
	raise(SIGUSR1);
	sink = catcher();
	leave();
}
