/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Walks user stacks without frame pointers, by tables built from .eh_frame.
 *
 * The executable mappings of a process are a sorted run in one pool; each has the table of its
 * file. From code without a table (generated at run time, or not known yet) the walk steps to the
 * caller by the frame pointer, and continues with tables there.
 *
 * A product that needs the code of each frame of current (UNWIND_CODE()) defines
 * WALK_ENDS_AT(code) before it includes this: codes go to scratch->codes, and the walk ends at the
 * first frame for which the macro is true.
 */
#pragma once

#include "bpf/core/deferred.bpf.h"
#include "bpf/core/return_probe.bpf.h"
#include "bpf/core/scratch.bpf.h"
#include "bpf/core/state.bpf.h"
#include "abi/unwind.h"

#define SEARCH_STEPS  24 /* of a binary search in a table: up to 16 million rows */
#define MAPPING_STEPS 14 /* of a binary search in mappings: up to 16 thousand of a process */

struct unwind_rows {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_row));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_TABLES);
	__type(key, __u32);
	__array(values, struct unwind_rows);
} unwind_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_MAPPINGS);
	__type(key, __u32);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

/* Files that have a table, by the inode, size and device of a mapping. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_MAX_TABLES);
	__type(key, struct unwind_file_key);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps");

/* State of a walk: the registers of the current frame, and where frames go. */
struct unwind_walk {
	__u64 ip;
	__u64 sp;
	__u64 fp;
	__u64 trampoline;	  /* of return probes; 0: there are none */
	__u64 link;		  /* REGS_LINK() of the innermost frame; 0 further out */
	struct task_struct *task; /* the task that is walked, if it is not current */
	struct unwind_process process;
	struct unwind_mapping mapping; /* a cache: of the last frame, often of the next one, too */
	__u32 scratch;		       /* enum scratch_use */
	__u32 at;		       /* frames go to scratch->frames[at...] */
	__u32 n;
	__u8 end;      /* enum stack_end, or WALK_GOES_ON */
	__u8 cause;    /* enum stack_end: of the first step that was guessed; 0: none was */
	__u8 exact;    /* ip is the current instruction, not a return address */
	bool deferred; /* user space completes it: see bpf/core/deferred.bpf.h */
};

/* Reads user memory of the task that is walked; @remote: it is not current. */
static __always_inline long read_stack(const struct unwind_walk *walk, void *to, __u32 size,
				       __u64 from, const bool remote)
{
	if (remote)
		return bpf_copy_from_user_task(to, size, (void *)from, walk->task, 0);
	return bpf_probe_read_user(to, size, (void *)from);
}

#include "arch/unwind_step.h"

/* The searches are global functions: verified once, not for each path that leads to them. */

/* The mapping with @pc among the @n of the pool from @first on: its index + 1, or 0. */
GLOBAL __u32 find_mapping(__u32 first, __u32 n, __u64 pc)
{
	__u32 low = first;
	__u32 high = low + n;

	for (int i = 0; i < MAPPING_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		struct unwind_mapping *mapping = bpf_map_lookup_elem(&unwind_mappings, &middle);

		if (!mapping)
			return 0;
		if (pc < mapping->start)
			high = middle;
		else if (pc >= mapping->end)
			low = middle + 1;
		else
			return middle + 1;
	}
	return 0;
}

/*
 * A cache of find_row(): the same return addresses recur. An entry that another CPU, or a tick
 * during this search, overwrites meanwhile fails its check.
 */
#define ROW_MEMO_BITS 13

struct row_memo {
	__u64 check; /* key ^ row */
	__u64 row;
};

static struct row_memo row_memos[1 << ROW_MEMO_BITS];

/* The row is in [@low, @high), or @row, the one before. */
struct row_search {
	void *rows; /* map */
	__u64 pc;
	__u64 row;
	__u32 low;
	__u32 high;
};

static long halve_search(__u32 index, void *arg)
{
	struct row_search *search = arg;
	__u32 middle = search->low + (search->high - search->low) / 2;
	__u64 *found;

	if (search->low >= search->high)
		return loop_ends(true);
	found = bpf_map_lookup_elem(search->rows, &middle);
	if (!found)
		return loop_ends(true);
	if ((__u32)*found <= search->pc) {
		search->row = *found;
		search->low = middle + 1;
	} else {
		search->high = middle;
	}
	return loop_ends(false);
}

