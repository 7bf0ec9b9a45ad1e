/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shop: progress points and targets as C++ programs have them.
 *
 *	shop [--seconds S | --rounds N] [--plugin FILE]
 *
 * A round: count() of a class template computes, shelve() of a plugin, which is loaded
 * after a while, computes, doze() sleeps. Each round visits "round" (dwell.h) and
 * "coz-round" (a counter as coz.h has them), and is what lies between begin and end of
 * "customer". A second thread computes for itself.
 *
 * Expected: at each point, each function by its share of the time; idle() by nothing.
 * Printed are the shares by the clock from when the plugin was there, which are true when
 * nobody slows the program down:
 * {"rounds": N, "count": SHARE, "shelve": SHARE, "doze": SHARE}.
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
#include <time.h>

#include "include/dwell.h"
#include "tests/programs/burn.h"

#define KEEP __attribute__((noinline, noclone))

using clock_type = std::chrono::steady_clock;

/* What coz.h declares. */
struct coz_counter {
	size_t count;
	size_t backoff;
};

namespace shop {

KEEP void compute(uint64_t loops)
{
	BURN(loops);
}

template <typename Coin> class Till {
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

static double seconds_since(clock_type::time_point begin)
{
	return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/* In 1 ms; the best of some, because others use the CPU as well. */
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
	double seconds = 5, part[3] = {};
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
			part[0] = part[1] = part[2] = 0;
			counted = clock_type::now();
		}
		DWELL_BEGIN("customer");
		auto from = clock_type::now();
		till.count(8 * ms / 10);
		part[0] += seconds_since(from);
		from = clock_type::now();
		if (shelve)
			shelve(6 * ms / 10);
		part[1] += seconds_since(from);
		from = clock_type::now();
		shop::doze();
		part[2] += seconds_since(from);
		DWELL_END("customer");
		DWELL_PROGRESS_NAMED("round");
		if (coz)
			__atomic_add_fetch(&coz->count, 1, __ATOMIC_RELAXED);
		n++;
	}
	double all = seconds_since(counted);

	over = true;
	bystander.join();
	printf("{\"rounds\": %lu, \"count\": %.3f, \"shelve\": %.3f, \"doze\": %.3f}\n",
	       (unsigned long)n, part[0] / all, part[1] / all, part[2] / all);
	return 0;
}
