// SPDX-License-Identifier: BSD-2-Clause
/* Exceptions and longjmp() through functions, and calls of known lengths; tells how many. */
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

static std::jmp_buf out;
static int caught, jumped;

static uint64_t now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) void spin(uint64_t ns)
{
	for (uint64_t until = now() + ns; now() < until;)
		;
}

__attribute__((noinline)) void thrower(int i)
{
	if (i % 3 == 0)
		throw std::runtime_error("thrown");
	__asm__ volatile("");
}

__attribute__((noinline)) void passes(int i)
{
	thrower(i);
	__asm__ volatile("");
}

__attribute__((noinline)) void jumper(int i)
{
	if (i % 5 == 0)
		std::longjmp(out, 1);
	__asm__ volatile("");
}

/* Its last call is a jump. */
__attribute__((noinline)) void tail(int i)
{
	passes(i);
	spin(20000);
}

__attribute__((noinline)) int recurse(int depth)
{
	return depth ? recurse(depth - 1) + 1 : 0;
}

__attribute__((noinline)) void once(int i)
{
	try {
		tail(i);
	} catch (std::exception &) {
		caught++;
	}
	if (setjmp(out))
		jumped++;
	else
		jumper(i);
	if (recurse(9) != 9)
		abort();
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);

	for (int i = 0; i < n; i++)
		once(i);
	printf("%d caught, %d jumped\n", caught, jumped);
}
