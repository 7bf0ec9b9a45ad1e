// SPDX-License-Identifier: BSD-2-Clause
/* Which memory of a process is taken for its shadow stacks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "collect/latency/shadow_memory_map.h"

#define SIZE ((size_t)SHADOW_STACKS * SHADOW_STACK_SIZE)

/* Memory as dwell-cc's programs have it, but for what a test changes. */
struct given {
	unsigned int seals;
	size_t size;		     /* of the memory; 0: as usual */
	const char *path;	     /* of a file in place of memory; NULL: memory */
	struct shadow_memory memory; /* pid is added to the process's own */
};

static const struct given usual = {
	.seals = F_SEAL_SHRINK,
	.memory = {.magic = SHADOW_MAGIC, .version = SHADOW_VERSION, .stacks = SHADOW_STACKS - 1},
};

/* In a child: makes the memory, writes a byte to @ready, and waits to be killed. */
static void hold_memory(const struct given *given, int ready)
{
	int fd = given->path ? open(given->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
			     : memfd_create(SHADOW_MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	off_t size = (off_t)(given->size ? given->size : SIZE);
	struct shadow_memory *memory;

	if (fd < 0 || ftruncate(fd, size) || (!given->path && fcntl(fd, F_ADD_SEALS, given->seals)))
		_exit(1);
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	*memory = given->memory;
	memory->pid += (uint32_t)getpid();
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Expects shadow_memory_map__update() to return @wanted for a process with @given. */
static void expect(const struct given *given, int wanted)
{
	struct shadow_memory_map map = {};
	int ends[2], result, again;
	bool has_grown;
	char byte;

	if (geteuid()) /* map_files needs CAP_CHECKPOINT_RESTORE */
		skip();
	assert_int_equal(pipe(ends), 0);
	map.pid = (uint32_t)fork();
	if (!map.pid)
		hold_memory(given, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	result = shadow_memory_map__update(&map);
	again = shadow_memory_map__update(&map);
	has_grown = shadow_memory_map__has_grown(&map);
	shadow_memory_map__free(&map);
	kill((pid_t)map.pid, SIGKILL);
	waitpid((pid_t)map.pid, NULL, 0);
	assert_int_equal(result, wanted);
	assert_int_equal(again, wanted == 1 ? 0 : wanted);
	assert_int_equal(has_grown, wanted == 1 && given->memory.next);
}

static void own_memory_is_mapped(void **state)
{
	struct given given = usual;

	expect(&given, 1);
	given.memory.next = 4096; /* there is more */
	expect(&given, 1);
}

/* A child's, before it has memory of its own. */
static void memory_of_another_process_is_not(void **state)
{
	struct given given = usual;

	given.memory.pid = 1;
	expect(&given, 0);
}

static void memory_that_is_not_complete_is_not(void **state)
{
	struct given given = usual;

	given.memory.magic = 0;
	expect(&given, 0);
}

static void other_versions_are_refused(void **state)
{
	struct given given = usual;

	given.memory.version++;
	expect(&given, -EPROTO);
	assert_non_null(strstr(error__message(-EPROTO), "another version"));
	given = usual;
	given.memory.stacks = 1 << 20;
	expect(&given, -EPROTO);
}

/* The program could truncate it, and dwell would crash. */
static void memory_that_can_shrink_is_refused(void **state)
{
	struct given given = usual;

	given.seals = 0;
	expect(&given, -EPROTO);
}

/* It is mapped in the process beyond its end, where reads raise SIGBUS. */
static void memory_that_is_too_short_is_not(void **state)
{
	struct given given = usual;

	given.size = 4096;
	expect(&given, 0);
	given.size = SIZE - 4096;
	expect(&given, 0);
}

/* It could be truncated at any time, and opened only in a while. */
static void files_with_such_a_name_are_not(void **state)
{
	char folder[] = "/tmp/dwell-shadow-XXXXXX", path[128];
	struct given given = usual;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/memfd:%s (deleted)", folder, SHADOW_MEMORY_NAME);
	given.path = path;
	expect(&given, 0);
	unlink(path);
	rmdir(folder);
}

/* Programs write the tids of their threads; only those of their own count. */
static void threads_of_others_are_unknown(void **state)
{
	struct shadow_memory memory = {.pid = (uint32_t)getpid()};
	struct shadow_memory_map map = {.pid = (uint32_t)getpid()};

	assert_int_equal(array__push(&map.mappings, ((struct shadow_mapping){.memory = &memory})),
			 0);
	assert_int_equal(shadow_memory_map__tid(&map, (uint32_t)getpid()), getpid());
	assert_int_equal(shadow_memory_map__tid(&map, 1), 0);
	assert_int_equal(shadow_memory_map__tid(&map, 0), 0);
	array__free(&map.mappings);
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
		cmocka_unit_test(memory_that_is_too_short_is_not),
		cmocka_unit_test(files_with_such_a_name_are_not),
		cmocka_unit_test(threads_of_others_are_unknown),
		cmocka_unit_test(processes_that_have_ended),
	};

	return cmocka_run_group_tests_name("shadow memory", tests, NULL, NULL);
}
