// SPDX-License-Identifier: BSD-2-Clause
/* The memory of unwind tables: who gets it when there is not enough for all. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "abi/unwind.h"
#include "base/clock.h"
#include "collect/stacks/unwinder.h"
#include "symbols/unwind/unwind_table.h"
#include "tests/unit/unwinder_maps.h"

enum { RECORDED = 100, WAKER = 200 };
#define FILES	3
#define START	0x10000000ULL
#define END	10 /* when processes end */
#define WAIT_NS 20000000000ULL

/* Libraries that this program maps: each has a table. */
struct library {
	int fd;
	size_t bytes; /* of its table */
};

struct machine {
	struct unwinder_maps maps;
	struct privsep *privsep;
	struct unwinder *unwinder;
	struct library files[FILES]; /* DSO 1 to FILES */
};

static void open_libraries(struct machine *machine)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096], path[4096], last[4096] = "";
	size_t n = 0;

	assert_non_null(maps);
	while (n < FILES && fgets(line, sizeof(line), maps)) {
		_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
		int fd;

		if (sscanf(line, "%*s r-xp %*s %*s %*s %4095s", path) != 1 || path[0] != '/' ||
		    !strcmp(path, last))
			continue;
		strcpy(last, path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(unwind_table__build(fd, &table), 0);
		machine->files[n++] = (struct library){fd, table->n_rows * sizeof(*table->rows)};
	}
	fclose(maps);
	assert_int_equal(n, FILES);
}

/* Room for the tables of the largest file and one other. */
static bool start(struct machine *machine)
{
	size_t all = 0, least = SIZE_MAX;

	*machine = (struct machine){};
	if (!unwinder_maps__create(&machine->maps))
		return false;
	assert_int_equal(privsep__start(&machine->privsep), 0);
	open_libraries(machine);
	for (size_t i = 0; i < FILES; i++) {
		all += machine->files[i].bytes;
		if (machine->files[i].bytes < least)
			least = machine->files[i].bytes;
	}
	assert_int_equal(
		unwinder__new(&machine->maps, all - least, machine->privsep, &machine->unwinder),
		0);
	return true;
}

static void stop(struct machine *machine)
{
	unwinder__free(machine->unwinder);
	privsep__free(machine->privsep);
	for (size_t i = 0; i < FILES; i++)
		close(machine->files[i].fd);
	unwinder_maps__close(&machine->maps);
}

static void map_at(struct machine *machine, uint64_t time, uint32_t pid, uint32_t dso)
{
	const struct unwinder_mapping mapping = {.pid = pid,
						 .file = {.dso = dso,
							  .fd = machine->files[dso - 1].fd,
							  .name = "library",
							  .pid = pid},
						 .time = time,
						 .start = START * dso,
						 .size = 0x1000};

	unwinder__map(machine->unwinder, &mapping);
}

static void map(struct machine *machine, uint32_t pid, uint32_t dso)
{
	map_at(machine, 1, pid, dso);
}

/* Takes the tables that are being built, and tells the kernel side. */
static void publish(struct machine *machine)
{
	unwinder__wait(machine->unwinder, now_ns(CLOCK_MONOTONIC) + WAIT_NS);
	unwinder__publish(machine->unwinder);
}

static bool is_mapped(const struct machine *machine, uint32_t pid, uint32_t dso)
{
	struct unwinder_place place;

	return unwinder__find(machine->unwinder, pid, 2, START * dso, &place);
}

/* A walk in @pid comes to @dso. */
static void walk(struct machine *machine, uint32_t pid, uint32_t dso)
{
	struct unwinder_place place;

	assert_true(unwinder__find(machine->unwinder, pid, 2, START * dso, &place));
	publish(machine);
}

static bool has_table(const struct machine *machine, uint32_t pid, uint32_t dso)
{
	struct unwinder_place place;

	assert_true(unwinder__find(machine->unwinder, pid, 2, START * dso, &place));
	assert_int_equal(unwinder__slot(machine->unwinder, dso) != 0, place.table->rows != NULL);
	return place.table->rows;
}

