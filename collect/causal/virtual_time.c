// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/virtual_time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/error.h"
#include "bpf/record.skel.h"

#define DEFAULT_SIGNAL	  32	 /* SIGCANCEL: sigfillset() and pthread_sigmask() leave it out */
#define DEFAULT_MIN_PAUSE 100000 /* BCOZ skips less, too */
#define DESCRIPTOR	  900	 /* above those that programs give to files by number */
#define LIBRARY		  "libdwell.so"

struct engine {
	struct probes_causal probes;
	struct causal_area *area;
	struct record_bpf *skeleton; /* the probes' */
	struct causal_range *ranges; /* the map of the kernel side, mapped */
	ARRAY(struct bpf_link *) visits;
	ARRAY(int) breakpoints;
};

static size_t page_up(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

/* Where the library lies: beside the program, or where `make install` puts it. */
static int find_library(char path[PATH_MAX])
{
	static const char *const places[] = {"", "../lib/dwell/", "../lib/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return error__errno(-errno, "cannot find out where dwell is");
	self[n] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char tried[2 * PATH_MAX];

		snprintf(tried, sizeof(tried), "%s%s" LIBRARY, self, places[i]);
		if (realpath(tried, path))
			return 0;
	}
	error__set(-ENOENT, "cannot find " LIBRARY ", which pauses the program's threads");
	error__hint("it belongs beside dwell (%s) or into ../lib/dwell from there: make install",
		    self);
	return -ENOENT;
}

/* What the command will find in its environment. */
static int set_environment(const struct engine *engine)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], preload[2 * PATH_MAX], number[16];
	int err = find_library(path);

	if (err)
		return err;
	if (strpbrk(path, " :"))
		return error__set(-EINVAL,
				  "the path of %s holds a space or a colon, which "
				  "LD_PRELOAD cannot name",
				  path);
	snprintf(preload, sizeof(preload), "%s%s%s", path, others && *others ? ":" : "",
		 others ? others : "");
	snprintf(number, sizeof(number), "%d", engine->probes.area);
	if (setenv("LD_PRELOAD", preload, 1) || setenv(CAUSAL_ENVIRONMENT, number, 1) ||
	    setenv(DWELL_POINTS_ENVIRONMENT, number, 1))
		return -ENOMEM;
	return 0;
}

static void fill_area(struct causal_area *area, uint32_t signal)
{
	area->points.magic = DWELL_POINTS_MAGIC;
	area->points.version = DWELL_POINTS_VERSION;
	area->points.size = sizeof(area->points);
	area->magic = CAUSAL_MAGIC;
	area->version = CAUSAL_VERSION;
	area->signal = signal;
	area->size = sizeof(*area);
	area->epoch = 1;
}

