// SPDX-License-Identifier: BSD-2-Clause
/*
 * The fields of each record type. The only change allowed to a released table is to append a
 * field, with the minor version that adds it: older readers skip it, and in older recordings
 * it reads as 0.
 */
#include "base/cleanup.h"
#include "recording/codec.h"

#define MEMBER(record_name, member) (((struct record *)0)->record_name.member)
#define WIDEST(record_name, member) (~0ULL >> (64 - 8 * sizeof(MEMBER(record_name, member))))

#define FIELD(since, record_name, member, how)                                                     \
	.name = #member, .offset = offsetof(struct record, record_name.member),                    \
	.size = sizeof(MEMBER(record_name, member)), .encoding = ENCODING_##how,                   \
	.introduced = (since), .max = WIDEST(record_name, member)

/* An unsigned integer; one that is too great for the member reads as its maximum. */
#define UNSIGNED(since, record_name, member)                                                       \
	{                                                                                          \
		FIELD(since, record_name, member, UNSIGNED),                                       \
			.fallback = WIDEST(record_name, member)                                    \
	}
#define SIGNED(since, record_name, member)                                                         \
	{                                                                                          \
		FIELD(since, record_name, member, SIGNED)                                          \
	}
/* An enum with values below @limit; others, of later versions, read as @unknown. */
#define ENUM(since, record_name, member, limit, unknown)                                           \
	{                                                                                          \
		.name = #member, .offset = offsetof(struct record, record_name.member),            \
		.size = sizeof(MEMBER(record_name, member)), .encoding = ENCODING_UNSIGNED,        \
		.introduced = (since), .max = (limit)-1, .fallback = (unknown)                     \
	}
#define DEFINES(since, record_name, member, what)                                                  \
	{                                                                                          \
		FIELD(since, record_name, member, NUMBER), .kind = NUMBER_##what                   \
	}
#define REFERENCE(since, record_name, member, what)                                                \
	{                                                                                          \
		FIELD(since, record_name, member, REFERENCE), .kind = NUMBER_##what                \
	}
#define DELTA(since, record_name, member, how)                                                     \
	{                                                                                          \
		FIELD(since, record_name, member, how)                                             \
	}
#define LIST(since, record_name, member)                                                           \
	{                                                                                          \
		.name = #member, .offset = offsetof(struct record, record_name.member),            \
		.size = sizeof(MEMBER(record_name, member[0])),                                    \
		.elements = ARRAY_SIZE(MEMBER(record_name, member)), .encoding = ENCODING_LIST,    \
		.introduced = (since)                                                              \
	}
#define VARIABLE(since, record_name, member, how_many, how)                                        \
	{                                                                                          \
		.name = #member, .offset = offsetof(struct record, record_name.member),            \
		.count = offsetof(struct record, record_name.how_many),                            \
		.size = sizeof(MEMBER(record_name, member)), .encoding = ENCODING_##how,           \
		.introduced = (since)                                                              \
	}

/* One field a line. */
/* clang-format off */
static const struct field meta[] = {
	REFERENCE(0, meta, key, STRING),
	REFERENCE(0, meta, value, STRING),
};

static const struct field string[] = {
	DEFINES(0, string, number, STRING),
	VARIABLE(0, string, bytes, size, BYTES),
};

static const struct field stack[] = {
	DEFINES(0, stack, number, STACK),
	ENUM(0, stack, kernel, 2, 1),
	ENUM(0, stack, end, STACK_END_COUNT, STACK_UNSUPPORTED),
	VARIABLE(0, stack, frames, depth, FRAMES),
};

static const struct field dso[] = {
	DEFINES(0, dso, number, DSO),
	ENUM(0, dso, kind, DSO_JIT + 1, DSO_FILE),
	REFERENCE(0, dso, path, STRING),
	REFERENCE(0, dso, build_id, STRING),
	ENUM(0, dso, deleted, 2, 1),
	UNSIGNED(0, dso, pid),
};

