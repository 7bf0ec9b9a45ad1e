// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/virtual_time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/error.h"
#include "arch/syscalls.h"
#include "bpf/causal.skel.h"
#include "collect/causal/uprobe_cost.h"
#include "collect/probes/breakpoint.h"
#include "wait_kinds/kind_clues.h"

#define DEFAULT_SIGNAL	  32	 /* SIGCANCEL: sigfillset() and pthread_sigmask() leave it out */
#define DEFAULT_MIN_PAUSE 100000 /* as BCOZ */
#define DESCRIPTOR	  900	 /* programs rarely use numbers this high themselves */
#define LIBRARY		  "libdwell.so"

struct virtual_time {
	uint32_t signal;
	uint64_t min_pause_ns;
	int area_fd;
	struct causal_area *area;
	uint16_t syscall_points[CAPTURE_SYSCALLS]; /* number of the point + 1; 0: none */
	struct causal_bpf *skeleton; /* NULL: the capture has not loaded it, or has closed it */
	struct causal_range *ranges; /* its map causal_ranges */
	ARRAY(struct bpf_link *) visits;
	ARRAY(int) breakpoints;
};

static size_t page_up(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

/* Finds libdwell.so: beside dwell, or where `make install` puts it. */
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
	error__hint("it must be beside dwell (in %s) or in ../lib/dwell from there: make install",
		    self);
	return -ENOENT;
}

/*
 * libdwell.so is loaded before everything else, where AddressSanitizer's library wants to be. That
 * is a precaution against libraries that allocate memory before it, which libdwell.so does not.
 */
static int allow_before_sanitizer(void)
{
	const char *options = getenv("ASAN_OPTIONS");
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, "%s%sverify_asan_link_order=0", options ? options : "",
		     options && *options ? ":" : "") < 0)
		return -ENOMEM;
	return setenv("ASAN_OPTIONS", text, 1) ? -ENOMEM : 0;
}

