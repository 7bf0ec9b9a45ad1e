// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests to a disk of which the kernel side sees the issue, but never the completion: at the
 * address of each, which the kernel uses again, the next one begins anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/call_probe.h"
#include "abi/capture.h"
#include "base/clock.h"
#include "bpf/record.skel.h"

#define BLOCK 4096
#define READS 3000 /* more than a queue has requests */

/* As struct request_state of bpf/record/device.bpf.h. */
struct request {
	uint64_t begun;
	uint64_t issued;
	uint64_t sector;
	uint32_t bytes;
	uint32_t feeder;
	uint8_t op;
};

static struct record_bpf *programs;
static void *block;

static int open_programs(void **state)
{
	struct bpf_program *program;

	programs = record_bpf__open();
	block = aligned_alloc(BLOCK, BLOCK);
	if (!programs || !block)
		return -1;
	bpf_object__for_each_program(program, programs->obj)
		bpf_program__set_autoload(program, program == programs->progs.on_io_issue);
	programs->rodata_capture->settings.period_ns = 1000000;
	memset(block, 1, BLOCK);
	return 0;
}

static int close_programs(void **state)
{
	record_bpf__destroy(programs);
	free(block);
	return 0;
}

/* Whether a request is known that began and was issued at or after @time. */
static bool is_known(int requests, uint64_t time)
{
	uint64_t key, *previous = NULL;
	struct request request;

	for (; !bpf_map_get_next_key(requests, previous, &key); previous = &key)
		if (!bpf_map_lookup_elem(requests, &key, &request) && request.begun >= time &&
		    request.issued >= time)
			return true;
	return false;
}

/* An open file of one block that is read from the disk; negative: there is none here. */
static int open_file(void)
{
	char name[] = "/var/tmp/test-device-XXXXXX";
	int fd = mkstemp(name), direct;

	if (fd < 0)
		return -1;
	direct = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
	unlink(name);
	if (write(fd, block, BLOCK) != BLOCK || fsync(fd) || direct < 0) {
		close(fd);
		return -1;
	}
	close(fd);
	return direct;
}

/*
 * Whether a read is seen to begin. Tried again: if this thread loses its CPU after it for 10 ms, a
 * request of another program may find that it has completed.
 */
static bool is_seen(int requests, int fd)
{
	for (int i = 0; i < 5; i++) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		assert_int_equal(pread(fd, block, BLOCK, 0), BLOCK);
		if (is_known(requests, now))
			return true;
	}
	return false;
}

/* Begins to see requests. A file descriptor to read from; negative: there are no requests here. */
static int start(void)
{
	int fd = open_file();

	if (fd < 0 || record_bpf__load(programs) || record_bpf__attach(programs))
		return -1;
	programs->data_capture->capture.active = 1;
	return fd;
}

static void a_request_begins_anew(void **state)
{
	int fd = start(), requests;

	if (fd < 0)
		skip();
	requests = bpf_map__fd(programs->maps.requests);
	if (!is_seen(requests, fd))
		skip(); /* no disk with requests */
	for (int i = 1; i < READS; i++)
		assert_true(is_seen(requests, fd));
	close(fd);
}

/* With room for one, which is there already. */
static void too_many_requests_are_counted(void **state)
{
	const struct request other = {};
	uint64_t key = 1;
	uint32_t device;
	int fd;

	assert_int_equal(bpf_map__set_max_entries(programs->maps.requests, 1), 0);
	fd = start();
	if (fd < 0)
		skip();
	assert_int_equal(
		bpf_map_update_elem(bpf_map__fd(programs->maps.requests), &key, &other, BPF_ANY),
		0);
	assert_int_equal(pread(fd, block, BLOCK, 0), BLOCK);
	if (bpf_map_get_next_key(bpf_map__fd(programs->maps.devices), NULL, &device))
		skip(); /* no disk with requests */
	assert_true(programs->data_capture->capture.losses[LOSS_REQUEST] > 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_begins_anew, open_programs,
						close_programs),
		cmocka_unit_test_setup_teardown(too_many_requests_are_counted, open_programs,
						close_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