static const struct field object[] = {
	DEFINES(0, object, number, OBJECT),
	ENUM(0, object, type, OBJECT_LIMIT + 1, OBJECT_NONE),
	UNSIGNED(0, object, id),
	UNSIGNED(0, object, extra),
	UNSIGNED(0, object, mode),
	REFERENCE(0, object, name, STRING),
	REFERENCE(0, object, local, STRING),
	UNSIGNED(0, object, family),
	UNSIGNED(0, object, protocol),
	ENUM(2, object, side, SOCKET_SIDE_SERVER + 1, SOCKET_SIDE_UNKNOWN),
};

static const struct field thread[] = {
	DEFINES(0, thread, thread, THREAD),
	DELTA(0, thread, time, TIME),
	UNSIGNED(0, thread, tid),
	UNSIGNED(0, thread, tgid),
	REFERENCE(0, thread, comm, STRING),
	UNSIGNED(0, thread, flags),
	REFERENCE(0, thread, parent, THREAD),
};

static const struct field exec[] = {
	REFERENCE(0, exec, thread, THREAD),
	DELTA(0, exec, time, TIME),
	UNSIGNED(0, exec, tid),
	REFERENCE(0, exec, comm, STRING),
};

static const struct field comm[] = {
	REFERENCE(0, comm, thread, THREAD),
	DELTA(0, comm, time, TIME),
	REFERENCE(0, comm, comm, STRING),
};

static const struct field totals[] = {
	REFERENCE(0, totals, thread, THREAD),
	DELTA(0, totals, time, TIME),
	LIST(0, totals, ns),
	UNSIGNED(0, totals, voluntary),
	UNSIGNED(0, totals, involuntary),
	UNSIGNED(0, totals, flags),
	UNSIGNED(7, totals, stolen_ns),
	UNSIGNED(7, totals, unseen),
	UNSIGNED(7, totals, sequence),
	UNSIGNED(7, totals, last_stolen_ns),
};

static const struct field map[] = {
	UNSIGNED(0, map, pid),
	REFERENCE(0, map, dso, DSO),
	DELTA(0, map, time, TIME),
	UNSIGNED(0, map, start),
	UNSIGNED(0, map, size),
	UNSIGNED(0, map, offset),
};

static const struct field sample[] = {
	REFERENCE(0, sample, thread, THREAD),
	DELTA(0, sample, time, TIME),
	UNSIGNED(0, sample, weight),
	REFERENCE(0, sample, user_stack, STACK),
	REFERENCE(0, sample, kernel_stack, STACK),
};

/*
 * Intervals are written in order of their ends, so the end is delta-coded. Fields that are 0 in
 * trace mode come last.
 */
static const struct field interval[] = {
	REFERENCE(0, interval, thread, THREAD),
	UNSIGNED(0, interval, blocked_ns),
	UNSIGNED(0, interval, runq_ns),
	DELTA(0, interval, t_out, END_TIME),
	ENUM(0, interval, class, CLASS_COUNT, CLASS_OTHER),
	UNSIGNED(0, interval, flags),
	SIGNED(0, interval, syscall),
	REFERENCE(0, interval, kernel_stack, STACK),
	REFERENCE(0, interval, user_stack, STACK),
	REFERENCE(0, interval, waker, THREAD),
	ENUM(0, interval, waker_context, WAKER_NMI + 1, WAKER_UNKNOWN),
	REFERENCE(0, interval, object, OBJECT),
	UNSIGNED(0, interval, blocked_points),
	UNSIGNED(0, interval, runq_points),
	REFERENCE(1, interval, device, DEVICE),
	UNSIGNED(3, interval, sequence),
	UNSIGNED(3, interval, cpu),
	REFERENCE(3, interval, previous, THREAD),
	UNSIGNED(3, interval, request),
	REFERENCE(4, interval, sender, THREAD),
	UNSIGNED(7, interval, stolen_ns),
};

static const struct field wake[] = {
	REFERENCE(0, wake, thread, THREAD),
	DELTA(0, wake, time, TIME),
	REFERENCE(0, wake, waker, THREAD),
	ENUM(0, wake, context, WAKER_NMI + 1, WAKER_UNKNOWN),
	REFERENCE(0, wake, kernel_stack, STACK),
	REFERENCE(0, wake, user_stack, STACK),
};

