// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/kernel/kernel_types.h"
#include "collect/kernel/symbol_lookup.h"

/* The offset of variable @name, of @size bytes (0: any), among the per-CPU variables; or -1. */
static int64_t percpu_offset(const struct btf *btf, const char *name, uint32_t size)
{
	int section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *type;
	const struct btf_var_secinfo *var;

	if (section < 0)
		return -1;
	type = btf__type_by_id(btf, section);
	var = btf_var_secinfos(type);
	for (int i = 0; i < btf_vlen(type); i++, var++) {
		const struct btf_type *found = btf__type_by_id(btf, var->type);

		if (!strcmp(btf__name_by_offset(btf, found->name_off), name))
			return !size || var->size == size ? (int64_t)var->offset : -1;
	}
	return -1;
}

/*
 * The offset in bytes of @member, of @size bytes (0: any), in @type, or in an anonymous member of
 * that; or -1.
 */
static int64_t offset_within(const struct btf *btf, const struct btf_type *type, const char *member,
			     uint32_t size)
{
	const struct btf_member *at = btf_members(type);

	for (int i = 0; btf_is_composite(type) && i < btf_vlen(type); i++, at++) {
		int64_t offset = btf_member_bit_offset(type, i) / 8, inner;

		if (!strcmp(btf__name_by_offset(btf, at->name_off), member))
			return !size || btf__resolve_size(btf, at->type) == size ? offset : -1;
		if (at->name_off)
			continue;
		inner = offset_within(btf, btf__type_by_id(btf, at->type), member, size);
		if (inner >= 0)
			return offset + inner;
	}
	return -1;
}

/* The offset in bytes of @member, of @size bytes (0: any), in struct @name, or -1. */
static int64_t member_offset(const struct btf *btf, const char *name, const char *member,
			     uint32_t size)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id < 0 ? -1 : offset_within(btf, btf__type_by_id(btf, id), member, size);
}

static int64_t preempt_count_from_rq(const struct btf *btf)
{
	int64_t rq = percpu_offset(btf, "runqueues", 0);
	int64_t count = percpu_offset(btf, "__preempt_count", sizeof(uint32_t));
	int64_t hot = percpu_offset(btf, "pcpu_hot", 0);
	int64_t in_hot = member_offset(btf, "pcpu_hot", "preempt_count", sizeof(uint32_t));

	if (rq < 0)
		return 0;
	if (count >= 0)
		return count - rq;
	if (hot >= 0 && in_hot >= 0)
		return hot + in_hot - rq;
	return 0;
}

/* 0 in a kernel that is not built to be a guest of KVM. In no guest, the kernel leaves it at 0. */
static int64_t steal_time_from_rq(const struct btf *btf)
{
	int64_t rq = percpu_offset(btf, "runqueues", 0);
	int64_t at = percpu_offset(btf, "steal_time", 0);
	int64_t steal = member_offset(btf, "kvm_steal_time", "steal", sizeof(uint64_t));

	return rq < 0 || at < 0 || steal < 0 ? 0 : at + steal - rq;
}

struct wanted_function {
	const char *name;
	uint64_t *range;
};

/* Calls @take for each function in kallsyms, by address, until it returns true. */
static void each_function(bool (*take)(void *arg, uint64_t address, const char *name), void *arg)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		char *rest;
		uint64_t address = strtoull(line, &rest, 16);

		if (strlen(rest) < 4 || !strchr("tTwW", rest[1]))
			continue;
		rest[3 + strcspn(rest + 3, "\t\n")] = '\0';
		if (take(arg, address, rest + 3))
			return;
	}
}

/* True when all ranges are complete: a function ends where the next one begins. */
static bool take_range(void *arg, uint64_t address, const char *name)
{
	struct wanted_function *wanted = arg;
	bool complete = true;

	for (; wanted->name; wanted++) {
		uint64_t *range = wanted->range;

		if (range[0] && !range[1] && address > range[0])
			range[1] = address;
		if (!strcmp(name, wanted->name))
			range[0] = address;
		complete &= range[1] != 0;
	}
	return complete;
}

