// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/loader.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/targets.h"
#include "base/error.h"
#include "arch/syscalls.h"
#include "collect/kernel/hash_maps.h"
#include "collect/kernel/kernel_types.h"
#include "collect/kernel/refusal.h"
#include "collect/capture/task_walk.h"

#define MAX_WALKS   16
#define CLOCK_READS 3 /* an interrupt or a hypervisor can come between */
/* Of include/linux/sched.h; before 6.4 another flag has this bit. */
#define PF_FROZEN      0x00010000 /* before 6.1 */
#define PF_USER_WORKER 0x00004000

/*
 * The ladder: places where the stack of a thread that was blocked can be taken, best first. If a
 * kernel does not have one, or refuses to load it, the next one is tried.
 */
enum rung_kind { RUNG_SCHED_EXIT, RUNG_FEXIT, RUNG_KPROBE, RUNG_SWITCH_OUT, RUNG_COUNT };

static const char *const rung_names[RUNG_COUNT] = {
	[RUNG_SCHED_EXIT] = "sched_exit_tp",
	[RUNG_FEXIT] = "fexit",
	[RUNG_KPROBE] = "kprobe",
	[RUNG_SWITCH_OUT] = "switch-out",
};

struct loader {
	struct loader_config config;
	struct loader_object product;
	struct kernel_info kernel;
	int types_fd; /* file of the kernel's types that the object needs; negative: none */
	enum rung_kind rung;
	uint64_t grid_seed;
	const int *rings;
	uint32_t n_rings;
	bool opened; /* product.close() is to be called */
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
	struct capture_settings *settings; /* in the object's own memory */
	struct capture_state *state;
	const struct capture_cpu *cpus;
	struct bpf_link *kprobe;
	uint64_t ended;	  /* capture_state.ended at the last count of threads that are left */
	uint64_t entered; /* capture_state.entered when all threads of the target were marked */
};

static enum target_kind target_kind(const struct loader_config *config)
{
	if (config->everything)
		return TARGET_ALL;
	if (config->cgroup)
		return TARGET_CGROUP;
	return config->n_ids ? TARGET_LISTED : TARGET_NOTHING;
}

/* Whether loader__any_left() is called. */
static bool counts_targets(const struct loader_config *config)
{
	return target_kind(config) == TARGET_LISTED || config->counts_left;
}

/* Whether threads are recorded that exist already. */
static bool marks_targets(const struct loader_config *config)
{
	return target_kind(config) != TARGET_NOTHING || config->linked;
}

static void set_polls(struct capture_settings *settings)
{
	static const char *const polls[] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll",
					    "ppoll",	  "select",	 "pselect6"};

	for (size_t i = 0; i < ARRAY_SIZE(polls); i++) {
		int nr = syscalls__number(polls[i]);

		if (nr >= 0 && nr < CAPTURE_SYSCALLS)
			settings->syscall_transfer[nr] = TRANSFER_POLL;
	}
}