static const struct field lost[] = {
	REFERENCE(0, lost, cause, STRING),
	UNSIGNED(0, lost, count),
};

static const struct field symbol[] = {
	REFERENCE(0, symbol, dso, DSO),
	DELTA(0, symbol, address, DELTA),
	REFERENCE(0, symbol, name, STRING),
	REFERENCE(0, symbol, file, STRING),
	UNSIGNED(0, symbol, line),
	ENUM(0, symbol, inlined, 2, 1),
};

static const struct field function[] = {
	REFERENCE(0, function, dso, DSO),
	DELTA(0, function, address, DELTA),
	REFERENCE(0, function, name, STRING),
};

static const struct field device[] = {
	DEFINES(1, device, device, DEVICE),
	DELTA(1, device, time, TIME),
	UNSIGNED(1, device, dev),
	REFERENCE(1, device, name, STRING),
	UNSIGNED(1, device, requests),
	UNSIGNED(1, device, bytes),
	UNSIGNED(1, device, queue_ns),
	UNSIGNED(1, device, service_ns),
	UNSIGNED(1, device, idle_ns),
};

static const struct field idle[] = {
	REFERENCE(1, idle, device, DEVICE),
	UNSIGNED(1, idle, ns),
	DELTA(1, idle, since, TIME),
	REFERENCE(1, idle, thread, THREAD),
	UNSIGNED(1, idle, flags),
	REFERENCE(1, idle, kernel_stack, STACK),
	REFERENCE(1, idle, user_stack, STACK),
	UNSIGNED(1, idle, points),
};

static const struct field annotation[] = {
	REFERENCE(1, annotation, thread, THREAD),
	DELTA(1, annotation, time, TIME),
	ENUM(1, annotation, type, ANNOTATION_COUNT, ANNOTATION_NONE),
	UNSIGNED(1, annotation, address),
	REFERENCE(1, annotation, other, THREAD),
	REFERENCE(4, annotation, name, STRING),
	UNSIGNED(6, annotation, queue),
};

static const struct field request[] = {
	UNSIGNED(3, request, number),
	DELTA(3, request, time, TIME),
	REFERENCE(3, request, device, DEVICE),
	REFERENCE(3, request, thread, THREAD),
	UNSIGNED(3, request, queue_ns),
	UNSIGNED(3, request, service_ns),
	UNSIGNED(3, request, sector),
	UNSIGNED(3, request, bytes),
	ENUM(3, request, op, REQUEST_OP_COUNT, REQUEST_OTHER),
};

static const struct field span[] = {
	REFERENCE(4, span, name, STRING),
	REFERENCE(4, span, thread, THREAD),
	REFERENCE(4, span, begun_by, THREAD),
	DELTA(4, span, time, TIME),
	UNSIGNED(4, span, queue_ns),
	UNSIGNED(4, span, ns),
	REFERENCE(4, span, object, OBJECT),
	UNSIGNED(8, span, flags),
};

static const struct field call[] = {
	REFERENCE(5, call, thread, THREAD),
	DELTA(5, call, time, TIME),
	UNSIGNED(5, call, ns),
	REFERENCE(5, call, stack, STACK),
	UNSIGNED(5, call, depth),
	UNSIGNED(5, call, begin_slack),
	UNSIGNED(5, call, end_slack),
	UNSIGNED(5, call, flags),
	UNSIGNED(6, call, probe),
	UNSIGNED(6, call, overhead),
};

static const struct field short_calls[] = {
	REFERENCE(5, short_calls, thread, THREAD),
	DELTA(5, short_calls, time, TIME),
	REFERENCE(5, short_calls, stack, STACK),
	UNSIGNED(5, short_calls, looks),
	UNSIGNED(5, short_calls, ended),
	UNSIGNED(8, short_calls, seen),
	UNSIGNED(8, short_calls, ns),
	UNSIGNED(8, short_calls, nested_ns),
};