/* The last of @table's @n rows with a pc of at most @pc, as its 8 bytes; 0: none. */
GLOBAL __u64 find_row(__u32 table, __u32 n, __u64 pc)
{
	__u64 key = (__u64)table << 40 ^ pc;
	struct row_memo *memo = &row_memos[key * 0x9e3779b97f4a7c15ULL >> (64 - ROW_MEMO_BITS)];
	struct row_search search = {.pc = pc, .high = n};
	__u64 row = memo->row;
	__u32 slot;

	if ((memo->check ^ row) == key)
		return row;
	slot = UNWIND_SLOT(table);
	search.rows = bpf_map_lookup_elem(&unwind_tables, &slot);
	if (!search.rows)
		return 0;
	bpf_loop(SEARCH_STEPS, halve_search, &search, 0);
	memo->check = key ^ search.row;
	memo->row = search.row;
	return search.row;
}

static long take_vma(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct unwind_mapping *mapping = arg;
	struct unwind_file_key key = {};
	struct unwind_file *known;
	struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);

	if (!inode)
		return loop_ends(false);
	key.inode = READ(inode, i_ino);
	key.size = READ(inode, i_size);
	key.device = READ(inode, i_sb, s_dev);
	known = bpf_map_lookup_elem(&unwind_files, &key);
	mapping->start = FIELD(vma, vm_start);
	mapping->end = FIELD(vma, vm_end);
	mapping->table = UNWIND_TABLE_PENDING;
	if (!known)
		return loop_ends(false);
	mapping->bias = FIELD(vma, vm_start) - (FIELD(vma, vm_pgoff) << 12) - known->bias;
	mapping->table = known->table;
	mapping->n_rows = known->n_rows;
	return loop_ends(false);
}

/* A cache of find_vma_mapping(), by process, program and block of addresses. */
#define VMA_CACHE_SHIFT	 18
#define VMA_CACHE_BLOCKS 8

struct vma_cache_key {
	__u32 pid;
	__u32 exec; /* task->self_exec_id: a process may execute several programs */
	__u64 block;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 13);
	__type(key, struct vma_cache_key);
	__type(value, struct unwind_mapping);
} vma_cache SEC(".maps");

/*
 * Finds the mapping with @pc in current by the kernel's VMAs, while user space has not added it to
 * unwind_mappings yet; n_rows is 0 if its file has no table yet. In an interrupt, bpf_find_vma()
 * works only once, so results are cached. Returns 1, or 0 if there is none or it is unknown. (Not
 * for processes that are not recorded: user space never adds their mappings, so that each of their
 * wakeups would come here.)
 */
GLOBAL int find_vma_mapping(__u64 pc, struct unwind_mapping *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vma_cache_key key = {FIELD(task, tgid), FIELD(task, self_exec_id),
				    pc >> VMA_CACHE_SHIFT};
	struct unwind_mapping *found = bpf_map_lookup_elem(&vma_cache, &key);
	struct unwind_mapping result = {};

	if (!mapping || !settings.use_tables || !target_state(task))
		return 0;
	if (found && pc >= found->start && pc < found->end) {
		*mapping = *found;
		return 1;
	}
	if (bpf_find_vma(task, pc, take_vma, &result, 0) || !result.end)
		return 0;
	*mapping = result;
	if (!result.n_rows)
		return 1;
	for (int i = 0; i < VMA_CACHE_BLOCKS; i++, key.block++)
		if (key.block << VMA_CACHE_SHIFT < result.end)
			bpf_map_update_elem(&vma_cache, &key, &result, BPF_ANY);
	return 1;
}

/* Sets walk->mapping to the mapping with @pc. False: it is unknown. */
static __always_inline bool enter_mapping(struct unwind_walk *walk, __u64 pc, const bool remote)
{
	struct unwind_mapping *mapping;
	__u32 index;

	if (pc >= walk->mapping.start && pc < walk->mapping.end)
		return true;
	index = find_mapping(walk->process.first, walk->process.n, pc);
	if (!index--)
		return !remote && find_vma_mapping(pc, &walk->mapping);
	mapping = bpf_map_lookup_elem(&unwind_mappings, &index);
	if (!mapping)
		return false;
	walk->mapping = *mapping;
	return true;
}

/*
 * unwind_by() and step_by_frame_pointer() of current, as global functions: otherwise every path
 * through them would be verified with all that follows it.
 */
GLOBAL int step_current(struct unwind_walk *walk, __u64 found)
{
	struct unwind_row row;

	if (!walk)
		return 1;
	__builtin_memcpy(&row, &found, sizeof(row));
	return unwind_by(walk, &row, false);
}

