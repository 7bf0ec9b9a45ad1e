/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wait or compute below known chains of functions (place.h). Compiled and linked
 * in several ways (tests.mk), always without frame pointers.
 *
 *   chains [--seconds N] [--plugin FILE] [--ready FILE]
 *
 * The plugin is loaded after FILE is written: its library is not mapped when a recording
 * begins.
 */
#include "tests/programs/chains/place.h"

#include <dlfcn.h>
#include <getopt.h>

volatile bool over;
uint64_t loops_of_1_us;

static struct disk_file file;
static uint64_t seconds = 3;
static const char *plugin_path, *ready_path;

PLACE(pread, {
	off_t offset = draw(&slot->random, 0, file.size / 4096 - 1) * 4096;

	if (pread(file.fd, slot->memory, 4096, offset) != 4096)
		die("%s", file.path);
})

PLACE(fsync, {
	if (pwrite(file.fd, slot->memory, 4096, slot->rounds % 16 * 4096) != 4096 || fsync(file.fd))
		die("%s", file.path);
})

PLACE(poll, poll(NULL, 0, 3))

PLACE(nanosleep, sleep_ns(2 * NS_PER_MS))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static uint64_t generation;
static volatile bool all_gone; /* no thread waits any more */

PLACE(cond, {
	uint64_t seen;

	pthread_mutex_lock(&mutex);
	seen = generation;
	while (seen == generation)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
})

/* Wakes the threads that wait for the condition variable. */
static void *signaller(void *arg)
{
	while (!all_gone) {
		sleep_ns(2 * NS_PER_MS);
		pthread_mutex_lock(&mutex);
		generation++;
		pthread_mutex_unlock(&mutex);
		pthread_cond_broadcast(&cond);
	}
	return arg;
}

static void *brief_thread(void *arg)
{
	set_name("brief");
	sleep_ns(2 * NS_PER_MS);
	return arg;
}

PLACE(join, pthread_join(start_thread(brief_thread, NULL), NULL))

/* All threads share one arena (see main); the blocks are too large for malloc's thread caches. */
PLACE(malloc, {
	void *blocks[64];

	for (int i = 0; i < 64; i++)
		blocks[i] = malloc(2000 + slot->random % 1000 + i * 16);
	for (int i = 63; i >= 0; i -= 2)
		free(blocks[i]);
	for (int i = 62; i >= 0; i -= 2)
		free(blocks[i]);
})

#define VALUES 2000

KEEP int compare_values(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	BURN(20);
	return (left > right) - (left < right);
}

PLACE(qsort, {
	uint64_t *values = slot->memory;

	for (int i = 0; i < VALUES; i++)
		values[i] = draw(&slot->random, 0, 1 << 30);
	qsort(values, VALUES, sizeof(*values), compare_values);
})

KEEP uint64_t recurse(uint64_t depth)
{
	uint64_t below;

	if (depth == 1) {
		sleep_ns(2 * NS_PER_MS);
		NO_TAIL_CALL();
		return 1;
	}
	below = recurse(depth - 1);
	NO_TAIL_CALL();
	return below + 1;
}

KEEP void recursion_run(struct slot *slot)
{
	slot->random += recurse(RECURSION);
	NO_TAIL_CALL();
}

KEEP void handler_waits(void)
{
	sleep_ns(1 * NS_PER_MS);
	NO_TAIL_CALL();
}

KEEP void on_signal(int signal)
{
	handler_waits();
	NO_TAIL_CALL();
}

/* A signal interrupts it anywhere in the loop. */
PLACE(signal, BURN(50 * loops_of_1_us))

static void *interrupter(void *arg)
{
	const struct slot *slot = arg;

	while (!over) {
		sleep_ns(3 * NS_PER_MS);
		if (slot->tid)
			pthread_kill(slot->thread, SIGUSR1);
	}
	return NULL;
}

/* Called again and again, so that samples also hit prologues, epilogues and calls. */
KEEP uint64_t leaf(uint64_t x)
{
	return (x ^ x >> 7) * 0x9e3779b97f4a7c15;
}

PLACE(compute, {
	uint64_t x = slot->random;

	for (int i = 0; i < 2000; i++)
		x += leaf(x);
	slot->random = x;
})

static void (*enter_plugin)(struct slot *slot);

