// SPDX-License-Identifier: BSD-2-Clause
/* When rings wake their reader, and how much it reads, in which order. */
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
#include "collect/kernel/rings.h"

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

/*
 * A program of the kernel that sends an event, whose type is @ring: bpf_ringbuf_output(ring, stack,
 * 16, @flags).
 */
static int sender(int ring, int flags)
{
	const struct bpf_insn program[] = {
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -16, ring),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -16),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, sizeof(struct event_header)),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, flags),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "send", "GPL", program,
			       ARRAY_SIZE(program), NULL);

	assert_true(fd >= 0);
	return fd;
}

static void send_by(int program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
	assert_int_equal((int)options.retval, 0);
}

static void send(int ring, int flags)
{
	int program = sender(ring, flags);

	send_by(program);
	close(program);
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
		rings__consume(rings);
		assert_int_equal(events, 2 + 2 * round);
		send(ring, BPF_RB_NO_WAKEUP);
		assert_int_equal(wakes(rings, 0), 0);
	}
	rings__free(rings);
}

/* Whoever reads an event of a stream causes the next. */
struct stream {
	int program;
	unsigned int events, limit;
};

static void go_on(void *arg, const struct event_header *event, size_t size)
{
	struct stream *stream = arg;

	if (stream->events++ < stream->limit)
		send_by(stream->program);
}

static void a_stream_ends(void **state)
{
	const size_t bytes = 65536, event = sizeof(struct event_header) + 8;
	struct stream stream = {.limit = 10 * bytes / event};
	struct rings *rings;
	uint32_t n;

	if (geteuid())
		skip();
	assert_int_equal(rings__new(bytes, go_on, &stream, &rings), 0);
	stream.program = sender(rings__maps(rings, &n)[0], BPF_RB_NO_WAKEUP);
	send_by(stream.program);
	rings__consume(rings);
	assert_in_range(stream.events, bytes / event, 2 * bytes / event);
	close(stream.program);
	rings__free(rings);
}

struct turns {
	uint32_t second; /* the type of its events */
	unsigned int events, before_second;
};

static void take_turns(void *arg, const struct event_header *event, size_t size)
{
	struct turns *turns = arg;

	if (event->type == turns->second)
		turns->before_second = turns->events;
	turns->events++;
}

static void rings_take_turns(void **state)
{
	struct turns turns = {};
	struct rings *rings;
	const int *maps;
	uint32_t n;
	int first;

	if (geteuid())
		skip();
	assert_int_equal(rings__new(65536, take_turns, &turns, &rings), 0);
	maps = rings__maps(rings, &n);
	if (n > 1) {
		turns.second = (uint32_t)maps[1];
		first = sender(maps[0], BPF_RB_NO_WAKEUP);
		for (unsigned int i = 0; i < 2000; i++)
			send_by(first);
		close(first);
		send(maps[1], BPF_RB_NO_WAKEUP);
		rings__consume(rings);
		assert_int_equal(turns.events, 2001);
		assert_in_range(turns.before_second, 1, 1000);
	}
	rings__free(rings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wakeup_counts_once),
		cmocka_unit_test(a_stream_ends),
		cmocka_unit_test(rings_take_turns),
	};

	return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