static bool find_by_bpf(const struct wanted_function *wanted)
{
	_cleanup_(symbol_lookup__closep) struct symbols_bpf *lookup = symbol_lookup__open();
	bool found = lookup;

	for (; wanted->name && found; wanted++)
		found = symbol_lookup__find(lookup, wanted->name, wanted->range);
	return found;
}

/* Sets the ranges of the functions whose callers begin a stack; 0 if addresses are hidden. */
static void find_functions(struct kernel_info *info)
{
	struct wanted_function wanted[] = {
		{"__schedule", info->schedule_range},
		{"try_to_wake_up", info->wakeup_range},
		{NULL, NULL},
	};

	struct wanted_function fault[] = {{"filemap_fault", info->fault_range}, {NULL, NULL}};

	if (find_by_bpf(wanted)) {
		find_by_bpf(fault);
		return;
	}
	memset(info->schedule_range, 0, sizeof(info->schedule_range));
	memset(info->wakeup_range, 0, sizeof(info->wakeup_range));
	each_function(take_range, wanted);
}

/* Compilers may add a suffix to the name. */
static bool take_kprobe(void *arg, uint64_t address, const char *name)
{
	static const char wanted[] = "finish_task_switch";
	const size_t length = sizeof(wanted) - 1;
	struct kernel_info *info = arg;

	if (strncmp(name, wanted, length) != 0 || (name[length] && name[length] != '.') ||
	    strstr(name, ".cold"))
		return false;
	snprintf(info->kprobe, sizeof(info->kprobe), "%.63s", name);
	return true;
}

bool kernel__find_kprobe(struct kernel_info *info)
{
	if (!*info->kprobe && !access("/sys/bus/event_source/devices/kprobe/type", F_OK))
		each_function(take_kprobe, info);
	return *info->kprobe;
}

static bool has_tracepoint(const struct btf *btf, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) >= 0;
}

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) >= 0;
}

/* The value of @name in enum @type; -1: there is none. */
static int enum_value(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *of = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (int i = 0; of && i < btf_vlen(of); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(of)[i].name_off), name))
			return btf_enum(of)[i].val;
	return -1;
}

/*
 * The index of "pause" among the arguments of the tracepoint balance_dirty_pages, of which it is
 * the last but one. (In 6.15 a structure took the place of five.)
 */
static uint8_t pause_argument(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_balance_dirty_pages", BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(btf, type->type);
	/* The first is not an argument of the program. */
	if (!type || !btf_is_func_proto(type) || (btf_vlen(type) != 9 && btf_vlen(type) != 13))
		return 0;
	return (uint8_t)(btf_vlen(type) - 3);
}

/* It lacks a function that came with 5.15; a distribution's kernel may have it earlier. */
static int too_old(void)
{
	struct utsname name = {};

	uname(&name);
	error__set(-ENOTSUP, "this kernel is too old: Linux %s", name.release);
	error__hint("dwell needs 5.15 or later");
	return -ENOTSUP;
}

/* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCU

/* -EINVAL, with a message, if /proc shows the pids of another namespace. */
static int find_pid_namespace(uint32_t *inode)
{
	char pid[16] = "";
	struct stat stats;

	if (readlink("/proc/self", pid, sizeof(pid) - 1) < 0 || strtol(pid, NULL, 10) != getpid()) {
		error__set(-EINVAL, "/proc does not show the processes of this pid namespace");
		error__hint("mount one that does: mount -t proc proc /proc\n"
			    "(`unshare --pid --fork --mount-proc` does so itself)");
		return -EINVAL;
	}
	if (stat("/proc/self/ns/pid", &stats))
		return error__errno(-errno, "cannot find out the pid namespace");
	*inode = stats.st_ino == INITIAL_PID_NAMESPACE ? 0 : (uint32_t)stats.st_ino;
	return 0;
}

static bool is_sys_mounted(void)
{
	struct statfs fs;

	return !statfs("/sys", &fs) && fs.f_type == SYSFS_MAGIC;
}

static int refuse_without_sys(void)
{
	error__set(-ENOENT, "/sys does not show the kernel");
	error__hint("mount it: mount -t sysfs sysfs /sys\n"
		    "(containers: mount the host's /sys, read-only suffices)");
	return -ENOENT;
}

