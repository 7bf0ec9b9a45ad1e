// SPDX-License-Identifier: BSD-2-Clause
/* Which memory of a process is taken for its shadow stacks: here, of this process. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "collect/latency/shadow_memory_map.h"

#define SIZE ((size_t)SHADOW_STACKS * SHADOW_STACK_SIZE)

static struct shadow_memory *make_memory(unsigned int seals)
{
	int fd = memfd_create(SHADOW_MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct shadow_memory *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	*memory = (struct shadow_memory){.magic = SHADOW_MAGIC,
					 .version = SHADOW_VERSION,
					 .pid = (uint32_t)getpid(),
					 .stacks = SHADOW_STACKS - 1};
	return memory;
}

/* Expects shadow_memory_map__update() to return @wanted; unmaps @memory. */
static void expect(struct shadow_memory *memory, int wanted)
{
	struct shadow_memory_map map = {.pid = (uint32_t)getpid()};

	if (geteuid()) /* map_files is for those with CAP_CHECKPOINT_RESTORE */
		skip();
	assert_int_equal(shadow_memory_map__update(&map), wanted);
	if (wanted == 1) {
		assert_int_equal(shadow_memory_map__update(&map), 0); /* nothing new */
		assert_false(shadow_memory_map__has_grown(&map));
		memory->next = 4096;
		assert_true(shadow_memory_map__has_grown(&map));
	}
	shadow_memory_map__free(&map);
	munmap(memory, SIZE);
}

static void own_memory_is_mapped(void **state)
{
	expect(make_memory(F_SEAL_SHRINK), 1);
}

/* A child's, before it has memory of its own. */
static void memory_of_another_process_is_not(void **state)
{
	struct shadow_memory *memory = make_memory(F_SEAL_SHRINK);

	memory->pid++;
	expect(memory, 0);
}

static void memory_that_is_not_complete_is_not(void **state)
{
	struct shadow_memory *memory = make_memory(F_SEAL_SHRINK);

	memory->magic = 0;
	expect(memory, 0);
}

static void other_versions_are_refused(void **state)
{
	struct shadow_memory *memory = make_memory(F_SEAL_SHRINK);

	memory->version++;
	expect(memory, -EPROTO);
	assert_non_null(strstr(error__message(-EPROTO), "another version"));
	memory = make_memory(F_SEAL_SHRINK);
	memory->stacks = 1 << 20;
	expect(memory, -EPROTO);
}

/* The program could truncate it, and dwell would crash. */
static void memory_that_can_shrink_is_refused(void **state)
{
	expect(make_memory(0), -EPROTO);
}

static void processes_that_have_ended(void **state)
{
	struct shadow_memory_map map = {.pid = INT32_MAX};

	assert_int_equal(shadow_memory_map__update(&map), -ESRCH);
	shadow_memory_map__free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_memory_is_mapped),
		cmocka_unit_test(memory_of_another_process_is_not),
		cmocka_unit_test(memory_that_is_not_complete_is_not),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(memory_that_can_shrink_is_refused),
		cmocka_unit_test(processes_that_have_ended),
	};

	return cmocka_run_group_tests_name("shadow memory", tests, NULL, NULL);
}
