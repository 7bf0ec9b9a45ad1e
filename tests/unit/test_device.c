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

static struct record_bpf *open_programs(void)
{
	struct record_bpf *skeleton = record_bpf__open();
	struct bpf_program *program;

	assert_non_null(skeleton);
	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, program == skeleton->progs.on_io_issue);
	skeleton->rodata_capture->settings.period_ns = 1000000;
	return skeleton;
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
static int open_file(void *block)
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
static bool is_seen(int requests, int fd, void *block)
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
static int start(struct record_bpf *skeleton, void **block)
{
	int fd;

	*block = aligned_alloc(BLOCK, BLOCK);
	assert_non_null(*block);
	memset(*block, 1, BLOCK);
	fd = open_file(*block);
	if (fd < 0 || record_bpf__load(skeleton) || record_bpf__attach(skeleton))
		return -1;
	skeleton->data_capture->capture.active = 1;
	return fd;
}

static void a_request_begins_anew(void **state)
{
	struct record_bpf *skeleton = open_programs();
	void *block;
	int fd = start(skeleton, &block), requests;

	if (fd < 0)
		skip();
	requests = bpf_map__fd(skeleton->maps.requests);
	if (!is_seen(requests, fd, block))
		skip(); /* no disk with requests */
	for (int i = 1; i < READS; i++)
		assert_true(is_seen(requests, fd, block));
	close(fd);
	free(block);
	record_bpf__destroy(skeleton);
}

/* With room for one, which stays: any at another address is a loss. */
static void too_many_requests_are_counted(void **state)
{
	struct record_bpf *skeleton = open_programs();
	const __u64 *losses;
	uint64_t key, lost = 0;
	void *block;
	int fd, requests;

	assert_int_equal(bpf_map__set_max_entries(skeleton->maps.requests, 1), 0);
	fd = start(skeleton, &block);
	if (fd < 0)
		skip();
	requests = bpf_map__fd(skeleton->maps.requests);
	losses = skeleton->data_capture->capture.losses;
	for (int i = 0; i < READS && !lost; i++) {
		assert_int_equal(pread(fd, block, BLOCK, 0), BLOCK);
		lost = __atomic_load_n(&losses[LOSS_REQUEST], __ATOMIC_RELAXED);
	}
	if (bpf_map_get_next_key(requests, NULL, &key))
		skip(); /* no disk with requests */
	assert_true(lost > 0);
	close(fd);
	free(block);
	record_bpf__destroy(skeleton);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_begins_anew),
		cmocka_unit_test(too_many_requests_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