/* Sets the environment of commands started from now on. */
static int set_environment(const struct virtual_time *vtime)
{
	const char *preloaded = getenv("LD_PRELOAD");
	char path[PATH_MAX], preload[2 * PATH_MAX], number[16];
	int err = find_library(path);

	if (err)
		return err;
	if (strpbrk(path, " :"))
		return error__set(-EINVAL,
				  "the path of %s contains a space or a colon, which "
				  "LD_PRELOAD does not allow",
				  path);
	snprintf(preload, sizeof(preload), "%s%s%s", path, preloaded && *preloaded ? ":" : "",
		 preloaded ? preloaded : "");
	snprintf(number, sizeof(number), "%d", vtime->area_fd);
	if (setenv("LD_PRELOAD", preload, 1) || setenv(CAUSAL_ENVIRONMENT, number, 1) ||
	    setenv(DWELL_POINTS_ENVIRONMENT, number, 1))
		return -ENOMEM;
	return allow_before_sanitizer();
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

/* Makes the shared memory. The program inherits its descriptor, also over execve(). */
static int make_area(struct virtual_time *vtime)
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
	vtime->area_fd = fcntl(fd, F_DUPFD, at);
	if (vtime->area_fd < 0)
		return error__errno(-errno, "cannot keep a descriptor for the program");
	area = mmap(NULL, page_up(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		return error__errno(-errno,
				    "cannot map the memory that is shared with the program");
	vtime->area = area;
	fill_area(area, vtime->signal);
	return 0;
}

int virtual_time__new(const struct virtual_time_config *config, struct virtual_time **out)
{
	_cleanup_(virtual_time__freep) struct virtual_time *vtime = calloc(1, sizeof(*vtime));
	int err;

	if (!vtime)
		return -ENOMEM;
	vtime->area_fd = -1;
	vtime->signal = config->signal ? config->signal : DEFAULT_SIGNAL;
	vtime->min_pause_ns = config->min_pause_ns ? config->min_pause_ns : DEFAULT_MIN_PAUSE;
	err = make_area(vtime);
	if (err)
		return err;
	err = set_environment(vtime);
	if (err)
		return err;
	*out = TAKE_PTR(vtime);
	return 0;
}

static size_t ranges_size(void)
{
	return page_up(CAUSAL_ALL_RANGES * sizeof(struct causal_range));
}

static void configure(const struct virtual_time *vtime)
{
	static const struct {
		const char *name;
		uint8_t wait; /* enum causal_syscall_wait */
	} waits[] = {
		{"io_getevents", CAUSAL_SYSCALL_IO},  {"io_pgetevents", CAUSAL_SYSCALL_IO},
		{"io_submit", CAUSAL_SYSCALL_SUBMIT}, {"io_uring_enter", CAUSAL_SYSCALL_RING},
		{"nanosleep", CAUSAL_SYSCALL_SLEEP},  {"clock_nanosleep", CAUSAL_SYSCALL_DEADLINE},
	};
	struct causal_bpf *skeleton = vtime->skeleton;
	struct causal_syscall *calls = skeleton->rodata->causal_syscalls;

	skeleton->rodata->causal_signal = vtime->signal;
	skeleton->rodata->causal_min_pause = vtime->min_pause_ns;
	skeleton->rodata->causal_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	for (int i = 0; i < CAPTURE_SYSCALLS; i++) {
		calls[i].sends = syscalls__sends(i);
		calls[i].point = vtime->syscall_points[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		int nr = syscalls__number(waits[i].name);

		if (nr >= 0 && nr < CAPTURE_SYSCALLS)
			calls[nr].wait = waits[i].wait;
	}
	bpf_program__set_autoattach(skeleton->progs.on_visit_uprobe, false);
	bpf_program__set_autoattach(skeleton->progs.on_visit_breakpoint, false);
}

static int open_object(void *arg, const struct kernel_info *kernel,
		       const struct bpf_object_open_opts *options, struct bpf_object_skeleton **out)
{
	struct virtual_time *vtime = arg;

	if (!kernel->bpf_loop) {
		error__set(-ENOTSUP, "causal profiling needs Linux 5.17 or later");
		error__hint(
			"this kernel has no loops for BPF programs (bpf_loop), so stacks cannot\n"
			"be walked at each sample; dwell record works here");
		return -ENOTSUP;
	}
	vtime->skeleton = causal_bpf__open_opts(options);
	if (!vtime->skeleton)
		return -errno;
	configure(vtime);
	*out = vtime->skeleton->skeleton;
	return bpf_map__reuse_fd(vtime->skeleton->maps.causal_areas, vtime->area_fd);
}

static void close_object(void *arg)
{
	struct virtual_time *vtime = arg;

	if (vtime->ranges)
		munmap(vtime->ranges, ranges_size());
	vtime->ranges = NULL;
	causal_bpf__destroy(vtime->skeleton);
	vtime->skeleton = NULL;
}

struct loader_object virtual_time__object(struct virtual_time *vtime)
{
	return (struct loader_object){.elf = causal_bpf__elf_bytes,
				      .open = open_object,
				      .close = close_object,
				      .arg = vtime};
}

int virtual_time__map_ranges(struct virtual_time *vtime)
{
	void *ranges = mmap(NULL, ranges_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_map__fd(vtime->skeleton->maps.causal_ranges), 0);

	if (ranges == MAP_FAILED)
		return error__errno(-errno, "cannot map the ranges of code that is sped up");
	vtime->ranges = ranges;
	return 0;
}

/* Has stacks walked as far as needed for the present targets, and for a new one with @match. */
static void set_stack_depth(struct virtual_time *vtime, enum causal_match match)
{
	struct causal_bpf__bss *bss = vtime->skeleton->bss;
	bool whole = match == CAUSAL_MATCH_STACK;

	for (size_t i = 0; i < CAUSAL_TARGETS; i++)
		whole |= bss->causal_targets[i].match == CAUSAL_MATCH_STACK;
	__atomic_store_n(&bss->causal_whole_stacks, whole, __ATOMIC_SEQ_CST);
}

int virtual_time__set_target(struct virtual_time *vtime, uint32_t index,
			     const struct virtual_time_target *target)
{
	struct causal_target_state *state = &vtime->skeleton->bss->causal_targets[index];

	if (target->n_ranges > CAUSAL_RANGES || target->n_callers > CAUSAL_RANGES)
		return error__set(-E2BIG, "'%s' is code at more than %lu places", target->name,
				  CAUSAL_RANGES);
	state->speedup = 0;
	__atomic_store_n(&state->match, CAUSAL_MATCH_NOTHING, __ATOMIC_SEQ_CST);
	if (target->n_ranges)
		memcpy(&vtime->ranges[CAUSAL_RANGES_OF(index)], target->ranges,
		       target->n_ranges * sizeof(*target->ranges));
	if (target->n_callers)
		memcpy(&vtime->ranges[CAUSAL_CALLERS_OF(index)], target->callers,
		       target->n_callers * sizeof(*target->callers));
	state->n_ranges = (uint32_t)target->n_ranges;
	state->n_callers = (uint32_t)target->n_callers;
	state->class = target->class;
	state->kinds = target->kinds;
	set_stack_depth(vtime, target->match);
	__atomic_store_n(&state->match, target->match, __ATOMIC_SEQ_CST);
	return 0;
}

int virtual_time__set_kinds(struct virtual_time *vtime, const struct kind_range *ranges, size_t n)
{
	struct causal_bpf__bss *bss = vtime->skeleton->bss;

	if (n > KIND_RANGES_MAX)
		return -E2BIG;
	if (n)
		memcpy(bss->kind_ranges, ranges, n * sizeof(*ranges));
	for (size_t i = 0; i < ARRAY_SIZE(bss->kind_by_syscall); i++)
		bss->kind_by_syscall[i] = (uint8_t)kind_syscall__kind(NULL, (int)i);
	bss->kind_n_ranges = (uint32_t)n;
	__atomic_store_n(&bss->causal_kinds_wanted, 1, __ATOMIC_SEQ_CST);
	return 0;
}

void virtual_time__speed_up(struct virtual_time *vtime, uint32_t index, double speedup)
{
	__atomic_store_n(&vtime->skeleton->bss->causal_targets[index].speedup,
			 (uint32_t)(speedup * CAUSAL_WHOLE + 0.5), __ATOMIC_SEQ_CST);
}

uint64_t virtual_time__hits(const struct virtual_time *vtime, uint32_t index)
{
	return __atomic_load_n(&vtime->skeleton->bss->causal_targets[index].hit_ns,
			       __ATOMIC_RELAXED);
}

void virtual_time__test_pauses(struct virtual_time *vtime, bool tested, double share)
{
	struct causal_bpf__bss *bss = vtime->skeleton->bss;

	__atomic_store_n(&bss->causal_pause_tested, tested, __ATOMIC_RELAXED);
	__atomic_store_n(&bss->causal_pause_share, (uint32_t)(share * CAUSAL_WHOLE + 0.5),
			 __ATOMIC_SEQ_CST);
}

uint64_t virtual_time__in_flight(const struct virtual_time *vtime)
{
	return __atomic_load_n(&vtime->skeleton->bss->causal_in_flight_ns, __ATOMIC_RELAXED);
}

void virtual_time__outside(const struct virtual_time *vtime, uint64_t ns[CAUSAL_WAITS])
{
	for (int i = 0; i < CAUSAL_WAITS; i++)
		ns[i] = __atomic_load_n(&vtime->skeleton->bss->causal_outside_ns[i],
					__ATOMIC_RELAXED);
}

void virtual_time__settle(struct virtual_time *vtime, uint64_t ns)
{
	__atomic_store_n(&vtime->skeleton->bss->causal_settle, ns, __ATOMIC_SEQ_CST);
}

void virtual_time__forgive(struct virtual_time *vtime)
{
	__atomic_fetch_add(&vtime->area->epoch, 1, __ATOMIC_SEQ_CST);
}

void virtual_time__disable_pauses(struct virtual_time *vtime)
{
	__atomic_store_n(&vtime->area->ended, 1, __ATOMIC_SEQ_CST);
}

void virtual_time__set_scope(struct virtual_time *vtime, uint32_t slot, bool in_scope)
{
	vtime->skeleton->bss->causal_scope[slot & (UNWIND_MAX_TABLES - 1)] = in_scope;
}

int virtual_time__set_out_of_scope(struct virtual_time *vtime, const struct causal_range *ranges,
				   size_t n)
{
	uint32_t *in_use = &vtime->skeleton->bss->causal_n_excluded;

	if (n > CAUSAL_OUT_RANGES)
		return -E2BIG;
	__atomic_store_n(in_use, 0, __ATOMIC_SEQ_CST);
	memcpy(&vtime->ranges[CAUSAL_OUT_OF_SCOPE], ranges, n * sizeof(*ranges));
	__atomic_store_n(in_use, (uint32_t)n, __ATOMIC_SEQ_CST);
	return 0;
}

uint64_t virtual_time__candidate(struct virtual_time *vtime)
{
	uint64_t found =
		__atomic_exchange_n(&vtime->skeleton->bss->causal_candidate, 0, __ATOMIC_SEQ_CST);

	__atomic_store_n(&vtime->skeleton->bss->causal_candidates_ns, 0, __ATOMIC_SEQ_CST);
	return found;
}

void virtual_time__read_points(const struct virtual_time *vtime, struct causal_look *look)
{
	const struct causal_look *from = &vtime->skeleton->bss->causal_look;
	uint64_t round;

	for (int i = 0; i < 1000; i++) {
		round = __atomic_load_n(&from->round, __ATOMIC_ACQUIRE);
		memcpy(look, from, sizeof(*look));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(round & 1) && __atomic_load_n(&from->round, __ATOMIC_RELAXED) == round)
			return;
	}
}

uint32_t virtual_time__points(const struct virtual_time *vtime)
{
	uint32_t n = __atomic_load_n(&vtime->area->points.claimed, __ATOMIC_ACQUIRE);

	return n < DWELL_POINTS ? n : DWELL_POINTS;
}

const struct dwell_point *virtual_time__point(const struct virtual_time *vtime, uint32_t number)
{
	return &vtime->area->points.point[number];
}

uint64_t virtual_time__visits(const struct virtual_time *vtime, uint32_t number)
{
	const struct dwell_point *point = virtual_time__point(vtime, number);
	uint64_t visits = 0;

	for (size_t i = 0; i < DWELL_COUNTS; i++)
		visits += __atomic_load_n(&point->count[i].count, __ATOMIC_RELAXED);
	return visits;
}

int virtual_time__claim_point(struct virtual_time *vtime, enum dwell_point_type type,
			      const char *name)
{
	uint32_t number = __atomic_fetch_add(&vtime->area->points.claimed, 1, __ATOMIC_RELAXED);
	struct dwell_point *point;

	if (number >= DWELL_POINTS)
		return -ENOSPC;
	point = &vtime->area->points.point[number];
	point->type = type;
	snprintf(point->name, sizeof(point->name), "%s", name);
	__atomic_store_n(&point->named, 1, __ATOMIC_RELEASE);
	return (int)number;
}

int virtual_time__count_syscall(struct virtual_time *vtime, uint32_t nr, uint32_t number)
{
	if (nr >= CAPTURE_SYSCALLS || number >= DWELL_POINTS)
		return -EINVAL;
	vtime->syscall_points[nr] = (uint16_t)(number + 1);
	return 0;
}

int virtual_time__count_by_uprobe(struct virtual_time *vtime, const char *path, uint64_t offset,
				  uint64_t semaphore, uint32_t number)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = number, .ref_ctr_offset = semaphore);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(
		vtime->skeleton->progs.on_visit_uprobe, -1, path, offset, &options);

	if (!link)
		return -errno;
	return array__push(&vtime->visits, link);
}

