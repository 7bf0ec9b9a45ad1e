// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/loader.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/syscalls.h"
#include "abi/delay_area.h"
#include "bpf/record.skel.h"
#include "collect/record/devices.h"
#include "collect/core/kernel.h"
#include "collect/core/task_walk.h"
#include "collect/core/clock_jitter.h"

#define MAX_RINGS 64
#define MAX_WALKS 16

/*
 * The ladder: where the stack of a thread that slept is taken, best first.
 * What a kernel does not offer, or refuses, leads to the next one.
 */
enum rung_kind { RUNG_SCHED_EXIT, RUNG_FEXIT, RUNG_KPROBE, RUNG_SWITCH_OUT, RUNG_COUNT };

static const char *const rung_names[RUNG_COUNT] = {
	[RUNG_SCHED_EXIT] = "sched_exit_tp",
	[RUNG_FEXIT] = "fexit",
	[RUNG_KPROBE] = "kprobe",
	[RUNG_SWITCH_OUT] = "switch-out",
};

struct probes {
	struct probes_config config;
	struct kernel_info kernel;
	enum rung_kind rung;
	struct record_bpf *skeleton;
	struct bpf_link *kprobe;
	struct probes_causal causal;
	struct ring_buffer *consumer;
	uint32_t n_rings;
	int rings[MAX_RINGS];
	ARRAY(int) clocks; /* perf events, one per CPU */
	ARRAY(struct bpf_link *) clock_links;
	struct tempo tempo;
	uint64_t grid_seed;
	struct kernel_counts machine; /* before it began to record, then while it did */
	uint64_t ended;		      /* threads, when it was last looked whether any are left */
	probes_event_fn on_event;
	void *arg;
	int consume_error;
};

/* The last warning of libbpf, which never prints here, and the verifier's verdict. */
static __thread char libbpf_said[256];
static __thread char verifier_said[256];

/* Of a log of thousands of lines the verdict is what stands before the statistics. */
static void remember_verdict(char *log)
{
	char *end = strstr(log, "\nverification time ");
	const char *name = strchr(log, '\'');
	char *line;

	if (!end)
		end = strstr(log, "\nprocessed ");
	if (!end || !name)
		return;
	*end = '\0';
	line = strrchr(log, '\n');
	snprintf(verifier_said, sizeof(verifier_said), "%.*s: %s", (int)strcspn(name + 1, "'"),
		 name + 1, line ? line + 1 : "");
}

static int remember_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, args) < 0)
		return 0;
	if (strstr(text, "BEGIN PROG LOAD LOG"))
		remember_verdict(text);
	else
		snprintf(libbpf_said, sizeof(libbpf_said), "%s", text);
	return 0;
}

static uint32_t random_number(void)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)clock();
	return random;
}

/* What failed when the kernel refused something, and what would mend it. */
static int refused(int err, const char *what)
{
	error__errno(err, "cannot %s", what);
	libbpf_said[strcspn(libbpf_said, "\n")] = '\0';
	/* -EACCES is also what the verifier says, to those who may. */
	if (err == -EPERM || (err == -EACCES && geteuid()))
		error__hint(
			"recording needs CAP_BPF and CAP_PERFMON, and CAP_SYS_PTRACE to see other\n"
			"users' processes. Run with sudo, or once:\n"
			"sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep /usr/local/bin/dwell");
	else if (*verifier_said)
		error__hint("dwell supports kernels from 5.15 on; this one's verifier refuses %s",
			    verifier_said);
	else if (*libbpf_said)
		error__hint("dwell supports kernels from 5.15 on; libbpf said: %s", libbpf_said);
	return err;
}

static void configure_engine(struct record_bpf *skeleton, const struct probes_causal *causal)
{
	size_t n = ARRAY_SIZE(skeleton->rodata->syscall_sends);

	skeleton->rodata->causal = true;
	skeleton->rodata->causal_signal = causal->signal;
	skeleton->rodata->causal_min_pause = causal->min_pause_ns;
	skeleton->rodata->causal_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	for (size_t i = 0; i < n; i++)
		skeleton->rodata->syscall_sends[i] = syscalls__sends((int)i);
}