GLOBAL int step_current_by_frame_pointer(struct unwind_walk *walk, __u32 cause)
{
	return walk ? step_by_frame_pointer(walk, cause, false) : 1;
}

static __always_inline long step_by(struct unwind_walk *walk, __u64 found, const bool remote)
{
	struct unwind_row row;

	if (!remote)
		return step_current(walk, found) != 0;
	__builtin_memcpy(&row, &found, sizeof(row));
	return unwind_by(walk, &row, true);
}

static __always_inline long step_without_rule(struct unwind_walk *walk, enum stack_end cause,
					      const bool remote)
{
	cause |= unknown_zero; /* or all that follows would be verified for each cause */
	return remote ? step_by_frame_pointer(walk, cause, true)
		      : step_current_by_frame_pointer(walk, cause) != 0;
}

/*
 * The unwind rule of the code at @pc, the walk's current frame. 0: there is none, for the reason
 * *@cause (STACK_COMPLETE: code of no file, which is expected to have frame pointers).
 */
static __always_inline __u64 find_rule(struct unwind_walk *walk, __u64 pc, enum stack_end *cause,
				       const bool remote)
{
	*cause = STACK_NO_MAPPING;
	if (!enter_mapping(walk, pc, remote))
		return 0;
	*cause = STACK_COMPLETE;
	if (!walk->mapping.table) {
		walk->process.deferred_left = 0; /* code that is generated can map anything next */
		return 0;
	}
	*cause = STACK_NO_TABLE;
	if (!walk->mapping.n_rows)
		return 0;
	*cause = STACK_UNSUPPORTED;
	return find_row(walk->mapping.table, walk->mapping.n_rows, pc - walk->mapping.bias);
}

#ifdef WALK_ENDS_AT
/* UNWIND_CODE() of the current frame; 0: it is in no file, or in one without a table. */
static __always_inline __u64 code_of(const struct unwind_walk *walk, enum stack_end cause)
{
	__u32 slot = UNWIND_SLOT(walk->mapping.table);

	if (cause == STACK_NO_MAPPING || !walk->mapping.table || slot >= UNWIND_TABLE_PENDING)
		return 0;
	return UNWIND_CODE(slot, walk->ip - !walk->exact - walk->mapping.bias);
}
#endif

/* Whether user space probably has a table for the current frame's code, or will have it soon. */
static __always_inline bool can_be_deferred(const struct unwind_walk *walk, enum stack_end cause)
{
	return !walk->cause && walk->process.deferred_left &&
	       (cause == STACK_NO_MAPPING ||
		(cause == STACK_NO_TABLE && walk->mapping.table == UNWIND_TABLE_PENDING));
}

/*
 * Stores the current frame as number @index, and steps to its caller. 1 ends the walk. (With a
 * counter in the walk, the verifier would know its value, and check all 512 iterations.)
 */
static __always_inline long unwind_step(struct unwind_walk *walk, __u32 index, const bool remote)
{
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &walk->scratch);
	__u32 at = (walk->at + index) & (SCRATCH_FRAMES - 1);
	struct unwind_row row;
	enum stack_end cause;
	__u64 found;

	if (!scratch)
		return end_walk(walk, STACK_TOO_DEEP);
	if (settings.return_probes && walk->trampoline && walk->ip == walk->trampoline)
		walk->ip = original_return(remote ? walk->task : bpf_get_current_task_btf(),
					   walk->sp - CALL_PUSHES, walk->ip);
	scratch->frames[at] = frame_address(walk, !index);
	walk->n = index + 1;
	if (index + 1 >= DWELL_MAX_USER_FRAMES)
		return end_walk(walk, STACK_TOO_DEEP);
	found = find_rule(walk, walk->ip - !walk->exact, &cause, remote);
#ifdef WALK_ENDS_AT
	if (!remote) {
		__u64 code = code_of(walk, cause);

		scratch->codes[index & (DWELL_MAX_USER_FRAMES - 1)] = code;
		if (WALK_ENDS_AT(code))
			return end_walk(walk, STACK_TOO_DEEP);
	}
#endif
	if (!found && !remote && can_be_deferred(walk, cause)) {
		walk->deferred = true;
		return end_walk(walk, cause);
	}
	if (!found)
		return step_without_rule(walk, cause, remote);
	__builtin_memcpy(&row, &found, sizeof(row));
	if (UNWIND_CFA(&row) == UNWIND_CFA_SIGNAL)
		scratch->frames[at] = walk->ip + 1;
	return step_by(walk, found, remote);
}