/* Whether the kernel side's entry for @dso's mapping in @pid names a table. */
static bool kernel_has_table(const struct machine *machine, uint32_t pid, uint32_t dso)
{
	struct unwind_process process;
	struct unwind_mapping mapping;

	assert_int_equal(bpf_map_lookup_elem(machine->maps.processes, &pid, &process), 0);
	for (uint32_t i = process.first; i < process.first + process.n; i++) {
		assert_int_equal(bpf_map_lookup_elem(machine->maps.mappings, &i, &mapping), 0);
		if (mapping.start == START * dso)
			return mapping.n_rows;
	}
	fail();
	return false;
}

/* @pid ends. What it mapped is released two publishes later, and built for others at the next. */
static void end(struct machine *machine, uint32_t pid)
{
	unwinder__end(machine->unwinder, pid, END);
	for (int i = 0; i < UNWINDER_KEPT + 2; i++)
		publish(machine);
}

static void wakers_make_room_for_recorded_processes(void **state)
{
	struct machine machine;

	if (!start(&machine))
		skip();
	map(&machine, WAKER, 1);
	map(&machine, WAKER, 2);
	publish(&machine);
	assert_false(kernel_has_table(&machine, WAKER, 1));
	walk(&machine, WAKER, 1);
	assert_true(kernel_has_table(&machine, WAKER, 1));
	assert_false(kernel_has_table(&machine, WAKER, 2));
	walk(&machine, WAKER, 2);
	assert_true(has_table(&machine, WAKER, 1) && has_table(&machine, WAKER, 2));

	unwinder__record(machine.unwinder, RECORDED);
	map(&machine, RECORDED, 3);
	publish(&machine);
	assert_true(has_table(&machine, RECORDED, 3));
	assert_true(kernel_has_table(&machine, RECORDED, 3));
	assert_false(has_table(&machine, WAKER, 1) && has_table(&machine, WAKER, 2));
	for (uint32_t dso = 1; dso <= 2; dso++)
		assert_int_equal(kernel_has_table(&machine, WAKER, dso),
				 has_table(&machine, WAKER, dso));

	/* When it has ended, there is room again. */
	end(&machine, RECORDED);
	for (uint32_t dso = 1; dso <= 2; dso++) {
		assert_true(has_table(&machine, WAKER, dso));
		assert_true(kernel_has_table(&machine, WAKER, dso));
	}
	stop(&machine);
}

static void wakers_take_nothing_from_anybody(void **state)
{
	struct unwinder_stats stats;
	struct machine machine;

	if (!start(&machine))
		skip();
	unwinder__record(machine.unwinder, RECORDED);
	map(&machine, RECORDED, 1);
	map(&machine, WAKER, 2);
	map(&machine, WAKER + 1, 3);
	publish(&machine);
	walk(&machine, WAKER, 2);
	walk(&machine, WAKER + 1, 3);
	assert_true(has_table(&machine, RECORDED, 1));
	unwinder__stats(machine.unwinder, &stats);
	assert_int_equal(stats.tables.dropped, 0);
	assert_int_equal(stats.tables.refused,
			 !has_table(&machine, WAKER, 2) + !has_table(&machine, WAKER + 1, 3));
	assert_int_equal(stats.tables.refused_recorded, 0);
	stop(&machine);
}

