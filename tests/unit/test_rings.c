// SPDX-License-Identifier: BSD-2-Clause
/* When the rings wake their reader: once for each wakeup of the kernel side, not for any event. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "collect/core/rings.h"

#define INSN(op, to, from, offset_, value)                                                         \
	((struct bpf_insn){.code = (op),                                                           \
			   .dst_reg = (to),                                                        \
			   .src_reg = (from),                                                      \
			   .off = (offset_),                                                       \
			   .imm = (value)})

static void count_event(void *arg, const struct event_header *event, size_t size)
{
	unsigned int *events = arg;

	++*events;
}

/* Sends an event to @ring by a program of the kernel: bpf_ringbuf_output(ring, stack, 16, @flags).
 */
static void send(int ring, int flags)
{
	const struct bpf_insn program[] = {
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -16, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -16),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, sizeof(struct event_header)),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, flags),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "send", "GPL", program,
			       ARRAY_SIZE(program), NULL);

	assert_true(fd >= 0);
	assert_int_equal(bpf_prog_test_run_opts(fd, &options), 0);
	assert_int_equal((int)options.retval, 0);
	close(fd);
}

/* Whether the rings wake a reader that waits for @timeout ms at most. */
static int wakes(const struct rings *rings, int timeout)
{
	struct pollfd fd = {.fd = rings__fd(rings), .events = POLLIN};

	return poll(&fd, 1, timeout);
}

static void a_wakeup_counts_once(void **state)
{
	unsigned int events = 0;
	struct rings *rings;
	uint32_t n;
	int ring;

	if (geteuid())
		skip();
	assert_int_equal(rings__new(65536, count_event, &events, &rings), 0);
	ring = rings__maps(rings, &n)[0];
	send(ring, BPF_RB_NO_WAKEUP);
	assert_int_equal(wakes(rings, 0), 0);
	for (unsigned int round = 0; round < 3; round++) {
		send(ring, BPF_RB_FORCE_WAKEUP);
		assert_int_equal(wakes(rings, -1), 1);
		assert_int_equal(rings__consume(rings), 0);
		assert_int_equal(events, 2 + 2 * round);
		send(ring, BPF_RB_NO_WAKEUP);
		assert_int_equal(wakes(rings, 0), 0);
	}
	rings__free(rings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_wakeup_counts_once)};

	return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