/* The program inherits the descriptor, over every exec; its number is out of the way. */
static int make_area(struct engine *engine)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t size = sizeof(struct causal_area);
	struct causal_area *area;
	struct rlimit limit = {};
	_cleanup_close_ int fd = -1;
	int at = DESCRIPTOR;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "dwell_causal", sizeof(uint32_t), (uint32_t)size, 1,
			    &options);
	if (fd < 0) {
		int err = error__errno(-errno,
				       "cannot create the memory that is shared with the program");

		error__hint("causal profiling needs CAP_BPF and CAP_PERFMON. Run with sudo.");
		return err;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur <= DESCRIPTOR + 8)
		at = (int)limit.rlim_cur / 2;
	engine->probes.area = fcntl(fd, F_DUPFD, at);
	if (engine->probes.area < 0)
		return error__errno(-errno, "cannot keep a descriptor for the program");
	area = mmap(NULL, page_up(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		return error__errno(-errno,
				    "cannot map the memory that is shared with the program");
	engine->area = area;
	fill_area(area, engine->probes.signal);
	return 0;
}

int engine__new(const struct engine_config *config, struct engine **out)
{
	_cleanup_(engine__freep) struct engine *engine = calloc(1, sizeof(*engine));
	int err;

	if (!engine)
		return -ENOMEM;
	engine->probes = (struct probes_causal){
		.area = -1,
		.signal = config->signal ? config->signal : DEFAULT_SIGNAL,
		.min_pause_ns = config->min_pause_ns ? config->min_pause_ns : DEFAULT_MIN_PAUSE,
	};
	err = make_area(engine);
	if (err)
		return err;
	err = set_environment(engine);
	if (err)
		return err;
	*out = TAKE_PTR(engine);
	return 0;
}

const struct probes_causal *engine__probes(const struct engine *engine)
{
	return &engine->probes;
}

static size_t ranges_size(void)
{
	return page_up(CAUSAL_ALL_RANGES * sizeof(struct causal_range));
}

int engine__use(struct engine *engine, struct probes *probes)
{
	struct record_bpf *skeleton = probes__skeleton(probes);
	void *ranges;

	engine->skeleton = skeleton;
	ranges = mmap(NULL, ranges_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(skeleton->maps.causal_ranges), 0);
	if (ranges == MAP_FAILED)
		return error__errno(-errno, "cannot map the code that is sped up");
	engine->ranges = ranges;
	return 0;
}

/* Stacks are walked as far as any target needs them, and one that matches by @match from now on. */
static void take_stacks_for(struct engine *engine, enum causal_match match)
{
	struct record_bpf__bss *bss = engine->skeleton->bss;
	bool whole = match == CAUSAL_MATCH_STACK;

	for (size_t i = 0; i < CAUSAL_TARGETS; i++)
		whole |= bss->causal_targets[i].match == CAUSAL_MATCH_STACK;
	__atomic_store_n(&bss->causal_whole_stacks, whole, __ATOMIC_SEQ_CST);
}

int engine__set_target(struct engine *engine, uint32_t index, const struct engine_target *target)
{
	struct causal_target_state *state = &engine->skeleton->bss->causal_targets[index];

	if (target->n_ranges > CAUSAL_RANGES || target->n_callers > CAUSAL_RANGES)
		return -E2BIG;
	state->speedup = 0;
	__atomic_store_n(&state->match, CAUSAL_MATCH_NOTHING, __ATOMIC_SEQ_CST);
	if (target->n_ranges)
		memcpy(&engine->ranges[CAUSAL_RANGES_OF(index)], target->ranges,
		       target->n_ranges * sizeof(*target->ranges));
	if (target->n_callers)
		memcpy(&engine->ranges[CAUSAL_CALLERS_OF(index)], target->callers,
		       target->n_callers * sizeof(*target->callers));
	state->n_ranges = (uint32_t)target->n_ranges;
	state->n_callers = (uint32_t)target->n_callers;
	state->class = target->class;
	state->kinds[0] = target->kinds[0];
	state->kinds[1] = target->kinds[1];
	take_stacks_for(engine, target->match);
	__atomic_store_n(&state->match, target->match, __ATOMIC_SEQ_CST);
	return 0;
}

int engine__tell_kinds(struct engine *engine, const struct causal_kind_row *rows, size_t n,
		       uint8_t (*of_call)(int nr))
{
	struct record_bpf__bss *bss = engine->skeleton->bss;

	if (n > CAUSAL_KIND_ROWS)
		return -E2BIG;
	memcpy(bss->causal_kind_rows, rows, n * sizeof(*rows));
	for (size_t i = 0; i < ARRAY_SIZE(bss->causal_kind_of_call); i++)
		bss->causal_kind_of_call[i] = of_call((int)i);
	bss->causal_n_kind_rows = (uint32_t)n;
	__atomic_store_n(&bss->causal_kinds_wanted, 1, __ATOMIC_SEQ_CST);
	return 0;
}

void engine__speed_up(struct engine *engine, uint32_t index, double speedup)
{
	__atomic_store_n(&engine->skeleton->bss->causal_targets[index].speedup,
			 (uint32_t)(speedup * CAUSAL_WHOLE + 0.5), __ATOMIC_SEQ_CST);
}

uint64_t engine__hits(const struct engine *engine, uint32_t index)
{
	return __atomic_load_n(&engine->skeleton->bss->causal_targets[index].hit_ns,
			       __ATOMIC_RELAXED);
}

void engine__settle(struct engine *engine, uint64_t ns)
{
	__atomic_store_n(&engine->skeleton->bss->causal_settle, ns, __ATOMIC_SEQ_CST);
}

void engine__forgive(struct engine *engine)
{
	__atomic_fetch_add(&engine->area->epoch, 1, __ATOMIC_SEQ_CST);
}

void engine__end(struct engine *engine)
{
	__atomic_store_n(&engine->area->ended, 1, __ATOMIC_SEQ_CST);
}

void engine__set_scope(struct engine *engine, uint32_t slot, bool in_scope)
{
	engine->skeleton->bss->causal_scope[slot & (UNWIND_MAX_TABLES - 1)] = in_scope;
}

int engine__set_out_of_scope(struct engine *engine, const struct causal_range *ranges, size_t n)
{
	uint32_t *in_use = &engine->skeleton->bss->causal_n_out;

	if (n > CAUSAL_OUT_RANGES)
		return -E2BIG;
	__atomic_store_n(in_use, 0, __ATOMIC_SEQ_CST);
	memcpy(&engine->ranges[CAUSAL_OUT_OF_SCOPE], ranges, n * sizeof(*ranges));
	__atomic_store_n(in_use, (uint32_t)n, __ATOMIC_SEQ_CST);
	return 0;
}

uint64_t engine__candidate(struct engine *engine)
{
	uint64_t found =
		__atomic_exchange_n(&engine->skeleton->bss->causal_candidate, 0, __ATOMIC_SEQ_CST);

	__atomic_store_n(&engine->skeleton->bss->causal_candidates_ns, 0, __ATOMIC_SEQ_CST);
	return found;
}

void engine__look(const struct engine *engine, struct causal_look *look)
{
	const struct causal_look *from = &engine->skeleton->bss->causal_look;
	uint64_t round;

	for (int i = 0; i < 1000; i++) {
		round = __atomic_load_n(&from->round, __ATOMIC_ACQUIRE);
		memcpy(look, from, sizeof(*look));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(round & 1) && __atomic_load_n(&from->round, __ATOMIC_RELAXED) == round)
			return;
	}
}

