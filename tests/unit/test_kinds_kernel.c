// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel side's compilation of abi/kind_steps.h, in the kernel: by the cases that user
 * space's is held against, by stacks drawn at random, and with descriptors of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "abi/capture.h"
#include "wait_kinds/kind_clues.h"
#include "wait_kinds/kind_table.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "arch/syscalls.h"
#include "tests/unit/kind_cases.h"
#include "tests/unit/kind_steps.skel.h"

#define KERNEL_TEXT   0xffffffff81000000
#define FUNCTION_SIZE 64
#define RANDOM_STACKS 20000
#define WAITED_FD     BPF_PROG_TEST_RUN /* bpf()'s first argument, taken for a descriptor */

static struct kind_steps_bpf *kernel; /* NULL: it cannot be loaded here */

/* Of each row of the table the address of its function, with holes between functions. */
static uint64_t starts[KIND_RANGES_MAX];

static void place_functions(void)
{
	for (size_t i = 0; i < n_kind_functions; i++) {
		size_t first = 0;

		while (strcmp(kind_functions[first].name, kind_functions[i].name) != 0)
			first++;
		starts[i] = KERNEL_TEXT + first * 2 * FUNCTION_SIZE;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct kind_range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (int)left->reserved - (int)right->reserved;
}

static void fill_ranges(void)
{
	struct kind_range *ranges = kernel->bss->kind_ranges;

	for (size_t i = 0; i < n_kind_functions; i++)
		ranges[i] = (struct kind_range){
			.start = starts[i],
			.end = starts[i] + FUNCTION_SIZE,
			.clue = kind_functions[i].clue,
			.reserved = (uint32_t)i,
		};
	qsort(ranges, n_kind_functions, sizeof(*ranges), by_start);
	kernel->bss->kind_n_ranges = (uint32_t)n_kind_functions;
}

static int load(void **state)
{
	int err;

	kernel = kind_steps_bpf__open();
	assert_non_null(kernel);
	kernel->rodata_capture->settings.nr_poll = kernel->rodata_capture->settings.nr_ppoll = -1;
	kernel->rodata_capture->settings.syscall_takes_fd[SYS_bpf] = true;
	err = kind_steps_bpf__load(kernel);
	if (err == -EPERM) {
		printf("# the kernel lets only privileged users load programs\n");
		kind_steps_bpf__destroy(kernel);
		kernel = NULL;
		return 0;
	}
	assert_int_equal(err, 0);
	place_functions();
	fill_ranges();
	return 0;
}

static int unload(void **state)
{
	kind_steps_bpf__destroy(kernel);
	return 0;
}

static void run_program(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &options), 0);
}

/* What the kernel says of @wait with @n @frames on its kernel stack. */
static uint32_t kernel_says(const struct kind_wait *wait, const uint64_t *frames, size_t n)
{
	/* The innermost frame is the program's own. */
	kernel->bss->frames[0] = KERNEL_TEXT - 1;
	if (n)
		memcpy(&kernel->bss->frames[1], frames, n * sizeof(*frames));
	kernel->bss->n_frames = (uint32_t)n + 1;
	kernel->bss->wait = *wait;
	kernel->bss->kind = KIND_NONE;
	run_program(kernel->progs.classify);
	return kernel->bss->kind;
}

/* A return address in the function called @name, a suffix apart; 0: not in the table. */
static uint64_t address_of(const char *name)
{
	size_t length = strcspn(name, ".");

	for (size_t i = 0; i < n_kind_functions; i++)
		if (strlen(kind_functions[i].name) == length &&
		    !memcmp(kind_functions[i].name, name, length))
			return starts[i] + FUNCTION_SIZE / 2;
	return 0;
}

static void same_as_user_space(void **state)
{
	if (!kernel)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(kind_cases); i++) {
		const struct kind_case *c = &kind_cases[i];
		const struct kind_wait wait = {
			.class = (uint8_t)c->class,
			.syscall_kind = (uint8_t)kind_syscall__kind(
				NULL, c->syscall ? syscall_number(c->syscall) : -1),
			.flags = c->flags,
			.object = c->object.type,
			.family = c->object.family,
			.protocol = c->object.protocol,
			.mode = c->object.mode,
		};
		uint64_t frames[KIND_CASE_DEPTH];
		const char *name;
		size_t n = 0;

		for (; n < KIND_CASE_DEPTH && c->functions[n]; n++)
			frames[n] = address_of(c->functions[n]);
		name = kind__name(kernel_says(&wait, frames, n));
		if (strncmp(c->expected, name, strlen(name)) != 0 ||
		    (c->expected[strlen(name)] && c->expected[strlen(name)] != ' '))
			fail_msg("case %zu: '%s' instead of '%s'", i, name, c->expected);
	}
}

static uint32_t draw(uint32_t below)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(seed >> 33) % below;
}