static void configure(const struct loader *loader)
{
	const struct loader_config *config = &loader->config;
	const struct kernel_info *kernel = &loader->kernel;
	struct capture_settings *settings = loader->settings;

	*settings = (struct capture_settings){
		.period_ns = config->period_ns,
		.n_cpus = (uint32_t)libbpf_num_possible_cpus(),
		.grid_seed = loader->grid_seed,
		.trace_mode = config->trace,
		.use_tables = kernel->bpf_loop,
		.stack_at_switch_out = loader->rung == RUNG_SWITCH_OUT,
		.follow = config->follow,
		.linked = config->linked,
		.return_probes = config->return_probes ||
				 (config->spans && span_sources__functions(config->spans)),
		.states_in_hash = !kernel->reliable_task_storage,
		.ring_mask = loader->n_rings - 1,
		.ring_wake_at = config->ring_bytes / 4,
		.ring_copies = config->ring_bytes / 2, /* the rest is for events */
		.pid_namespace = kernel->pid_namespace,
		.own_tgid = (uint32_t)getpid(),
		.zygote_tgid = (uint32_t)config->zygote,
		.command_tgid = (uint32_t)config->command,
		.preempt_count_from_rq = kernel->preempt_count_from_rq,
		.steal_time_from_rq = kernel->steal_time_from_rq,
		.target_kind = target_kind(config),
		.target_cgroup = config->cgroup,
		.frozen_flag = kernel->frozen_state ? 0 : PF_FROZEN,
		.freezer_subsystem = kernel->freezer_subsystem,
		.memory_subsystem = kernel->memory_subsystem,
		.user_worker_flag = kernel->user_worker ? PF_USER_WORKER : 0,
		.nr_poll = syscalls__number("poll"),
		.nr_ppoll = SYS_ppoll,
		.nr_wait4 = SYS_wait4,
		.nr_epoll_wait = syscalls__number("epoll_wait"),
		.nr_epoll_pwait = SYS_epoll_pwait,
		.nr_epoll_pwait2 = SYS_epoll_pwait2,
		.nr_waitid = SYS_waitid,
	};
	for (int i = 0; i < 2; i++) {
		settings->schedule_range[i] = kernel->schedule_range[i];
		settings->wakeup_range[i] = kernel->wakeup_range[i];
	}
	for (int i = 0; i < CAPTURE_SYSCALLS; i++) {
		settings->syscall_takes_fd[i] = syscalls__takes_fd(i);
		settings->syscall_transfer[i] = syscalls__receives_from(i) ? TRANSFER_RECEIVE
						: syscalls__sends_to(i)	   ? TRANSFER_SEND
									   : TRANSFER_NONE;
	}
	set_polls(settings);
	if (config->spans)
		span_sources__listen(config->spans, settings);
}

struct bpf_program *loader__program(const struct loader *loader, const char *name)
{
	return bpf_object__find_program_by_name(loader->object, name);
}

static void load_if(const struct loader *loader, const char *name, bool wanted)
{
	bpf_program__set_autoload(loader__program(loader, name), wanted);
}

static bool observes_connections(const struct loader *loader)
{
	return loader->config.spans && span_sources__connections(loader->config.spans);
}

static void choose_connection_programs(const struct loader *loader)
{
	bool wanted = observes_connections(loader), behind = loader->kernel.sock_length;

	load_if(loader, "on_data_ready", wanted && behind);
	load_if(loader, "on_receive", wanted && behind);
	load_if(loader, "on_send", wanted && behind);
	load_if(loader, "on_reply", wanted);
	load_if(loader, "on_segment", wanted && !behind);
	load_if(loader, "on_transfer", wanted && !behind);
	load_if(loader, "on_connection_state", wanted);
}

/* Selects the programs of the core that this kernel has and this capture needs. */
static void choose_programs(const struct loader *loader)
{
	const struct kernel_info *kernel = &loader->kernel;
	const struct loader_config *config = &loader->config;

	load_if(loader, "on_run", loader->rung == RUNG_SCHED_EXIT);
	load_if(loader, "on_run_fexit", loader->rung == RUNG_FEXIT);
	load_if(loader, "on_run_kprobe", loader->rung == RUNG_KPROBE);
	load_if(loader, "on_contention_begin", kernel->contention);
	load_if(loader, "on_contention_end", kernel->contention);
	choose_connection_programs(loader);
	load_if(loader, "on_fork", config->follow);
	load_if(loader, "on_free", !kernel->reliable_task_storage);
	load_if(loader, "on_cgroup_attach", config->cgroup != 0);
	load_if(loader, "mark_targets", marks_targets(config));
	load_if(loader, "count_targets", counts_targets(config));
}

static struct bpf_map *find_map(const struct loader *loader, const char *name)
{
	return bpf_object__find_map_by_name(loader->object, name);
}

static int map_fd(const struct loader *loader, const char *name)
{
	return bpf_map__fd(find_map(loader, name));
}

/* The memory of a section of the object, which must hold @size bytes. */
static void *section(const struct loader *loader, const char *name, size_t size)
{
	struct bpf_map *map = find_map(loader, name);
	size_t found = 0;
	const void *memory = map ? bpf_map__initial_value(map, &found) : NULL;

	/* Skeletons write to this memory, too; it is const only in older versions of libbpf. */
	return found == size ? (void *)(uintptr_t)memory : NULL;
}

