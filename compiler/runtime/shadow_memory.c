// SPDX-License-Identifier: BSD-2-Clause
#include "compiler/runtime/shadow_memory.h"

#include <errno.h>
#include <fcntl.h>

#include "compiler/runtime/system.h"

#define MAPPING_SIZE ((size_t)SHADOW_STACKS * SHADOW_STACK_SIZE)
#define MAX_MAPPINGS 64

SHARED __thread struct shadow_thread __dwell_shadow;
SHARED struct shadow_memory *__dwell_shadow_memory;

/* Negative if there is none. */
static long make_file(void)
{
	const long flags = MFD_CLOEXEC | MFD_ALLOW_SEALING, seals = F_SEAL_SHRINK | F_SEAL_GROW;
	long fd = system_call(SYS_memfd_create, (long)SHADOW_MEMORY_NAME, flags, 0, 0, 0, 0);

	/* Its size is fixed, so that dwell can rely on it. */
	if (fd >= 0 && (system_call(SYS_ftruncate, fd, MAPPING_SIZE, 0, 0, 0, 0) < 0 ||
			system_call(SYS_fcntl, fd, F_ADD_SEALS, seals, 0, 0, 0) < 0)) {
		system_call(SYS_close, fd, 0, 0, 0, 0, 0);
		return -1;
	}
	return fd;
}

/* Without a file, the memory is private: the program runs, but cannot be scanned. */
void shadow_memory__renew(struct shadow_memory *memory, uint64_t next)
{
	long fd = make_file();

	system__map(memory, MAPPING_SIZE, fd < 0 ? -1 : fd);
	if (fd >= 0)
		system_call(SYS_close, fd, 0, 0, 0, 0, 0);
	memory->version = SHADOW_VERSION;
	memory->pid = system__pid();
	/* Calls that the last stack has no room for write behind it. */
	memory->stacks = SHADOW_STACKS - 1;
	memory->next = next;
	__atomic_store_n(&memory->magic, SHADOW_MAGIC, __ATOMIC_RELEASE);
}

/* At a multiple of the size of its stacks. NULL without memory. */
static struct shadow_memory *make_mapping(void)
{
	char *area = system__map(NULL, MAPPING_SIZE + SHADOW_STACK_SIZE, -1);
	size_t before;

	if (!area)
		return NULL;
	before = -(uintptr_t)area & (SHADOW_STACK_SIZE - 1);
	if (before)
		system__unmap(area, before);
	if (before < SHADOW_STACK_SIZE)
		system__unmap(area + before + MAPPING_SIZE, SHADOW_STACK_SIZE - before);
	shadow_memory__renew((struct shadow_memory *)(area + before), 0);
	return (struct shadow_memory *)(area + before);
}

/* Stores a new mapping in @link, unless another thread was faster. Returns the one in @link. */
/* NOLINTNEXTLINE(readability-non-const-parameter): written by the builtin */
static struct shadow_memory *add_mapping(uint64_t *link)
{
	struct shadow_memory *memory = make_mapping();
	uint64_t none = 0;