uint32_t engine__points(const struct engine *engine)
{
	uint32_t n = __atomic_load_n(&engine->area->points.claimed, __ATOMIC_ACQUIRE);

	return n < DWELL_POINTS ? n : DWELL_POINTS;
}

const struct dwell_point *engine__point(const struct engine *engine, uint32_t number)
{
	return &engine->area->points.point[number];
}

uint64_t engine__visits(const struct engine *engine, uint32_t number)
{
	const struct dwell_point *point = engine__point(engine, number);
	uint64_t visits = 0;

	for (size_t i = 0; i < DWELL_COUNTS; i++)
		visits += __atomic_load_n(&point->count[i].count, __ATOMIC_RELAXED);
	return visits;
}

int engine__claim_point(struct engine *engine, enum dwell_point_type type, const char *name)
{
	uint32_t number = __atomic_fetch_add(&engine->area->points.claimed, 1, __ATOMIC_RELAXED);
	struct dwell_point *point;

	if (number >= DWELL_POINTS)
		return -ENOSPC;
	point = &engine->area->points.point[number];
	point->type = type;
	snprintf(point->name, sizeof(point->name), "%s", name);
	__atomic_store_n(&point->named, 1, __ATOMIC_RELEASE);
	return (int)number;
}

int engine__count_by_uprobe(struct engine *engine, const char *path, uint64_t offset,
			    uint64_t semaphore, uint32_t number)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = number, .ref_ctr_offset = semaphore);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(
		engine->skeleton->progs.on_visit_uprobe, -1, path, offset, &options);

	if (!link)
		return -errno;
	return array__push(&engine->visits, link);
}

int engine__count_by_breakpoint(struct engine *engine, pid_t tid, uint64_t address, uint32_t number)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct bpf_link *link;
	int fd, err;

	err = bpf_map__update_elem(engine->skeleton->maps.causal_breaks, &address, sizeof(address),
				   &number, sizeof(number), BPF_ANY);
	if (err)
		return err;
	fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (array__push(&engine->breakpoints, fd))
		return close(fd), -ENOMEM;
	link = bpf_program__attach_perf_event(engine->skeleton->progs.on_visit_breakpoint, fd);
	if (!link)
		return -errno;
	return array__push(&engine->visits, link);
}

uint64_t engine__global(const struct engine *engine)
{
	return __atomic_load_n(&engine->area->global, __ATOMIC_RELAXED);
}

void engine__counts(const struct engine *engine, struct engine_counts *counts)
{
	const struct record_bpf__bss *bss = engine->skeleton->bss;

	*counts = (struct engine_counts){
		.global_ns = engine__global(engine),
		.sampled_ns = bss->causal_sampled_ns,
		.pauses = bss->causal_pauses,
		.paused_ns = bss->causal_paused_ns,
		.places_lost = bss->causal_places_lost,
	};
	for (size_t cpu = 0; cpu < ARRAY_SIZE(bss->cpu_counts); cpu++)
		for (int i = 0; i < CLASS_COUNT; i++)
			counts->class_ns[i] += bss->cpu_counts[cpu].class_ns[i];
	for (int i = 0; i < CAUSAL_UNPAUSED; i++) {
		counts->unpaused[i] = bss->causal_unpaused[i];
		counts->unpaused_tid[i] = bss->causal_unpaused_tid[i];
	}
	for (uint32_t i = 0; i < CAUSAL_SLOTS; i++) {
		const struct causal_slot *slot = &engine->area->slot[i];

		counts->pauses += slot->tid ? slot->pauses : 0;
		counts->paused_ns += slot->tid ? slot->paused_ns : 0;
	}
}

void engine__places(const struct engine *engine,
		    void (*place)(void *arg, uint64_t code, uint64_t ns), void *arg)
{
	int fd = bpf_map__fd(engine->skeleton->maps.causal_places);
	uint64_t code, ns;
	uint64_t *before = NULL;

	while (!bpf_map_get_next_key(fd, before, &code)) {
		if (!bpf_map_lookup_elem(fd, &code, &ns))
			place(arg, code, ns);
		before = &code;
	}
}

void engine__free(struct engine *engine)
{
	if (!engine)
		return;
	for (size_t i = 0; i < engine->visits.n; i++)
		bpf_link__destroy(engine->visits.data[i]);
	for (size_t i = 0; i < engine->breakpoints.n; i++)
		close(engine->breakpoints.data[i]);
	array__free(&engine->visits);
	array__free(&engine->breakpoints);
	if (engine->ranges)
		munmap(engine->ranges, ranges_size());
	if (engine->area)
		munmap(engine->area, page_up(sizeof(*engine->area)));
	if (engine->probes.area >= 0)
		close(engine->probes.area);
	free(engine);
}