static void configure(struct probes *probes)
{
	const struct probes_config *config = &probes->config;
	const struct kernel_info *kernel = &probes->kernel;
	struct record_bpf *skeleton = probes->skeleton;
	size_t n = ARRAY_SIZE(skeleton->rodata->syscall_takes_fd);

	skeleton->rodata->period_ns = config->period_ns;
	skeleton->rodata->grid_seed = probes->grid_seed;
	skeleton->rodata->trace_mode = config->trace;
	skeleton->rodata->use_tables = kernel->bpf_loop;
	skeleton->rodata->stack_at_switch_out = probes->rung == RUNG_SWITCH_OUT;
	skeleton->rodata->follow = config->follow;
	skeleton->rodata->helpers = config->helpers;
	skeleton->rodata->io_start_exists = kernel->io_start;
	skeleton->rodata->ring_mask = probes->n_rings - 1;
	skeleton->rodata->ring_wake_at = config->ring_bytes / 4;
	skeleton->rodata->own_tgid = (uint32_t)getpid();
	skeleton->rodata->command_tgid = (uint32_t)config->command;
	skeleton->rodata->preempt_count_from_rq = kernel->preempt_count_from_rq;
	for (int i = 0; i < 2; i++) {
		skeleton->rodata->schedule_range[i] = kernel->schedule_range[i];
		skeleton->rodata->wakeup_range[i] = kernel->wakeup_range[i];
	}
	for (size_t i = 0; i < n; i++)
		skeleton->rodata->syscall_takes_fd[i] = syscalls__takes_fd((int)i);
	skeleton->rodata->nr_poll = SYS_poll;
	skeleton->rodata->nr_ppoll = SYS_ppoll;
	skeleton->rodata->nr_wait4 = SYS_wait4;
	skeleton->rodata->nr_waitid = SYS_waitid;
	if (config->everything)
		skeleton->rodata->target_kind = TARGET_ALL;
	else if (config->cgroup)
		skeleton->rodata->target_kind = TARGET_CGROUP;
	else if (config->n_ids)
		skeleton->rodata->target_kind = TARGET_LISTED;
	skeleton->rodata->target_cgroup = config->cgroup;
	if (config->causal)
		configure_engine(skeleton, &probes->causal);
}

/* The causal engine credits waits to the program: which device they were for is no matter. */
static void choose_device_programs(struct probes *probes)
{
	struct record_bpf *skeleton = probes->skeleton;
	const bool wanted = !probes->config.causal;

	bpf_program__set_autoload(skeleton->progs.on_io_start, wanted && probes->kernel.io_start);
	bpf_program__set_autoload(skeleton->progs.on_io_insert, wanted);
	bpf_program__set_autoload(skeleton->progs.on_io_issue, wanted);
	bpf_program__set_autoload(skeleton->progs.on_io_complete, wanted);
	bpf_program__set_autoload(skeleton->progs.on_io_requeue, wanted);
}

/* Leaves out the programs that this kernel, or this recording, has no use for. */
static void choose_programs(struct probes *probes)
{
	const struct kernel_info *kernel = &probes->kernel;
	struct record_bpf *skeleton = probes->skeleton;

	bpf_program__set_autoload(skeleton->progs.on_run, probes->rung == RUNG_SCHED_EXIT);
	bpf_program__set_autoload(skeleton->progs.on_run_fexit, probes->rung == RUNG_FEXIT);
	bpf_program__set_autoload(skeleton->progs.on_run_kprobe, probes->rung == RUNG_KPROBE);
	bpf_program__set_autoload(skeleton->progs.on_contention_begin, kernel->contention);
	bpf_program__set_autoload(skeleton->progs.on_contention_end, kernel->contention);
	bpf_program__set_autoload(skeleton->progs.finish_targets, kernel->copy_from_user_task);
	bpf_program__set_autoload(skeleton->progs.finish_targets_kernel_only,
				  !kernel->copy_from_user_task);
	bpf_program__set_autoload(skeleton->progs.on_cgroup_attach, probes->config.cgroup != 0);
	bpf_program__set_autoload(skeleton->progs.on_wakeup, probes->config.causal);
	bpf_program__set_autoload(skeleton->progs.on_wakeup_new, probes->config.causal);
	bpf_program__set_autoload(skeleton->progs.on_sys_exit, probes->config.causal);
	bpf_program__set_autoload(skeleton->progs.on_visit_uprobe, probes->config.causal);
	bpf_program__set_autoload(skeleton->progs.on_visit_breakpoint, probes->config.causal);
	choose_device_programs(probes);
}

/* The memory that the program shares is there already; without an engine the maps are empty. */
static int size_engine(struct probes *probes)
{
	struct record_bpf *skeleton = probes->skeleton;
	int err;

	if (probes->config.causal)
		return bpf_map__reuse_fd(skeleton->maps.causal_areas, probes->causal.area);
	err = bpf_map__set_max_entries(skeleton->maps.causal_ranges, 1);
	return err ? err : bpf_map__set_max_entries(skeleton->maps.causal_places, 1);
}