static struct kind_wait random_wait(void)
{
	static const uint32_t families[] = {AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
	static const uint32_t protocols[] = {0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP};
	static const uint32_t modes[] = {0, S_IFIFO, S_IFREG | 0644, S_IFCHR, S_IFSOCK};

	return (struct kind_wait){
		.class = (uint8_t)draw(CLASS_COUNT),
		.syscall_kind = (uint8_t)kind_syscall__kind(NULL, (int)draw(SYSCALLS_MAX)),
		.flags = (uint16_t)draw(4),
		.object = (uint8_t)draw(OBJECT_LIMIT + 1),
		.family = families[draw(ARRAY_SIZE(families))],
		.protocol = protocols[draw(ARRAY_SIZE(protocols))],
		.mode = modes[draw(ARRAY_SIZE(modes))],
	};
}

/* Any stack, at any place of its functions, the very end included: a call may be the last. */
static void same_for_random_stacks(void **state)
{
	size_t seen[KIND_COUNT] = {}, kinds = 0;

	if (!kernel)
		skip();
	for (size_t i = 0; i < RANDOM_STACKS; i++) {
		const struct kind_wait wait = random_wait();
		struct kind_evidence evidence = {};
		uint64_t frames[8];
		size_t n = draw(ARRAY_SIZE(frames));
		uint32_t told, expected;

		for (size_t k = 0; k < n; k++) {
			size_t function = draw((uint32_t)n_kind_functions);

			frames[k] = starts[function] + 1 + draw(2 * FUNCTION_SIZE);
			if (frames[k] > starts[function] + FUNCTION_SIZE)
				continue; /* of another function, which gives no clue */
			for (size_t row = 0; row < n_kind_functions; row++)
				if (starts[row] == starts[function])
					kind_evidence__add(&evidence, &kind_functions[row].clue);
		}
		expected = kind__decide(&evidence, &wait);
		told = kernel_says(&wait, frames, n);
		if (told != expected)
			fail_msg("stack %zu: '%s' instead of '%s'", i, kind__name(told),
				 kind__name(expected));
		kinds += !seen[told]++;
	}
	/* It is worth something: most kinds came up. */
	assert_in_range(kinds, KIND_COUNT * 3 / 4, KIND_COUNT);
}

/* What the kernel side sees behind @fd, which it closes. */
static struct kind_wait described(int fd)
{
	assert_in_range(fd, 0, 1023);
	assert_int_equal(dup2(fd, WAITED_FD), WAITED_FD);
	if (fd != WAITED_FD)
		close(fd);
	kernel->bss->kind_by_syscall[SYS_bpf] = KIND_DISK_READ;
	kernel->bss->wait = (struct kind_wait){};
	run_program(kernel->progs.describe);
	close(WAITED_FD);
	return kernel->bss->wait;
}

static void sockets_are_seen(void **state)
{
	static const struct {
		int family, type;
		uint32_t protocol;
		enum wait_kind kind;
	} sockets[] = {
		{AF_INET, SOCK_STREAM, IPPROTO_TCP, KIND_TCP_RECEIVE},
		{AF_INET6, SOCK_STREAM, IPPROTO_TCP, KIND_TCP_RECEIVE},
		{AF_INET, SOCK_DGRAM, IPPROTO_UDP, KIND_UDP_RECEIVE},
		{AF_UNIX, SOCK_STREAM, 0, KIND_UNIX_RECEIVE},
		{AF_NETLINK, SOCK_RAW, 0, KIND_SOCKET_RECEIVE},
	};

	if (!kernel)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
		int fd = socket(sockets[i].family, sockets[i].type, 0);
		struct kind_wait wait;

		if (fd < 0 && errno == EAFNOSUPPORT) /* a machine without IPv6 */
			continue;
		kernel->bss->waiter_class = CLASS_OTHER;
		wait = described(fd);
		assert_int_equal(wait.class, CLASS_OTHER);
		assert_int_equal(wait.syscall_kind, KIND_DISK_READ);
		assert_int_equal(wait.object, OBJECT_SOCKET);
		assert_int_equal(wait.family, sockets[i].family);
		assert_int_equal(wait.protocol, sockets[i].protocol);
		assert_int_equal(kernel_says(&wait, NULL, 0), sockets[i].kind);
	}
}

static void files_are_seen(void **state)
{
	struct kind_wait wait;
	int ends[2];

	if (!kernel)
		skip();
	kernel->bss->waiter_class = CLASS_OTHER;
	assert_int_equal(pipe(ends), 0);
	wait = described(ends[0]);
	close(ends[1]);
	assert_int_equal(wait.object, OBJECT_FILE);
	assert_true(S_ISFIFO(wait.mode));
	assert_int_equal(kernel_says(&wait, NULL, 0), KIND_PIPE_READ);

	wait = described(open("/proc/self/exe", O_RDONLY));
	assert_int_equal(wait.object, OBJECT_FILE);
	assert_true(S_ISREG(wait.mode));
	assert_int_equal(kernel_says(&wait, NULL, 0), KIND_OTHER);
	wait.class = CLASS_IO;
	assert_int_equal(kernel_says(&wait, NULL, 0), KIND_DISK_READ);

	wait = described(epoll_create1(0)); /* an anonymous inode */
	assert_int_equal(wait.object, OBJECT_NONE);

	kernel->bss->kind_by_syscall[SYS_bpf] = KIND_DISK_READ;
	run_program(kernel->progs.describe); /* a descriptor that is not open */
	assert_int_equal(kernel->bss->wait.object, OBJECT_NONE);
}

/* In a read() of a pipe, say, a thread waits for the pipe's mutex. */
static void lock_hides_descriptor(void **state)
{
	struct kind_wait wait;

	if (!kernel)
		skip();
	kernel->bss->waiter_class = CLASS_LOCK;
	kernel->bss->waiter_lock = 1;
	wait = described(socket(AF_INET, SOCK_STREAM, 0));
	kernel->bss->waiter_lock = 0;
	assert_int_equal(wait.class, CLASS_LOCK);
	assert_int_equal(wait.object, OBJECT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_user_space),	 cmocka_unit_test(same_for_random_stacks),
		cmocka_unit_test(sockets_are_seen),	 cmocka_unit_test(files_are_seen),
		cmocka_unit_test(lock_hides_descriptor),
	};

	return cmocka_run_group_tests_name("kinds in the kernel", tests, load, unload);
}
