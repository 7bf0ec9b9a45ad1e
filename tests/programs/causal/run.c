/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/causal/run.h"

#include <sys/mman.h>

#define WARM_UP_NS (300 * NS_PER_MS)
#define NAP_NS	   (400 * NS_PER_US)
#define BLOCK_NS   (150 * NS_PER_MS)
#define SETTLE_NS  (40 * NS_PER_MS)

struct options options = {
	.seconds = 3,
	.dir = "/var/tmp",
};

struct run *run;
struct target other_target = {.name = "other", .class = "other"};

int target__max(const struct target *target)
{
	return target->max ? target->max : 100;
}

int target__percent_left(const struct target *target)
{
	if (target->curve)
		return 100 - __atomic_load_n(&run->scale, __ATOMIC_RELAXED);
	return 100 - target->scale;
}

uint64_t target__loops(const struct target *target, uint64_t us)
{
	return us * NS_PER_US / options.ns_per_loop * target__percent_left(target) / 100;
}

int target__part(const struct target *target, int n)
{
	return (n * target__percent_left(target) + 50) / 100;
}

void scaled_sleep(uint64_t ns)
{
	ns = ns * target__percent_left(&other_target) / 100;
	sleep_ns(ns ? ns : 1);
}

SEPARATE void nap(int times)
{
	for (int i = 0; i < times; i++)
		scaled_sleep(NAP_NS);
	NO_TAIL_CALL();
}

uint64_t randomized(uint64_t us)
{
	static __thread uint64_t random;

	if (!random)
		random = 88172645463325252ull ^ (uintptr_t)&random;
	return draw(&random, us / 2, us + us / 2);
}