static uint32_t rings_for(int cpus)
{
	uint32_t n = 1;

	while ((int)n < cpus && n < MAX_RINGS)
		n *= 2;
	return n;
}

static int on_ring_event(void *arg, void *data, size_t size)
{
	struct probes *probes = arg;

	if (size >= sizeof(struct event_header))
		probes->on_event(probes->arg, data, size);
	return 0;
}

static int create_rings(struct probes *probes)
{
	for (uint32_t i = 0; i < probes->n_rings; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dwell_ring", 0, 0,
					(uint32_t)probes->config.ring_bytes, NULL);

		if (fd < 0)
			return refused(-errno, "create the buffers between kernel and dwell");
		probes->rings[i] = fd;
	}
	return 0;
}

static int connect_rings(struct probes *probes)
{
	int outer = bpf_map__fd(probes->skeleton->maps.rings);

	for (uint32_t i = 0; i < probes->n_rings; i++) {
		int fd = probes->rings[i];
		int err;

		if (bpf_map_update_elem(outer, &i, &fd, BPF_ANY))
			return error__errno(-errno, "cannot set up the ring buffers");
		if (!probes->consumer) {
			probes->consumer = ring_buffer__new(fd, on_ring_event, probes, NULL);
			err = probes->consumer ? 0 : -errno;
		} else {
			err = ring_buffer__add(probes->consumer, fd, on_ring_event, probes);
		}
		if (err)
			return error__errno(err, "cannot map the ring buffers");
	}
	return 0;
}

static int set_targets(struct probes *probes)
{
	const struct probes_config *config = &probes->config;
	uint32_t as = config->ids_are_threads ? LISTED_THREAD : LISTED_PROCESS;

	for (size_t i = 0; i < config->n_ids; i++) {
		uint32_t id = (uint32_t)config->ids[i];

		if (bpf_map_update_elem(bpf_map__fd(probes->skeleton->maps.targets), &id, &as,
					BPF_ANY))
			return error__errno(-errno, "cannot add %u to what is recorded", id);
	}
	return 0;
}

void probes__stir_clocks(struct probes *probes)
{
	struct tempo *tempo = &probes->tempo;

	if (!tempo__step(tempo, random_number(), now_ns(CLOCK_MONOTONIC)))
		return;
	for (size_t i = 0; i < probes->clocks.n; i++)
		ioctl(probes->clocks.data[i], PERF_EVENT_IOC_PERIOD, &tempo->tick);
}

void probes__space_waits(struct probes *probes, unsigned int spacing)
{
	probes->skeleton->bss->spacing = (uint8_t)spacing;
}

/* A clock on every CPU: on-CPU samples, with the period of the blocked ones. */
static int open_clocks(struct probes *probes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int cpus = libbpf_num_possible_cpus();

	tempo__start(&probes->tempo, probes->config.period_ns, random_number(),
		     now_ns(CLOCK_MONOTONIC));
	attr.sample_period = probes->tempo.tick;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link;

		if (fd < 0 && errno == ENODEV) /* a CPU that is not there */
			continue;
		if (fd < 0)
			return refused(-errno, "open the sampling clock");
		if (array__push(&probes->clocks, fd))
			return close(fd), -ENOMEM;
		link = bpf_program__attach_perf_event(probes->skeleton->progs.on_tick, fd);
		if (!link)
			return error__errno(-errno, "cannot attach to the clock of CPU %d", cpu);
		if (array__push(&probes->clock_links, link))
			return bpf_link__destroy(link), -ENOMEM;
	}
	return 0;
}

static int attach(struct probes *probes)
{
	struct record_bpf *skeleton = probes->skeleton;
	int err;

	/* Iterators are run by hand, the clock is attached per CPU. */
	bpf_program__set_autoattach(skeleton->progs.mark_targets, false);
	bpf_program__set_autoattach(skeleton->progs.finish_targets, false);
	bpf_program__set_autoattach(skeleton->progs.finish_targets_kernel_only, false);
	bpf_program__set_autoattach(skeleton->progs.on_tick, false);
	bpf_program__set_autoattach(skeleton->progs.on_run_kprobe, false);
	bpf_program__set_autoattach(skeleton->progs.on_visit_uprobe, false);
	bpf_program__set_autoattach(skeleton->progs.on_visit_breakpoint, false);
	err = record_bpf__attach(skeleton);
	if (err || probes->rung != RUNG_KPROBE)
		return err;
	probes->kprobe = bpf_program__attach_kprobe(skeleton->progs.on_run_kprobe, false,
						    probes->kernel.kprobe);
	return probes->kprobe ? 0 : -errno;
}