/* A process that is recorded from now on, as are the copies of it. */
static void who_becomes_recorded_is_served_first(void **state)
{
	struct machine machine;

	if (!start(&machine))
		skip();
	map(&machine, WAKER, 1);
	map(&machine, WAKER, 2);
	walk(&machine, WAKER, 1);
	walk(&machine, WAKER, 2);
	map(&machine, RECORDED, 3); /* before unwinder__record() */
	publish(&machine);
	assert_false(kernel_has_table(&machine, RECORDED, 3));
	unwinder__record(machine.unwinder, RECORDED);
	publish(&machine);
	assert_true(has_table(&machine, RECORDED, 3));
	assert_true(kernel_has_table(&machine, RECORDED, 3));

	assert_true(unwinder__fork(machine.unwinder, RECORDED, RECORDED + 1));
	end(&machine, RECORDED);
	assert_true(has_table(&machine, RECORDED + 1, 3));
	map(&machine, WAKER, 1);
	map(&machine, WAKER, 2);
	publish(&machine);
	assert_true(has_table(&machine, RECORDED + 1, 3));
	stop(&machine);
}

/* Mappings are told late: those of a process that has ended add to it, unless its pid is reused. */
static void mappings_may_be_told_after_the_end(void **state)
{
	struct machine machine;

	if (!start(&machine))
		skip();
	map(&machine, RECORDED, 1);
	unwinder__end(machine.unwinder, RECORDED, END);
	map_at(&machine, END - 1, RECORDED, 2);
	assert_true(is_mapped(&machine, RECORDED, 1) && is_mapped(&machine, RECORDED, 2));
	map_at(&machine, END, RECORDED, 3);
	assert_false(is_mapped(&machine, RECORDED, 1) || is_mapped(&machine, RECORDED, 2));
	assert_true(is_mapped(&machine, RECORDED, 3));
	stop(&machine);
}

static void map_other_at(struct machine *machine, uint64_t time, uint32_t dso, uint32_t origin)
{
	const struct unwinder_mapping mapping = {
		.pid = RECORDED,
		.file = {.dso = dso,
			 .fd = machine->files[dso - 1].fd,
			 .name = "library",
			 .pid = RECORDED},
		.time = time,
		.start = START,
		.size = 0x1000,
		.origin = origin,
	};

	unwinder__map(machine->unwinder, &mapping);
}

/* The origin of what was mapped at START at @time; 0: none. */
static uint32_t origin_at(const struct machine *machine, uint64_t time)
{
	struct unwinder_origin origin;

	return unwinder__origin(machine->unwinder, RECORDED, time, START, false, &origin)
		       ? origin.origin
		       : 0;
}

/* Of a library that was closed and another one that was opened there, both are found for a while.
 */
static void a_replaced_mapping_is_found_at_its_time(void **state)
{
	struct machine machine;

	if (!start(&machine))
		skip();
	map_other_at(&machine, 10, 1, 1);
	map_other_at(&machine, 20, 2, 2);
	map_other_at(&machine, 30, 1, 1);
	map_other_at(&machine, 40, 1, 1); /* mprotect() */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(origin_at(&machine, 15), 1);
		assert_int_equal(origin_at(&machine, 25), 2);
		assert_int_equal(origin_at(&machine, 35), 1);
		assert_int_equal(origin_at(&machine, 45), 1);
		publish(&machine);
	}
	for (int i = 0; i < UNWINDER_KEPT; i++) { /* replacing more keeps nothing longer */
		map_other_at(&machine, 50 + (uint64_t)i, 1 + i % 2, 10 + (uint32_t)i);
		publish(&machine);
	}
	assert_int_equal(origin_at(&machine, 15), 10 + UNWINDER_KEPT - 1);
	assert_int_equal(origin_at(&machine, 25), 10 + UNWINDER_KEPT - 1);
	assert_int_equal(origin_at(&machine, 52), 12);
	stop(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wakers_make_room_for_recorded_processes),
		cmocka_unit_test(wakers_take_nothing_from_anybody),
		cmocka_unit_test(who_becomes_recorded_is_served_first),
		cmocka_unit_test(mappings_may_be_told_after_the_end),
		cmocka_unit_test(a_replaced_mapping_is_found_at_its_time),
	};

	return cmocka_run_group_tests_name("unwinder", tests, NULL, NULL);
}
