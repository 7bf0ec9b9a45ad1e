/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known chains of functions, as in chains, in C++: computing in the comparison of std::sort,
 * waiting in destructors while an exception unwinds, and after it was caught.
 */
#include <algorithm>
#include <stdexcept>
#include <vector>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP	       extern "C" __attribute__((noinline, noclone))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static volatile bool over;

static void sleep_2_ms()
{
	const struct timespec ts = {0, 2000000};

	nanosleep(&ts, nullptr);
}

KEEP bool is_less(uint64_t left, uint64_t right)
{
	uint64_t x = left;

	for (int i = 0; i < 10; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		__asm__ volatile("" : "+r"(x));
	}
	return left < right;
}

KEEP void sort_values(uint64_t round)
{
	std::vector<uint64_t> values(1000);
	uint64_t x = round + 1;

	for (auto &value : values)
		value = x = x * 6364136223846793005 + 1442695040888963407;
	std::sort(values.begin(), values.end(),
		  [](uint64_t left, uint64_t right) { return is_less(left, right); });
	NO_TAIL_CALL();
}

KEEP void guard_waits()
{
	sleep_2_ms();
	NO_TAIL_CALL();
}

struct guard {
	~guard()
	{
		guard_waits();
	}
};

KEEP void throws(uint64_t round)
{
	if (round != UINT64_MAX)
		throw std::runtime_error("on its way");
}

KEEP void passes(uint64_t round)
{
	guard waits_when_left;

	throws(round);
	NO_TAIL_CALL();
}

KEEP void catch_waits()
{
	sleep_2_ms();
	NO_TAIL_CALL();
}

KEEP void catches(uint64_t round)
{
	try {
		passes(round);
	} catch (const std::exception &) {
		catch_waits();
	}
	NO_TAIL_CALL();
}

struct place {
	const char *name;
	const char *chain;
	const char *wait_class;
	void (*run)(uint64_t round);
	pthread_t thread;
	long tid;
};

static struct place places[] = {
	{"sort", "sort_values is_less", "cpu", sort_values, 0, 0},
	{"unwinding", "catches passes guard_waits|catches passes throws|catches catch_waits",
	 "other", catches, 0, 0},
};

KEEP void *run_place(void *arg)
{
	auto *place = static_cast<struct place *>(arg);

	prctl(PR_SET_NAME, place->name);
	place->tid = syscall(SYS_gettid);
	for (uint64_t round = 0; !over; round++)
		place->run(round);
	return nullptr;
}

int main(int argc, char **argv)
{
	const char *comma = "";

	for (auto &place : places)
		pthread_create(&place.thread, nullptr, run_place, &place);
	sleep(argc == 3 ? atoi(argv[2]) : 3);
	over = true;
	printf("{\"program\": \"chains_cc\", \"places\": [");
	for (auto &place : places) {
		pthread_join(place.thread, nullptr);
		printf("%s\n  {\"name\": \"%s\", \"tid\": %ld, \"class\": \"%s\", \"chain\": "
		       "\"%s\"}",
		       comma, place.name, place.tid, place.wait_class, place.chain);
		comma = ",";
	}
	printf("]}\n");
	return 0;
}