static bool advance_phase(enum phase from, enum phase to)
{
	return __atomic_compare_exchange_n(&run->phase, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void set_phase(enum phase phase)
{
	__atomic_store_n(&run->phase, phase, __ATOMIC_RELEASE);
}

static enum phase current_phase(void)
{
	return __atomic_load_n(&run->phase, __ATOMIC_ACQUIRE);
}

bool run__over(void)
{
	return current_phase() == OVER;
}

/* The counts up to now. */
static struct block counts(void)
{
	return (struct block){
		.visits = __atomic_load_n(&run->visits, __ATOMIC_RELAXED),
		.latency_ns = __atomic_load_n(&run->latency_ns, __ATOMIC_RELAXED),
		.latencies = __atomic_load_n(&run->latencies, __ATOMIC_RELAXED),
	};
}

static void begin_block(uint64_t now)
{
	run->began = now;
	if (!run->end)
		run->end = now + options.seconds * NS_PER_S;
	run->before = counts();
	set_phase(MEASURING);
}

/* A new random order for the cycle. */
static void shuffle_scales(void)
{
	for (int i = run->n_scales - 1; i > 0; i--) {
		int k = draw(&run->random, 0, i);
		int scale = run->scales[i];

		run->scales[i] = run->scales[k];
		run->scales[k] = scale;
	}
}

/* The next scale of the curve. Returns true when the run is over. */
static bool choose_scale(uint64_t now)
{
	if (run->next_scale == run->n_scales) {
		if (!run->n_scales || now >= run->end || run->n_blocks + run->n_scales > BLOCKS_MAX)
			return true;
		run->next_scale = 0;
		run->cycle++;
	}
	if (!run->next_scale)
		shuffle_scales();
	__atomic_store_n(&run->scale, run->scales[run->next_scale++], __ATOMIC_RELAXED);
	return false;
}

static void end_block(uint64_t now)
{
	const struct block *before = &run->before;
	struct block block = counts();

	block.scale = run->scale;
	block.ns = now - run->began;
	block.visits -= before->visits;
	block.latency_ns -= before->latency_ns;
	block.latencies -= before->latencies;
	run->blocks[run->n_blocks++] = block;
	if (choose_scale(now)) {
		set_phase(OVER);
		sem_post(&run->over);
		return;
	}
	run->settled = now + run->settle_ns;
	if (run->settle_ns)
		set_phase(SETTLING);
	else
		begin_block(now);
}

static bool block_is_long_enough(uint64_t now, uint64_t visits)
{
	if (options.rounds)
		return visits - run->before.visits >= options.rounds;
	return now - run->began >= run->block_ns;
}

void run__count_visit(bool border)
{
	uint64_t visits = __atomic_add_fetch(&run->visits, 1, __ATOMIC_RELAXED);
	uint64_t now = wall_ns();
	enum phase phase = current_phase();

	if (!border)
		return;
	if (phase == SETTLING && now >= run->settled && advance_phase(SETTLING, BEGINNING))
		begin_block(now);
	else if (phase == MEASURING && block_is_long_enough(now, visits) &&
		 advance_phase(MEASURING, ENDING))
		end_block(now);
}

void run__count_latency(uint64_t begin)
{
	__atomic_fetch_add(&run->latency_ns, wall_ns() - begin, __ATOMIC_RELAXED);
	__atomic_fetch_add(&run->latencies, 1, __ATOMIC_RELAXED);
}

#define CHILDREN_MAX 8

static pid_t children[CHILDREN_MAX];
static int n_children;

void run__start_process(void (*body)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	children[n_children++] = pid;
}

void run__create(void)
{
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		die("mmap");
	sem_init(&run->over, true, 0);
	run->block_ns = options.seconds * NS_PER_S;
	run->settle_ns = SETTLE_NS;
	run->random = wall_ns() | 1;
}

void run__make_curve(struct target *target)
{
	static const int scales[SCALES_MAX] = {0, 0, 25, 50, 75, 100};
	int n = 0;

	for (int i = 0; i < SCALES_MAX && scales[i] <= target__max(target); i++)
		run->scales[n++] = scales[i];
	if (scales[n - 1] < target__max(target))
		run->scales[n++] = target__max(target);
	run->n_scales = n;
	run->block_ns = BLOCK_NS;
	target->curve = true;
}

void run__begin(void)
{
	run->settled = wall_ns() + WARM_UP_NS;
	if (run->n_scales)
		choose_scale(0);
}

void run__finish(void)
{
	while (sem_wait(&run->over))
		if (errno != EINTR)
			die("sem_wait");
	for (int i = 0; i < n_children; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

static void print_latency(const struct block *block)
{
	if (block->latencies)
		printf("%.0f", (double)block->latency_ns / block->latencies);
	else
		printf("null");
}

static void print_block(const struct block *block)
{
	printf("{\"scale\": %d, \"visits\": %" PRIu64 ", \"period_ns\": %.0f, \"latency_ns\": ",
	       block->scale, block->visits,
	       (double)block->ns / (block->visits ? block->visits : 1));
	print_latency(block);
	printf("}");
}

/* The sums of a curve include all scales. */
void run__print(const char *name, const char *point)
{
	struct block sum = {};

	printf("{\"case\": \"%s\"", name);
	for (int i = 0; i < run->n_blocks; i++) {
		const struct block *block = &run->blocks[i];

		sum.ns += block->ns;
		sum.visits += block->visits;
		sum.latency_ns += block->latency_ns;
		sum.latencies += block->latencies;
		if (!run->n_scales)
			continue;
		printf(i ? ", " : ", \"blocks\": [");
		print_block(block);
	}
	printf("%s, \"seconds\": %.6f, \"visits\": {\"%s\": %" PRIu64
	       "}, \"period_ns\": %.0f, \"latency_ns\": ",
	       run->n_scales ? "]" : "", (double)sum.ns / NS_PER_S, point, sum.visits,
	       (double)sum.ns / (sum.visits ? sum.visits : 1));
	print_latency(&sum);
	printf(", \"ns_per_loop\": %.5f, \"disk_reads\": %" PRIu64 "}\n", options.ns_per_loop,
	       run->disk_reads);
}