static long unwind_step_current(__u32 index, void *walk)
{
	return loop_ends(unwind_step(walk, index, false));
}

static long unwind_step_remote(__u32 index, void *walk)
{
	return loop_ends(unwind_step(walk, index, true));
}

/* Stores the state in which @walk ended, for send_deferred(). */
static __always_inline void keep_deferred(const struct unwind_walk *walk, __u32 pid)
{
	struct deferred *kept = deferred_for(walk->scratch);

	if (!kept)
		return;
	kept->head.header.type = EVENT_DEFERRED;
	kept->head.ip = walk->ip;
	kept->head.sp = walk->sp;
	kept->head.fp = walk->fp;
	kept->head.pid = pid;
	kept->head.exact = walk->exact;
}

/* A thread that probes hold up is where it would be without them. */
static __always_inline void leave_trampoline(struct unwind_walk *walk, struct task_struct *task,
					     const bool remote)
{
	__u64 slot = walk->sp + TRAMPOLINE_PUSHED - sizeof(__u64), ip;

	if (!is_in_trampoline_page(walk->trampoline, walk->ip))
		return;
	if (walk->ip - walk->trampoline >= TRAMPOLINE_BYTES) {
		walk->ip = single_stepped(task, walk->ip);
		return;
	}
	ip = original_return(task, slot, 0);
	if (!ip && read_stack(walk, &ip, sizeof(ip), slot, remote))
		return;
	walk->ip = ip;
	walk->sp += TRAMPOLINE_PUSHED;
	walk->exact = 0;
}

/*
 * Walks the user stack of @task from where it entered the kernel, into frames[@at...] of scratch
 * @use. Returns the number of frames. The address behind a system call is looked up like a return
 * address: the code there need not have unwind information, as in a signal trampoline.
 */
static __always_inline __u32 unwind_user(struct task_struct *task, __u32 use, __u32 at, __u8 *end,
					 const bool remote)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 pid = tgid_of(task);
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &pid);
	struct unwind_walk walk = {
		.ip = REGS_IP(regs),
		.sp = REGS_SP(regs),
		.fp = REGS_FP(regs),
		.link = REGS_LINK(regs),
		.scratch = use,
		.at = at,
		.end = WALK_GOES_ON,
		.exact = !REGS_AFTER_SYSCALL(regs),
	};

	if (process)
		walk.process = *process;
	if (remote)
		walk.task = task;
	if (settings.return_probes) {
		walk.trampoline = return_trampoline(task);
		leave_trampoline(&walk, task, remote);
	}
	if (remote)
		bpf_loop(DWELL_MAX_USER_FRAMES, unwind_step_remote, &walk, 0);
	else
		bpf_loop(DWELL_MAX_USER_FRAMES, unwind_step_current, &walk, 0);
	if (process && walk.deferred) {
		process->deferred_left = walk.process.deferred_left - 1;
		keep_deferred(&walk, pid);
	}
	*end = walk.end;
	this_cpu()->work += walk.n;
	return walk.n;
}

/* unwind_user() of current, as a global function: the number of frames | enum stack_end << 32. */
GLOBAL __u64 unwind_current(__u32 use, __u32 at)
{
	__u8 end = STACK_UNREADABLE;
	__u32 n;

	if (!settings.use_tables) /* kernels without bpf_loop() verify global functions, too */
		return 0;
	n = unwind_user(bpf_get_current_task_btf(), use, at, &end, false);
	return n | (__u64)end << 32;
}

/* A new process has its parent's mappings. */
static __always_inline void unwind_fork(__u32 parent, __u32 child)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &parent);
	struct unwind_process copy;

	if (!process || parent == child)
		return;
	copy = *process;
	copy.deferred_left = UNWIND_DEFERRED_MAX;
	bpf_map_update_elem(&unwind_processes, &child, &copy, BPF_ANY);
}

/* A new program has no mappings yet. */
static __always_inline void unwind_exec(__u32 pid)
{
	struct unwind_process none = {.deferred_left = UNWIND_DEFERRED_MAX};

	bpf_map_update_elem(&unwind_processes, &pid, &none, BPF_ANY);
}

/*
 * A new program is mapped. Looks up the mappings that it needs first, to have them in the cache:
 * that of its entry (in the loader, or in itself if it is static), and its own.
 */
static __always_inline void unwind_begin(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct unwind_mapping mapping;

	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (!settings.use_tables || !mm)
		return;
	find_vma_mapping(REGS_IP(regs), &mapping);
	find_vma_mapping(READ(mm, start_code), &mapping);
}