static int find_sections(struct loader *loader)
{
	loader->settings = section(loader, CAPTURE_SETTINGS_SECTION, sizeof(*loader->settings));
	loader->state = section(loader, CAPTURE_STATE_SECTION, sizeof(*loader->state));
	loader->cpus =
		section(loader, CAPTURE_CPUS_SECTION, CAPTURE_MAX_CPUS * sizeof(*loader->cpus));
	return loader->settings && loader->state && loader->cpus ? 0 : -EINVAL;
}

static int size_maps(const struct loader *loader)
{
	static const char *const of_connections[] = {"connections", "readers", "asked_sockets",
						     "asking_processes"};
	struct bpf_map *rings = find_map(loader, "rings"), *deferred = find_map(loader, "deferred");
	int err = bpf_map__set_max_entries(rings, loader->n_rings);

	if (!err) /* max_entries was for one CPU */
		err = bpf_map__set_max_entries(deferred,
					       bpf_map__max_entries(deferred) *
						       (uint32_t)libbpf_num_possible_cpus());
	for (size_t i = 0; i < ARRAY_SIZE(of_connections) && !err; i++)
		if (!observes_connections(loader))
			err = bpf_map__set_max_entries(find_map(loader, of_connections[i]), 1);
	if (!err && loader->settings->states_in_hash == 0)
		err = bpf_map__set_max_entries(find_map(loader, "hashed_states"), 1);
	if (!err)
		err = hash_maps__allocate(loader->object, &loader->kernel);
	if (!err) /* the rings have the same type and size */
		err = bpf_map__set_inner_map_fd(rings, loader->rings[0]);
	return err;
}

static int attach(struct loader *loader)
{
	/* Iterators are run by hand, clocks are attached per CPU. */
	static const char *const not_attached[] = {"mark_targets", "count_targets", "read_clocks",
						   "on_tick", "on_run_kprobe"};
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(not_attached); i++)
		bpf_program__set_autoattach(loader__program(loader, not_attached[i]), false);
	err = bpf_object__attach_skeleton(loader->skeleton);
	if (err || loader->rung != RUNG_KPROBE)
		return err;
	loader->kprobe = bpf_program__attach_kprobe(loader__program(loader, "on_run_kprobe"), false,
						    loader->kernel.kprobe);
	return loader->kprobe ? 0 : -errno;
}

static bool rung_exists(struct loader *loader)
{
	switch (loader->rung) {
	case RUNG_SCHED_EXIT:
		return loader->kernel.sched_exit_tp;
	case RUNG_FEXIT:
		return loader->kernel.finish_task_switch;
	case RUNG_KPROBE:
		return kernel__find_kprobe(&loader->kernel);
	default:
		return true;
	}
}

static void unload(struct loader *loader)
{
	bpf_link__destroy(loader->kprobe);
	loader->kprobe = NULL;
	if (loader->opened)
		loader->product.close(loader->product.arg);
	loader->opened = false;
	loader->skeleton = NULL;
	loader->object = NULL;
}

/*
 * Loads and attaches the programs for the current rung. @types_fd: file of the kernel's types;
 * negative: libbpf reads all.
 */
static int load_by_types(struct loader *loader, int types_fd)
{
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types_fd >= 0 ? path : NULL);
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd);
	refusal__forget(); /* of another rung */
	loader->opened = true;
	err = loader->product.open(loader->product.arg, &loader->kernel, &options,
				   &loader->skeleton);
	if (err == -ENOTSUP)
		return err;
	if (err)
		return refusal__error(err, "open the kernel side");
	loader->object = *loader->skeleton->obj;
	err = find_sections(loader);
	if (!err) {
		configure(loader);
		choose_programs(loader);
		err = size_maps(loader);
	}
	if (!err)
		err = bpf_object__load_skeleton(loader->skeleton);
	if (err)
		return refusal__error(err, "load the kernel side");
	err = attach(loader);
	return err ? refusal__error(err, "attach to the scheduler's tracepoints") : 0;
}