	if (!memory)
		return NULL;
	if (__atomic_compare_exchange_n(link, &none, (uint64_t)memory, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return memory;
	system__unmap(memory, MAPPING_SIZE);
	return (struct shadow_memory *)none;
}

struct shadow_memory *shadow_memory__first(void)
{
	struct shadow_memory *first = __atomic_load_n(&__dwell_shadow_memory, __ATOMIC_ACQUIRE);

	return first ? first : add_mapping((uint64_t *)&__dwell_shadow_memory);
}

struct shadow_memory *shadow_memory__next(struct shadow_memory *memory, int make)
{
	uint64_t next = __atomic_load_n(&memory->next, __ATOMIC_ACQUIRE);

	return next || !make ? (struct shadow_memory *)next : add_mapping(&memory->next);
}

int shadow_stack__is_abandoned(const struct shadow_stack *stack)
{
	return stack->tid &&
	       system_call(SYS_tgkill, system__pid(), stack->tid, 0, 0, 0, 0) == -ESRCH;
}

#define EXITING 4 /* PF_EXITING, include/linux/sched.h */

/* Writes "/proc/self/task/TID/stat". */
static void put_stat_path(uint32_t tid, char path[48])
{
	static const char before[] = "/proc/self/task/", behind[] = "/stat";
	char digits[10];
	size_t n = 0, at = 0;

	do
		digits[n++] = (char)('0' + tid % 10);
	while (tid /= 10);
	for (; before[at]; at++)
		path[at] = before[at];
	while (n)
		path[at++] = digits[--n];
	for (size_t i = 0; i < sizeof(behind); i++)
		path[at++] = behind[i];
}

/* The flags in the @n bytes of a file "stat", proc(5): the seventh field after the command. */
static uint64_t flags_in(const char *text, long n)
{
	uint64_t flags = 0;
	long at = n;

	while (at > 0 && text[at - 1] != ')')
		at--;
	/* @text is written by a system call, which the analyzer does not see. */
	for (int spaces = 0; at < n && spaces < 7; at++)
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		spaces += text[at] == ' ';
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
		flags = flags * 10 + (uint64_t)(text[at] - '0');
	return flags;
}

int shadow_stack__is_ended(const struct shadow_stack *stack)
{
	char path[48], text[256];
	long fd, n;

	if (!stack->tid || shadow_stack__is_abandoned(stack))
		return stack->tid != 0;
	put_stat_path(stack->tid, path);
	fd = system_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	n = fd < 0 ? fd : system_call(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0);
	if (fd >= 0)
		system_call(SYS_close, fd, 0, 0, 0, 0, 0);
	/* It may be gone by now, or there is no /proc. */
	return n > 0 ? (flags_in(text, n) & EXITING) != 0 : shadow_stack__is_abandoned(stack);
}

static int take(struct shadow_stack *stack, uint32_t state)
{
	return __atomic_compare_exchange_n(&stack->state, &state, SHADOW_NEW, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

int shadow_stack__claim(struct shadow_stack *stack)
{
	return take(stack, SHADOW_USED);
}

/* One that is not in use, else one whose thread has ended. */
static struct shadow_stack *take_in(struct shadow_memory *memory)
{
	struct shadow_stack *stacks = (struct shadow_stack *)memory;

	for (uint32_t i = 1; i < memory->stacks; i++)
		if ((stacks[i].state == SHADOW_LEFT && take(&stacks[i], SHADOW_LEFT)) ||
		    (stacks[i].state == SHADOW_FREE && take(&stacks[i], SHADOW_FREE)))
			return &stacks[i];
	for (uint32_t i = 1; i < memory->stacks; i++)
		if (stacks[i].state == SHADOW_USED && shadow_stack__is_abandoned(&stacks[i]) &&
		    take(&stacks[i], SHADOW_USED))
			return &stacks[i];
	return NULL;
}

struct shadow_stack *shadow_memory__take(void)
{
	struct shadow_memory *memory = shadow_memory__first();

	for (int i = 0; memory && i < MAX_MAPPINGS; i++) {
		struct shadow_stack *stack = take_in(memory);

		if (stack)
			return stack;
		memory = shadow_memory__next(memory, 1);
	}
	return NULL;
}

struct shadow_entry *shadow_stack__end(struct shadow_stack *stack)
{
	struct shadow_entry *entry = stack->entries;
	uint64_t below = 0;

	for (; entry < stack->entries + SHADOW_DEPTH; entry++) {
		if (!(entry->generation & 1) || entry->generation < below)
			break;
		below = entry->generation;
	}
	return entry;
}

void shadow_stack__clear(struct shadow_stack *stack)
{
	for (struct shadow_entry *entry = shadow_stack__end(stack); entry-- > stack->entries;)
		entry->generation = 0;
}
