// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls whose numbers are known, and whose lengths depend on the line that they come from. Writes
 * what it has done to the file "counted", a line "FUNCTION LINE CALLS NS" a place: how many calls
 * there were, and how long they took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"

#ifdef __clang__
#define FUNCTION __attribute__((noinline))
#else
#define FUNCTION __attribute__((noinline, noclone))
#endif
#define NO_TAIL_CALL __asm__ volatile("")

struct place {
	int line;
	uint64_t calls, ns;
};
static struct place at_spin, at_short, at_long, at_last, at_handle, at_nested;

DWELL_UNTIMED static inline __attribute__((always_inline)) uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#define MEASURE(place, call)                                                                       \
	do {                                                                                       \
		uint64_t begin_ = now();                                                           \
		call;                                                                              \
		(place).ns += now() - begin_;                                                      \
		(place).calls++;                                                                   \
		(place).line = __LINE__;                                                           \
	} while (0)

FUNCTION static void spin(uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		;
}

FUNCTION static void work(int n)
{
	for (int i = 0; i < n; i++)
		MEASURE(at_spin, spin(2000));
}

/* The time of its outermost calls is what counts. */
FUNCTION static int recurse(int depth)
{
	int result = 1;

	spin(1000);
	if (depth)
		result += recurse(depth - 1);
	NO_TAIL_CALL;
	return result;
}

FUNCTION static void handle(int i)
{
	MEASURE(at_short, work(2));
	if (i % 20 == 0)
		MEASURE(at_long, work(400));
	MEASURE(at_last, work(3));
	if (i % 10 == 0)
		MEASURE(at_nested, recurse(20));
	NO_TAIL_CALL;
}

/* Calls, and has no loop: a function such as clang leaves small. */
FUNCTION static void small(int i)
{
	handle(i);
	NO_TAIL_CALL;
}

/* Calls nothing, and has no loop. */
FUNCTION static int leaf(int i)
{
	NO_TAIL_CALL;
	return i * 3;
}

static void tell(FILE *out, const char *function, const struct place *place)
{
	fprintf(out, "%s %d %llu %llu\n", function, place->line, (unsigned long long)place->calls,
		(unsigned long long)place->ns);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3000, sum = 0;
	FILE *out;

	usleep(200000); /* until it is looked at */
	for (int i = 0; i < n; i++) {
		MEASURE(at_handle, small(i));
		sum += leaf(i);
	}
	out = fopen("counted", "we");
	if (!out || !sum)
		return 1;
	tell(out, "spin", &at_spin);
	tell(out, "work", &at_short);
	tell(out, "work", &at_long);
	tell(out, "work", &at_last);
	tell(out, "small", &at_handle);
	tell(out, "recurse", &at_nested);
	return fclose(out) != 0;
}