PLACE(plugin, enter_plugin(slot))

static const struct place places[] = {
	{"pread", CHAIN(pread), "io", pread_outer},
	{"fsync", CHAIN(fsync), "io", fsync_outer},
	{"poll", CHAIN(poll), "other", poll_outer},
	{"nanosleep", CHAIN(nanosleep), "other", nanosleep_outer},
	{"cond", CHAIN(cond), "lock", cond_outer},
	{"join", CHAIN(join), "lock", join_outer},
	{"malloc", CHAIN(malloc), "lock", malloc_outer},
	{"malloc", CHAIN(malloc), "lock", malloc_outer},
	{"malloc", CHAIN(malloc), "lock", malloc_outer},
	{"qsort", CHAIN(qsort) " compare_values", "cpu", qsort_outer},
	{"recursion", "recursion_run recurse*", "other", recursion_run},
	{"signal", CHAIN(signal) " on_signal handler_waits", "other", signal_outer},
	{"compute", CHAIN(compute) " leaf", "cpu", compute_outer},
	{"plugin", CHAIN(plugin) " plugin_enter plugin_waits", "other", plugin_outer},
};

#define PLACES (sizeof(places) / sizeof(places[0]))

static struct slot slots[PLACES];

KEEP void *run_place(void *arg)
{
	struct slot *slot = arg;

	set_name(slot->place->name);
	slot->tid = thread_id();
	slot->random = slot->tid * 0x9e3779b97f4a7c15;
	slot->memory = disk_buffer(VALUES * sizeof(uint64_t));
	while (!over) {
		slot->place->run(slot);
		slot->rounds++;
	}
	return NULL;
}

static void load_plugin(void)
{
#ifndef NO_PLUGIN /* a static program has no dlopen() */
	void *plugin = dlopen(plugin_path, RTLD_NOW);

	if (plugin)
		enter_plugin = (void (*)(struct slot *))dlsym(plugin, "plugin_enter");
	if (!enter_plugin) {
		fprintf(stderr, "chains: %s\n", dlerror());
		exit(2);
	}
#endif
}

static bool is_wanted(const struct place *place)
{
	return place->run != plugin_outer || plugin_path;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"plugin", required_argument, NULL, 'p'},
		{"ready", required_argument, NULL, 'r'},
		{},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seconds = strtoull(optarg, NULL, 10);
		else if (opt == 'p')
			plugin_path = optarg;
		else if (opt == 'r')
			ready_path = optarg;
		else
			exit(2);
	}
}

static void print_truth(void)
{
	const char *comma = "";

	printf("{\"program\": \"chains\", \"pid\": %d, \"recursion\": %d, \"places\": [", getpid(),
	       RECURSION);
	for (size_t i = 0; i < PLACES; i++) {
		const struct place *place = &places[i];

		if (!is_wanted(place))
			continue;
		printf("%s\n  {\"name\": \"%s\", \"tid\": %d, \"rounds\": %" PRIu64
		       ", \"class\": \"%s\", \"chain\": \"%s\"}",
		       comma, place->name, slots[i].tid, slots[i].rounds, place->class,
		       place->chain);
		comma = ",";
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t helpers[2] = {};

	parse(argc, argv);
	mallopt(M_ARENA_MAX, 1);
	sigaction(SIGUSR1, &action, NULL);
	disk_file__create(&file, "/var/tmp", "chains", 16 << 20, 0);
	unlink(file.path);
	loops_of_1_us = loops_per_ms() / 1000;
	ready(ready_path);
	if (plugin_path)
		load_plugin();
	for (size_t i = 0; i < PLACES; i++) {
		slots[i].place = &places[i];
		if (is_wanted(&places[i]))
			slots[i].thread = start_thread(run_place, &slots[i]);
	}
	helpers[0] = start_thread(signaller, NULL);
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].run == signal_outer)
			helpers[1] = start_thread(interrupter, &slots[i]);
	sleep_ns(seconds * NS_PER_S);
	over = true;
	pthread_join(helpers[1], NULL);
	for (size_t i = 0; i < PLACES; i++)
		if (slots[i].place && slots[i].thread)
			pthread_join(slots[i].thread, NULL);
	all_gone = true;
	pthread_join(helpers[0], NULL);
	print_truth();
	return 0;
}