static bool rung_exists(const struct probes *probes)
{
	switch (probes->rung) {
	case RUNG_SCHED_EXIT:
		return probes->kernel.sched_exit_tp;
	case RUNG_FEXIT:
		return probes->kernel.finish_task_switch;
	case RUNG_KPROBE:
		return *probes->kernel.kprobe;
	default:
		return true;
	}
}

static void unload(struct probes *probes)
{
	bpf_link__destroy(probes->kprobe);
	probes->kprobe = NULL;
	record_bpf__destroy(probes->skeleton);
	probes->skeleton = NULL;
}

/* Gives @map for each CPU what it has for one. */
static int size_by_cpu(struct bpf_map *map)
{
	return bpf_map__set_max_entries(map, bpf_map__max_entries(map) *
						     (uint32_t)libbpf_num_possible_cpus());
}

/* Loads and attaches with what the present rung asks for. */
static int climb(struct probes *probes)
{
	int err;

	*libbpf_said = *verifier_said = '\0'; /* of another rung */
	probes->skeleton = record_bpf__open();
	if (!probes->skeleton)
		return refused(-errno, "open the kernel side");
	configure(probes);
	choose_programs(probes);
	err = bpf_map__set_max_entries(probes->skeleton->maps.rings, probes->n_rings);
	if (!err)
		err = size_by_cpu(probes->skeleton->maps.rests);
	if (!err)
		err = size_engine(probes);
	if (!err) /* all rings are like the first one */
		err = bpf_map__set_inner_map_fd(probes->skeleton->maps.rings, probes->rings[0]);
	if (!err)
		err = record_bpf__load(probes->skeleton);
	if (err)
		return refused(err, "load the kernel side");
	err = attach(probes);
	return err ? refused(err, "attach to the scheduler's tracepoints") : 0;
}

static int load(struct probes *probes)
{
	const char *first = probes->config.rung;
	int err = -EINVAL;

	libbpf_set_print(remember_libbpf);
	for (probes->rung = 0; probes->rung < RUNG_COUNT; probes->rung++) {
		if (first && strcmp(first, rung_names[probes->rung]))
			continue;
		first = NULL;
		if (!rung_exists(probes))
			continue;
		err = climb(probes);
		if (!err)
			return 0;
		unload(probes);
	}
	if (first)
		error__set(err, "there is no rung '%s' on the ladder of places for stacks", first);
	return err;
}

int probes__open(const struct probes_config *config, probes_event_fn on_event, void *arg,
		 struct probes **out)
{
	_cleanup_(probes__freep) struct probes *probes = calloc(1, sizeof(*probes));
	int err;

	if (!probes)
		return -ENOMEM;
	probes->config = *config;
	if (config->causal) {
		probes->causal = *config->causal;
		probes->config.causal = &probes->causal;
	}
	probes->on_event = on_event;
	probes->arg = arg;
	probes->grid_seed = (uint64_t)random_number() << 32 | random_number();
	probes->n_rings = rings_for(libbpf_num_possible_cpus());
	err = kernel__probe(&probes->kernel);
	if (!err)
		err = create_rings(probes);
	if (!err)
		err = load(probes);
	if (!err)
		err = connect_rings(probes);
	if (!err)
		err = set_targets(probes);
	if (!err)
		err = open_clocks(probes);
	if (err)
		return err;
	*out = TAKE_PTR(probes);
	return 0;
}

static int walk_tasks(const struct probes *probes, const struct bpf_program *program)
{
	return task_walk__run(program, probes->on_event, probes->arg);
}

int probes__start(struct probes *probes, uint64_t *marked)
{
	*marked = 0;
	kernel__count(&probes->machine);
	probes->skeleton->bss->active = true;
	if (!probes->skeleton->rodata->target_kind)
		return 0;
	/* A thread that an unmarked one creates during a walk can escape it, not the next. */
	for (int walk = 0; walk < MAX_WALKS; walk++) {
		uint64_t before = probes->skeleton->bss->marked;
		int err = walk_tasks(probes, probes->skeleton->progs.mark_targets);

		if (err)
			return err;
		*marked = probes->skeleton->bss->marked;
		if (*marked == before)
			break;
	}
	return 0;
}