/* @err: of reading the types. */
static int refuse_types(int err)
{
	static const char file[] = "/sys/kernel/btf/vmlinux";
	_cleanup_(btf__freep) struct btf *again = NULL;

	if (!access(file, R_OK)) { /* the error was of another place, which libbpf tried, too */
		again = btf__parse(file, NULL);
		err = again ? -ENOMEM : -errno;
	}
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return error__errno(err, "cannot read the kernel's types");
	if (!is_sys_mounted() || access("/sys/kernel", X_OK) || access("/sys/kernel/mm", F_OK))
		return refuse_without_sys();
	error__set(-ENOTSUP, "this kernel has no type information (BTF)");
	error__hint("dwell needs a kernel of 5.15 or later built with CONFIG_DEBUG_INFO_BTF,\n"
		    "as all large distributions' are; see /sys/kernel/btf/vmlinux");
	return -ENOTSUP;
}

int kernel__cpus(void)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus > 0)
		return cpus;
	if (cpus == -ENOENT)
		return refuse_without_sys();
	return error__errno(cpus ? cpus : -EINVAL, "cannot read /sys/devices/system/cpu/possible");
}

int kernel__probe(struct kernel_info *info, struct btf **types)
{
	_cleanup_(btf__freep) struct btf *btf = btf__load_vmlinux_btf();
	uint32_t pid_namespace = 0;
	int err = btf ? 0 : -errno;

	if (err)
		return refuse_types(err);
	if (!has_function(btf, "bpf_task_pt_regs"))
		return too_old();
	err = find_pid_namespace(&pid_namespace);
	if (err)
		return err;
	*info = (struct kernel_info){
		.pid_namespace = pid_namespace,
		.sched_exit_tp = has_tracepoint(btf, "sched_exit_tp"),
		.contention = has_tracepoint(btf, "contention_begin"),
		.io_start = has_tracepoint(btf, "block_io_start"),
		.sock_length = has_tracepoint(btf, "sock_send_length") &&
			       has_tracepoint(btf, "sk_data_ready"),
		.bpf_loop = has_function(btf, "bpf_loop"),
		/* It came with what hash maps allocate by. */
		.hash_allocates = btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0,
		.reliable_task_storage = has_function(btf, "bpf_task_storage_get_recur"),
		.copy_from_user_task = has_function(btf, "bpf_copy_from_user_task"),
		.uprobe_multi =
			btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0,
		.filemap_fault = has_tracepoint(btf, "mm_filemap_fault"),
		.frozen_state = has_function(btf, "frozen"),
		.task_throttled = member_offset(btf, "task_struct", "throttled", 0) >= 0,
		.freezer_subsystem = enum_value(btf, "cgroup_subsys_id", "freezer_cgrp_id"),
		.memory_subsystem = enum_value(btf, "cgroup_subsys_id", "memory_cgrp_id"),
		.pause_argument = pause_argument(btf),
		.user_worker = member_offset(btf, "kernel_clone_args", "user_worker", 0) >= 0,
		.finish_task_switch = has_function(btf, "finish_task_switch"),
		.preempt_count_from_rq = preempt_count_from_rq(btf),
		.steal_time_from_rq = steal_time_from_rq(btf),
	};
	find_functions(info);
	*types = TAKE_PTR(btf);
	return 0;
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice", in clock ticks */
static void count_times(const char *line, struct kernel_counts *counts)
{
	uint64_t ticks[8] = {}, tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);

	if (sscanf(line,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6],
		   &ticks[7]) < 4)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++)
		*(i == 3 || i == 4 ? &counts->idle_ns : &counts->busy_ns) += ticks[i] * tick_ns;
}

void kernel__count(struct kernel_counts *counts)
{
	_cleanup_fclose_ FILE *stat = fopen("/proc/stat", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	*counts = (struct kernel_counts){};
	while (stat && getline(&line, &size, stat) > 0) {
		if (!strncmp(line, "cpu ", 4))
			count_times(line, counts);
		if (sscanf(line, "ctxt %" SCNu64, &counts->switches) == 1)
			break;
	}
}
