// SPDX-License-Identifier: BSD-2-Clause
/* What waits are for, by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "abi/event.h"
#include "collect/record/objects.h"
#include "recording/recording.h"

#define NO_PROCESS 0x7fffffff

/* The file that is mapped at @at, as an event tells of it. */
static struct event_object object_at(const void *at)
{
	struct event_object object = {.type = OBJECT_FILE, .mode = S_IFREG, .fd = UINT32_MAX};
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, until, inode;
	unsigned int major, minor;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &from, &until, &major, &minor,
			   &inode) == 5 &&
		    from == (unsigned long)at) {
			object.id = inode;
			object.extra = major << 20 | minor;
		}
	fclose(maps);
	assert_int_not_equal(object.id, 0);
	return object;
}

/* The name of object @number in the recording at @path; "": it has none. */
static void read_name(const char *path, uint32_t number, char name[512])
{
	struct recording_reader *reader;
	struct record record;
	char strings[64][512] = {};

	name[0] = '\0';
	assert_int_equal(recording_reader__open(path, &reader), 0);
	while (recording_reader__next(reader, &record) == 1) {
		if (record.type == RECORD_STRING && record.string.number < 64)
			snprintf(strings[record.string.number], 512, "%s", record.string.bytes);
		if (record.type == RECORD_OBJECT && record.object.number == number &&
		    record.object.name < 64)
			snprintf(name, 512, "%s", strings[record.object.name]);
	}
	recording_reader__close(reader);
}

/* A file that one process, which is gone, had mapped is looked for in the next one, too. */
static void test_file_of_several_processes(void **state)
{
	char file[] = "/tmp/dwell-mapped-XXXXXX", path[64], name[512];
	struct recording_writer *writer;
	struct objects objects = {};
	struct event_object object;
	uint32_t number;
	int fd = mkstemp(file);
	void *at;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	object = object_at(at);
	snprintf(path, sizeof(path), "/tmp/dwell-objects-%d.data", getpid());
	assert_int_equal(recording_writer__create(path, &writer), 0);
	objects.stream = recording_writer__stream(writer);
	objects__number(&objects, &object, NO_PROCESS);
	number = objects__number(&objects, &object, (uint32_t)getpid());
	objects__free(&objects);
	assert_int_equal(recording_writer__close(writer), 0);
	read_name(path, number, name);
	assert_string_equal(name, file);
	munmap(at, 4096);
	close(fd);
	unlink(file);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_file_of_several_processes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