int probes__any_left(struct probes *probes, bool *any)
{
	struct record_bpf *skeleton = probes->skeleton;
	uint64_t ended = __atomic_load_n(&skeleton->bss->ended, __ATOMIC_ACQUIRE);
	int err;

	*any = true;
	if (ended == probes->ended)
		return 0;
	skeleton->bss->left = 0;
	err = walk_tasks(probes, skeleton->progs.count_targets);
	if (err)
		return err;
	probes->ended = ended;
	/* What one that ended during the walk had started before can have escaped it. */
	*any = skeleton->bss->left ||
	       __atomic_load_n(&skeleton->bss->ended, __ATOMIC_ACQUIRE) != ended;
	return 0;
}

int probes__fd(const struct probes *probes)
{
	return ring_buffer__epoll_fd(probes->consumer);
}

int probes__consume(struct probes *probes)
{
	return ring_buffer__consume(probes->consumer);
}

static void tell_devices(struct probes *probes, uint64_t now)
{
	const struct devices_grid grid = {
		.period_ns = probes->config.period_ns,
		.spacing = probes->skeleton->bss->spacing,
		.seed = probes->grid_seed,
		.trace = probes->config.trace,
	};

	devices__tell(bpf_map__fd(probes->skeleton->maps.devices), &grid, now, probes->on_event,
		      probes->arg);
}

static void count_machine(struct probes *probes)
{
	struct kernel_counts before = probes->machine, *now = &probes->machine;

	kernel__count(now);
	now->switches -= before.switches;
	now->busy_ns -= before.busy_ns;
	now->idle_ns = now->idle_ns > before.idle_ns ? now->idle_ns - before.idle_ns : 0;
}

int probes__stop(struct probes *probes, uint64_t *now)
{
	struct record_bpf *skeleton = probes->skeleton;
	int err;

	*now = now_ns(CLOCK_MONOTONIC);
	skeleton->bss->stopped_at = *now;
	skeleton->bss->active = false;
	count_machine(probes);
	record_bpf__detach(skeleton);
	err = probes__consume(probes);
	if (err < 0)
		return err;
	tell_devices(probes, *now);
	return walk_tasks(probes, probes->kernel.copy_from_user_task
					  ? skeleton->progs.finish_targets
					  : skeleton->progs.finish_targets_kernel_only);
}

bool probes__unwinder_maps(const struct probes *probes, struct unwinder_maps *maps)
{
	*maps = (struct unwinder_maps){
		.tables = bpf_map__fd(probes->skeleton->maps.unwind_tables),
		.mappings = bpf_map__fd(probes->skeleton->maps.unwind_mappings),
		.processes = bpf_map__fd(probes->skeleton->maps.unwind_processes),
		.files = bpf_map__fd(probes->skeleton->maps.unwind_files),
	};
	return probes->kernel.bpf_loop;
}

uint64_t probes__grid_seed(const struct probes *probes)
{
	return probes->grid_seed;
}

void probes__losses(const struct probes *probes, uint64_t losses[LOSS_COUNT])
{
	for (int i = 0; i < LOSS_COUNT; i++)
		losses[i] = __atomic_load_n(&probes->skeleton->bss->losses[i], __ATOMIC_RELAXED);
}

const struct kernel_counts *probes__machine(const struct probes *probes)
{
	return &probes->machine;
}

void probes__switches(const struct probes *probes, uint64_t *made, uint64_t *told)
{
	*made = probes->machine.switches;
	*told = 0;
	for (size_t i = 0; i < ARRAY_SIZE(probes->skeleton->bss->cpu_counts); i++)
		*told += probes->skeleton->bss->cpu_counts[i].switches;
	if (*made < *told) /* it does not count, or not before we do */
		*made = *told = 0;
}

const char *probes__rung(const struct probes *probes)
{
	return rung_names[probes->rung];
}

struct record_bpf *probes__skeleton(const struct probes *probes)
{
	return probes->skeleton;
}

void probes__free(struct probes *probes)
{
	for (size_t i = 0; i < probes->clock_links.n; i++)
		bpf_link__destroy(probes->clock_links.data[i]);
	for (size_t i = 0; i < probes->clocks.n; i++)
		close(probes->clocks.data[i]);
	array__free(&probes->clock_links);
	array__free(&probes->clocks);
	ring_buffer__free(probes->consumer);
	for (uint32_t i = 0; i < probes->n_rings; i++)
		if (probes->rings[i] > 0)
			close(probes->rings[i]);
	unload(probes);
	free(probes);
}
