/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shop: progress points and targets in a C++ program.
 *
 *	shop [--seconds S | --rounds N] [--plugin FILE]
 *
 * A round: count() of a class template computes; shelve() of a plugin, which is loaded after
 * 200 rounds, computes; doze() sleeps. Each round visits "round" (dwell.h) and "coz-round" (a
 * counter of coz.h), and lies between begin and end of "customer". A second thread computes
 * independently, in idle().
 *
 * Expected: at each point, each function by its share of the time; idle() by nothing.
 * Printed are the shares of the time since the plugin was loaded: all of a function's time, and
 * without what it waited for a CPU, which others may have:
 * {"rounds": N, "count": [WITHOUT, ALL], "shelve": [WITHOUT, ALL], "doze": [WITHOUT, ALL]}.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"
#include "tests/programs/common/burn.h"

#define KEEP __attribute__((noinline, noclone))

using clock_type = std::chrono::steady_clock;

/* As in coz.h. */
struct coz_counter {
	size_t count;
	size_t backoff;
};

namespace shop
{

KEEP void compute(uint64_t loops)
{
	BURN(loops);
}

template <typename Coin> class Till
{
      public:
	KEEP void count(uint64_t loops)
	{
		compute(loops);
		coins += Coin(loops);
	}

      private:
	Coin coins = 0;
};

KEEP void doze()
{
	const struct timespec while_ = {0, 550000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &while_, nullptr);
	__asm__ volatile("" ::: "memory");
}

KEEP void idle(uint64_t loops)
{
	compute(loops);
	__asm__ volatile("" ::: "memory");
}

} // namespace shop

/* The time that this thread has waited for a CPU. */
static double run_queue_seconds()
{
	static const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[128] = {};
	unsigned long long ran, waited = 0;

	if (pread(file, text, sizeof(text) - 1, 0) > 0 &&
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	return double(waited) / 1e9;
}

static double seconds_since(clock_type::time_point begin)
{
	return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/* The time that a function took, and the part of it that it waited for a CPU. */
struct spent {
	double all = 0, run_queue = 0;

	template <typename Work> void add(Work work)
	{
		double waited = run_queue_seconds();
		auto begin = clock_type::now();

		work();
		all += seconds_since(begin);
		run_queue += run_queue_seconds() - waited;
	}
	void print(const char *name, double whole) const
	{
		printf(", \"%s\": [%.3f, %.3f]", name, (all - run_queue) / whole, all / whole);
	}
};

/* The best of several: other processes use the CPU as well. */
static uint64_t loops_per_ms()
{
	double best = 1;

	for (int i = 0; i < 20; i++) {
		auto begin = clock_type::now();

		shop::compute(100000);
		best = std::min(best, seconds_since(begin));
	}
	return uint64_t(100000 / (best * 1e3));
}

static coz_counter *coz_point(int type, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, "_coz_get_counter");
	coz_counter *(*get)(int, const char *) = nullptr;

	memcpy(&get, &found, sizeof(get));
	return get ? get(type, name) : nullptr;
}

int main(int argc, char **argv)
{
	double seconds = 5;
	spent count, shelved, dozed;
	const char *plugin = nullptr;
	uint64_t rounds = 0, n = 0, ms = loops_per_ms();
	void (*shelve)(uint64_t) = nullptr;
	std::atomic<bool> over{false};
	shop::Till<long> till;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			seconds = atof(argv[i + 1]);
		else if (!strcmp(argv[i], "--rounds"))
			rounds = strtoul(argv[i + 1], nullptr, 10);
		else if (!strcmp(argv[i], "--plugin"))
			plugin = argv[i + 1];
	}

	std::thread bystander([&] {
		while (!over)
			shop::idle(ms);
	});
	DWELL_BEGIN("shift"); /* ends with the program: other points do not wait for it */
	coz_counter *coz = coz_point(1, "coz-round");
	auto begin = clock_type::now(), counted = begin;

	while (rounds ? n < rounds : seconds_since(begin) < seconds) {
		if (plugin && n == 200) {
			void *file = dlopen(plugin, RTLD_NOW);
			void *found = file ? dlsym(file, "shelve") : nullptr;

			memcpy(&shelve, &found, sizeof(shelve));
			if (!shelve) {
				fprintf(stderr, "shop: %s\n", dlerror());
				exit(1);
			}
			count = shelved = dozed = {};
			counted = clock_type::now();
		}
		DWELL_BEGIN("customer");
		count.add([&] { till.count(8 * ms / 10); });
		if (shelve)
			shelved.add([&] { shelve(6 * ms / 10); });
		dozed.add(shop::doze);
		DWELL_END("customer");
		DWELL_PROGRESS_NAMED("round");
		if (coz)
			__atomic_add_fetch(&coz->count, 1, __ATOMIC_RELAXED);
		n++;
	}
	double all = seconds_since(counted);

	over = true;
	bystander.join();
	printf("{\"rounds\": %lu", (unsigned long)n);
	count.print("count", all);
	shelved.print("shelve", all);
	dozed.print("doze", all);
	printf("}\n");
	return 0;
}