uint64_t virtual_time__uprobe_cost(struct virtual_time *vtime, bool single_stepped)
{
	return uprobe_cost__measure(vtime->skeleton->progs.on_visit_uprobe, single_stepped);
}

int virtual_time__count_by_breakpoint(struct virtual_time *vtime, pid_t tid, uint64_t address,
				      uint32_t number)
{
	struct bpf_link *link;
	int fd, err;

	if (!breakpoint__is_delivered())
		return -EOPNOTSUPP;
	err = bpf_map__update_elem(vtime->skeleton->maps.causal_breakpoints, &address,
				   sizeof(address), &number, sizeof(number), BPF_ANY);
	if (err)
		return err;
	fd = breakpoint__open(tid, address);
	if (fd < 0)
		return fd;
	if (array__push(&vtime->breakpoints, fd))
		return close(fd), -ENOMEM;
	link = bpf_program__attach_perf_event(vtime->skeleton->progs.on_visit_breakpoint, fd);
	if (!link)
		return -errno;
	return array__push(&vtime->visits, link);
}

uint64_t virtual_time__global(const struct virtual_time *vtime)
{
	return __atomic_load_n(&vtime->area->global, __ATOMIC_RELAXED);
}

void virtual_time__counts(const struct virtual_time *vtime, struct virtual_time_counts *counts)
{
	const struct causal_bpf__bss *bss = vtime->skeleton->bss;

	*counts = (struct virtual_time_counts){
		.global_ns = virtual_time__global(vtime),
		.sampled_ns = bss->causal_sampled_ns,
		.pauses = bss->causal_pauses,
		.places_lost = bss->causal_places_lost,
	};
	for (size_t cpu = 0; cpu < ARRAY_SIZE(bss->causal_counts); cpu++)
		for (int i = 0; i < CLASS_COUNT; i++)
			counts->class_ns[i] += bss->causal_counts[cpu].class_ns[i];
	for (int i = 0; i < CAUSAL_UNPAUSED; i++) {
		counts->unpaused[i] = bss->causal_unpaused[i];
		counts->unpaused_tid[i] = bss->causal_unpaused_tid[i];
	}
	for (uint32_t i = 0; i < CAUSAL_SLOTS; i++) {
		const struct causal_slot *slot = &vtime->area->slot[i];

		counts->pauses += slot->tid ? slot->pauses : 0;
	}
}

void virtual_time__places(const struct virtual_time *vtime,
			  void (*place)(void *arg, uint64_t code, uint64_t ns), void *arg)
{
	int fd = bpf_map__fd(vtime->skeleton->maps.causal_places);
	uint64_t code, ns;
	uint64_t *before = NULL;

	while (!bpf_map_get_next_key(fd, before, &code)) {
		if (!bpf_map_lookup_elem(fd, &code, &ns))
			place(arg, code, ns);
		before = &code;
	}
}

void virtual_time__free(struct virtual_time *vtime)
{
	if (!vtime)
		return;
	for (size_t i = 0; i < vtime->visits.n; i++)
		bpf_link__destroy(vtime->visits.data[i]);
	for (size_t i = 0; i < vtime->breakpoints.n; i++)
		close(vtime->breakpoints.data[i]);
	array__free(&vtime->visits);
	array__free(&vtime->breakpoints);
	if (vtime->area)
		munmap(vtime->area, page_up(sizeof(*vtime->area)));
	if (vtime->area_fd >= 0)
		close(vtime->area_fd);
	free(vtime);
}