/* Of resources: with them, every rung would load, or none. */
static bool is_limit(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/*
 * If it cannot be loaded by the copied types, tries all types of the kernel and its modules. Later
 * rungs begin with the copied types again.
 */
static int load_rung(struct loader *loader)
{
	int err = load_by_types(loader, loader->types_fd);

	if (!err || !loader->skeleton || loader->types_fd < 0 || is_limit(err))
		return err;
	unload(loader);
	return load_by_types(loader, -1);
}

static int load(struct loader *loader)
{
	const char *first = loader->config.rung;
	int err = -EINVAL;
	bool hopeless;

	for (loader->rung = 0; loader->rung < RUNG_COUNT; loader->rung++) {
		if (first && strcmp(first, rung_names[loader->rung]))
			continue;
		first = NULL;
		if (!rung_exists(loader))
			continue;
		err = load_rung(loader);
		if (!err)
			return 0;
		/* All rungs need what the product needs, and the same fields. */
		hopeless = !loader->skeleton || refusal__of_field();
		unload(loader);
		if (hopeless || is_limit(err))
			return err;
	}
	if (first)
		error__set(err, "there is no rung '%s' on the ladder of places for stacks", first);
	return err;
}

static int connect_rings(const struct loader *loader)
{
	int outer = map_fd(loader, "rings");

	for (uint32_t i = 0; i < loader->n_rings; i++)
		if (bpf_map_update_elem(outer, &i, &loader->rings[i], BPF_ANY))
			return error__errno(-errno, "cannot set up the ring buffers");
	return 0;
}

static int set_targets(const struct loader *loader)
{
	const struct loader_config *config = &loader->config;
	uint32_t as = config->ids_are_threads ? LISTED_THREAD : LISTED_PROCESS;
	int targets = map_fd(loader, "targets");

	for (size_t i = 0; i < config->n_ids; i++) {
		uint32_t id = (uint32_t)config->ids[i];

		if (bpf_map_update_elem(targets, &id, &as, BPF_ANY))
			return error__errno(-errno, "cannot add %u to what is recorded", id);
	}
	return 0;
}

static int probe_kernel(struct loader *loader)
{
	_cleanup_(btf__freep) struct btf *types = NULL;
	size_t size = 0;
	const void *elf = loader->product.elf(&size);
	int err = kernel__probe(&loader->kernel, &types);

	if (!err)
		loader->types_fd = kernel_types__open(types, elf, size);
	return err;
}

int loader__open(const struct loader_config *config, const struct loader_object *object,
		 const int *rings, uint32_t n_rings, struct loader **out)
{
	_cleanup_(loader__freep) struct loader *loader = calloc(1, sizeof(*loader));
	int err;

	if (!loader)
		return -ENOMEM;
	loader->types_fd = -1;
	loader->config = *config;
	loader->product = *object;
	loader->rings = rings;
	loader->n_rings = n_rings;
	if (getrandom(&loader->grid_seed, sizeof(loader->grid_seed), 0) < 0)
		return error__errno(-errno, "cannot draw a random number");
	err = probe_kernel(loader);
	if (!err)
		err = load(loader);
	if (!err)
		err = connect_rings(loader);
	if (!err)
		err = set_targets(loader);
	if (err)
		return err;
	*out = TAKE_PTR(loader);
	return 0;
}

static void no_event(void *arg, const struct event_header *event, size_t size)
{
}

static int walk_tasks(const struct loader *loader, const char *program)
{
	return task_walk__run(loader__program(loader, program), no_event, NULL);
}

/* A walk can miss a thread that an unmarked one creates meanwhile; the next one finds it. */
static int mark_targets(const struct loader *loader)
{
	for (int walk = 0; walk < MAX_WALKS; walk++) {
		uint64_t before = loader->state->marked;
		int err = walk_tasks(loader, "mark_targets");

		if (err || loader->state->marked == before)
			return err;
	}
	return 0;
}

void loader__read_clocks(struct loader *loader)
{
	int fd = bpf_program__fd(loader__program(loader, "read_clocks"));
	struct capture_state *state = loader->state;
	int64_t ahead = INT64_MAX;

	for (int i = 0; i < CLOCK_READS; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, options);

		sched_yield(); /* the scheduler reads the clock of the run queue */
		state->clock_read = INT64_MAX;
		if (bpf_prog_test_run_opts(fd, &options))
			return;
		if (state->clock_read < ahead)
			ahead = state->clock_read;
	}
	if (ahead != INT64_MAX)
		__atomic_store_n(&state->clock_ahead, ahead, __ATOMIC_RELAXED);
}

