// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs of small functions, for bench/calls-cost.
 *
 *	calls_micro fib|leaf|qsort N	N units of work
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noinline))
#define SORTED	 1000

struct record {
	uint32_t key, value;
};

FUNCTION static unsigned int fib(unsigned int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Three instructions and the return; the compiler must not see that its result is known. */
FUNCTION static uint64_t leaf(uint64_t a, uint64_t b)
{
	__asm__ volatile("" : "+r"(a));
	return (a ^ b) + 1;
}

FUNCTION static int compare(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	return left->key < right->key ? -1 : left->key > right->key;
}

static uint64_t run_fib(uint64_t n)
{
	volatile unsigned int depth = 20; /* or the compiler calls it once */
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += fib(depth);
	return sum;
}

static uint64_t run_leaf(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n * 10000; i++)
		sum = leaf(sum, i);
	return sum;
}

static uint64_t run_qsort(uint64_t n)
{
	static struct record records[SORTED];
	uint32_t random = 1;

	for (uint64_t i = 0; i < n; i++) {
		for (size_t k = 0; k < SORTED; k++) {
			random = random * 1664525 + 1013904223;
			records[k] = (struct record){random >> 8, (uint32_t)k};
		}
		qsort(records, SORTED, sizeof(*records), compare);
	}
	return records[SORTED / 2].value;
}

static const struct {
	const char *name;
	uint64_t (*run)(uint64_t n);
} programs[] = {
	{"fib", run_fib},
	{"leaf", run_leaf},
	{"qsort", run_qsort},
};

int main(int argc, char **argv)
{
	uint64_t n = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

	for (size_t i = 0; n && i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(argv[1], programs[i].name)) {
			printf("%llu\n", (unsigned long long)programs[i].run(n));
			return 0;
		}
	fprintf(stderr, "usage: calls_micro fib|leaf|qsort N\n");
	return 2;
}