static const struct field scan[] = {
	DELTA(5, scan, time, TIME),
	UNSIGNED(5, scan, ns),
	UNSIGNED(5, scan, pairs),
	UNSIGNED(5, scan, pair_ns),
	UNSIGNED(5, scan, longest_ns),
	UNSIGNED(5, scan, torn),
	UNSIGNED(5, scan, lost),
	UNSIGNED(5, scan, missed),
	REFERENCE(6, scan, thread, THREAD),
	LIST(8, scan, gap_ns),
	UNSIGNED(8, scan, pushes),
	UNSIGNED(8, scan, pushes_ns),
};

static const struct field probe[] = {
	UNSIGNED(6, probe, number),
	REFERENCE(6, probe, name, STRING),
	DELTA(6, probe, time, TIME),
	UNSIGNED(6, probe, entries),
	UNSIGNED(6, probe, cost_ns),
	UNSIGNED(6, probe, set_ns),
	UNSIGNED(6, probe, times),
	UNSIGNED(6, probe, cpu_ns),
	UNSIGNED(6, probe, set_cpu_ns),
	UNSIGNED(6, probe, flags),
};

static const struct field segment[] = {
	REFERENCE(8, segment, thread, THREAD),
	DELTA(8, segment, time, TIME),
	REFERENCE(8, segment, writer, THREAD),
	UNSIGNED(8, segment, written),
	UNSIGNED(8, segment, left),
	LIST(8, segment, reasons),
	LIST(8, segment, until),
	REFERENCE(8, segment, object, OBJECT),
	ENUM(8, segment, role, SEGMENT_ROLE_COUNT, SEGMENT_DATA),
	UNSIGNED(8, segment, owner_pid),
	REFERENCE(8, segment, owner, STRING),
};

static const struct field cpu_run[] = {
	REFERENCE(8, cpu_run, thread, THREAD),
	UNSIGNED(8, cpu_run, cpu),
	UNSIGNED(8, cpu_run, length),
	UNSIGNED(8, cpu_run, ns),
	DELTA(8, cpu_run, time, TIME),
};

#define LAYOUT(fields) {#fields, fields, ARRAY_SIZE(fields)}

static const struct layout layouts[LAYOUT_TYPES] = {
	[RECORD_META] = LAYOUT(meta),
	[RECORD_STRING] = LAYOUT(string),
	[RECORD_STACK] = LAYOUT(stack),
	[RECORD_DSO] = LAYOUT(dso),
	[RECORD_OBJECT] = LAYOUT(object),
	[RECORD_THREAD] = LAYOUT(thread),
	[RECORD_EXEC] = LAYOUT(exec),
	[RECORD_COMM] = LAYOUT(comm),
	[RECORD_TOTALS] = LAYOUT(totals),
	[RECORD_MAP] = LAYOUT(map),
	[RECORD_SAMPLE] = LAYOUT(sample),
	[RECORD_INTERVAL] = LAYOUT(interval),
	[RECORD_WAKE] = LAYOUT(wake),
	[RECORD_LOST] = LAYOUT(lost),
	[RECORD_SYMBOL] = LAYOUT(symbol),
	[RECORD_DEVICE] = LAYOUT(device),
	[RECORD_IDLE] = LAYOUT(idle),
	[RECORD_ANNOTATION] = LAYOUT(annotation),
	[RECORD_REQUEST] = LAYOUT(request),
	[RECORD_SPAN] = LAYOUT(span),
	[RECORD_CALL] = LAYOUT(call),
	[RECORD_SHORT_CALLS] = LAYOUT(short_calls),
	[RECORD_SCAN] = LAYOUT(scan),
	[RECORD_PROBE] = LAYOUT(probe),
	[RECORD_SEGMENT] = LAYOUT(segment),
	[RECORD_CPU_RUN] = LAYOUT(cpu_run),
	[RECORD_FUNCTION] = LAYOUT(function),
};
/* clang-format on */

const struct layout *layout__of(uint64_t type)
{
	return type < LAYOUT_TYPES && layouts[type].fields ? &layouts[type] : NULL;
}