int loader__start(struct loader *loader, uint64_t *marked)
{
	int err;

	*marked = 0;
	loader__read_clocks(loader);
	__atomic_store_n(&loader->state->active, 1, __ATOMIC_SEQ_CST);
	if (!marks_targets(&loader->config))
		return 0;
	err = mark_targets(loader);
	*marked = loader->state->marked;
	return err;
}

int loader__mark_entered(struct loader *loader)
{
	uint64_t entered = __atomic_load_n(&loader->state->entered, __ATOMIC_ACQUIRE);

	if (entered == loader->entered)
		return 0;
	loader->entered = entered;
	return mark_targets(loader);
}

int loader__any_left(struct loader *loader, bool *any)
{
	struct capture_state *state = loader->state;
	uint64_t ended = __atomic_load_n(&state->ended, __ATOMIC_ACQUIRE);
	int err;

	*any = true;
	if (ended == loader->ended)
		return 0;
	state->left = 0;
	err = walk_tasks(loader, "count_targets");
	if (err)
		return err;
	loader->ended = ended;
	/* If threads exited during the walk, it may have missed threads that they had created. */
	*any = state->left || __atomic_load_n(&state->ended, __ATOMIC_ACQUIRE) != ended;
	return 0;
}

void loader__stop(struct loader *loader)
{
	__atomic_store_n(&loader->state->active, 0, __ATOMIC_SEQ_CST);
}

int loader__freeze(struct loader *loader, event_fn on_event, void *arg)
{
	const struct bpf_program *program = loader__program(loader, "freeze_targets");

	loader__read_clocks(loader);
	return program ? task_walk__run(program, on_event, arg) : 0;
}

void loader__detach(struct loader *loader)
{
	bpf_link__destroy(loader->kprobe);
	loader->kprobe = NULL;
	bpf_object__detach_skeleton(loader->skeleton);
}

void loader__unwinder_maps(const struct loader *loader, struct unwinder_maps *maps)
{
	*maps = (struct unwinder_maps){
		.tables = map_fd(loader, "unwind_tables"),
		.mappings = map_fd(loader, "unwind_mappings"),
		.processes = map_fd(loader, "unwind_processes"),
		.files = map_fd(loader, "unwind_files"),
	};
}

const struct kernel_info *loader__kernel(const struct loader *loader)
{
	return &loader->kernel;
}

const struct capture_settings *loader__settings(const struct loader *loader)
{
	return loader->settings;
}

struct capture_state *loader__state(const struct loader *loader)
{
	return loader->state;
}

const struct capture_cpu *loader__cpus(const struct loader *loader)
{
	return loader->cpus;
}

uint64_t loader__switches(const struct loader *loader)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < CAPTURE_MAX_CPUS; i++)
		seen += loader->cpus[i].switches;
	return seen;
}

uint64_t loader__skipped(const struct loader *loader)
{
	static const char *const names[] = {"on_switch", "on_waking", "on_run", "on_run_fexit",
					    "on_run_kprobe"};
	uint64_t skipped = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(loader__program(loader, names[i]));

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			skipped += info.recursion_misses;
	}
	return skipped;
}

const char *loader__rung(const struct loader *loader)
{
	return rung_names[loader->rung];
}

void loader__free(struct loader *loader)
{
	unload(loader);
	if (loader->types_fd >= 0)
		close(loader->types_fd);
	free(loader);
}
