// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/codec.h"
#include "recording/format.h"

/* Most values take one byte. */
static inline uint64_t get_varint(struct cursor *cursor)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80)
		return *cursor->at++;
	return cursor__varint(cursor);
}

static inline uint64_t get_svarint(struct cursor *cursor)
{
	uint64_t value = get_varint(cursor);

	return (value >> 1) ^ (value & 1 ? UINT64_MAX : 0);
}

static inline void store_member(void *at, size_t size, uint64_t value)
{
	uint32_t value32 = (uint32_t)value;
	uint16_t value16 = (uint16_t)value;

	switch (size) {
	case 1:
		*(uint8_t *)at = (uint8_t)value;
		break;
	case 2:
		memcpy(at, &value16, sizeof(value16));
		break;
	case 4:
		memcpy(at, &value32, sizeof(value32));
		break;
	default:
		memcpy(at, &value, sizeof(value));
	}
}

static inline uint64_t get_delta(struct decoder *decoder, struct cursor *body,
				 enum record_type type)
{
	decoder->previous[type] += get_svarint(body);
	return decoder->previous[type];
}

static void get_list(struct cursor *body, const struct field *field, char *member)
{
	uint64_t n = get_varint(body);

	for (uint64_t i = 0; i < n && !body->bad; i++) {
		uint64_t value = get_varint(body);

		if (i < field->elements)
			store_member(member + i * field->size, field->size, value);
	}
}

static void get_bytes(struct cursor *body, char *member, char *count)
{
	uint64_t size = get_varint(body);
	const char *bytes = NULL;

	/* With the NUL. */
	if (size <= RECORD_STRING_MAX)
		bytes = cursor__bytes(body, size + 1);
	if (!bytes || bytes[size] != '\0') {
		body->bad = true;
		return;
	}
	memcpy(member, &bytes, sizeof(bytes));
	memcpy(count, &(size_t){size}, sizeof(size_t));
}

static int get_frames(struct decoder *decoder, struct cursor *body, char *member, char *count)
{
	uint64_t depth = get_varint(body);
	uint64_t frame = 0;

	if (depth > RECORD_FRAMES_MAX || depth > cursor__left(body)) {
		body->bad = true;
		return 0;
	}
	if (!decoder->frames) {
		decoder->frames = malloc(RECORD_FRAMES_MAX * sizeof(*decoder->frames));
		if (!decoder->frames)
			return -ENOMEM;
	}
	for (uint64_t i = 0; i < depth; i++) {
		frame += get_svarint(body);
		decoder->frames[i] = frame;
	}
	memcpy(member, &decoder->frames, sizeof(decoder->frames));
	memcpy(count, &(uint32_t){(uint32_t)depth}, sizeof(uint32_t));
	return 0;
}

static inline int64_t clamp_signed(uint64_t value, const struct field *field)
{
	int64_t number = (int64_t)value;
	int64_t top = (int64_t)(field->max >> 1);

	return number > top || number < -top - 1 ? (int64_t)field->fallback : number;
}

static inline int get_field(struct decoder *decoder, const struct field *field, struct cursor *body,
			    struct record *record)
{
	char *member = (char *)record + field->offset;
	char *count = (char *)record + field->count;
	uint64_t value;

	switch ((enum encoding)field->encoding) {
	case ENCODING_UNSIGNED:
		value = get_varint(body);
		store_member(member, field->size, value > field->max ? field->fallback : value);
		break;
	case ENCODING_NUMBER:
		value = get_varint(body);
		store_member(member, field->size, value > field->max ? 0 : value);
		break;
	case ENCODING_REFERENCE:
		value = get_varint(body);
		if (!numbers__valid(decoder->numbers, field->kind, value)) {
			decoder->dangling++;
			value = 0;
		}
		store_member(member, field->size, value);
		break;
	case ENCODING_SIGNED:
		value = (uint64_t)clamp_signed(get_svarint(body), field);
		store_member(member, field->size, value);
		break;
	case ENCODING_DELTA:
	case ENCODING_TIME:
		store_member(member, field->size, get_delta(decoder, body, record->type));
		break;
	case ENCODING_END_TIME:
		record->interval.t_out = get_delta(decoder, body, record->type) -
					 record->interval.blocked_ns - record->interval.runq_ns;
		break;
	case ENCODING_LIST:
		get_list(body, field, member);
		break;
	case ENCODING_BYTES:
		get_bytes(body, member, count);
		break;
	case ENCODING_FRAMES:
		return get_frames(decoder, body, member, count);
	}
	return 0;
}

/* Whether @time and @time + @first + @second are at most INT64_MAX. */
static bool are_times_valid(uint64_t time, uint64_t first, uint64_t second)
{
	uint64_t sum;

	return time <= INT64_MAX && !__builtin_add_overflow(time, first, &sum) &&
	       !__builtin_add_overflow(sum, second, &sum) && sum <= INT64_MAX;
}

/* Whether @time is at most INT64_MAX, and @first + @second before it is not negative. */
static bool is_past_valid(uint64_t time, uint64_t first, uint64_t second)
{
	uint64_t sum;

	return time <= INT64_MAX && !__builtin_add_overflow(first, second, &sum) && sum <= time;
}

/* Whether no time of @segment is negative, or greater than INT64_MAX. */
static bool is_segment_valid(const struct record_segment *segment)
{
	for (int i = 0; i < SEGMENT_HOLDS; i++)
		if (segment->until[i] > segment->time)
			return false;
	return segment->time <= INT64_MAX && segment->written <= segment->time &&
	       segment->left <= segment->time;
}

static bool is_cpu_run_valid(const struct record_cpu_run *run)
{
	return run->cpu && run->ns <= run->length && is_past_valid(run->time, run->length, 0);
}

static bool is_probe_valid(const struct record_probe *probe)
{
	return probe->time <= INT64_MAX && probe->set_cpu_ns <= probe->cpu_ns;
}

/* Checks the guarantees of recording_reader__next() about times and addresses. */
static bool is_valid(const struct record *record)
{
	uint64_t end;

	switch (record->type) {
	case RECORD_THREAD:
		return record->thread.time <= INT64_MAX;
	case RECORD_EXEC:
		return record->exec.time <= INT64_MAX;
	case RECORD_COMM:
		return record->comm.time <= INT64_MAX;
	case RECORD_TOTALS:
		return record->totals.time <= INT64_MAX;
	case RECORD_MAP:
		return record->map.time <= INT64_MAX &&
		       !__builtin_add_overflow(record->map.start, record->map.size, &end);
	case RECORD_SAMPLE:
		return record->sample.time <= INT64_MAX;
	case RECORD_INTERVAL:
		return are_times_valid(record->interval.t_out, record->interval.blocked_ns,
				       record->interval.runq_ns);
	case RECORD_WAKE:
		return record->wake.time <= INT64_MAX;
	case RECORD_DEVICE:
		return record->device.time <= INT64_MAX;
	case RECORD_IDLE:
		return are_times_valid(record->idle.since, record->idle.ns, 0);
	case RECORD_ANNOTATION:
		return record->annotation.time <= INT64_MAX;
	case RECORD_REQUEST:
		return is_past_valid(record->request.time, record->request.queue_ns,
				     record->request.service_ns);
	case RECORD_CPU_RUN:
		return is_cpu_run_valid(&record->cpu_run);
	case RECORD_SPAN:
		return is_past_valid(record->span.time, record->span.queue_ns, record->span.ns);
	case RECORD_CALL:
		return is_past_valid(record->call.time, record->call.ns, 0);
	case RECORD_SHORT_CALLS:
		return record->short_calls.time <= INT64_MAX;
	case RECORD_PROBE:
		return is_probe_valid(&record->probe);
	case RECORD_SEGMENT:
		return is_segment_valid(&record->segment);
	case RECORD_SCAN:
		return is_past_valid(record->scan.time, record->scan.ns, 0);
	default:
		return true;
	}
}

/* Marks the number that @record defines, if it defines one. */
static int define_number(struct numbers *numbers, const struct layout *layout,
			 const struct record *record)
{
	const struct field *field = &layout->fields[0];
	uint32_t number;

	if (field->encoding != ENCODING_NUMBER)
		return 0;
	memcpy(&number, (const char *)record + field->offset, sizeof(number));
	return numbers__define(numbers, field->kind, number);
}

/* A string record whose bytes were omitted is the empty string. */
static void default_string(struct record *record)
{
	if (record->type == RECORD_STRING && !record->string.bytes)
		record->string.bytes = "";
}

void decoder__begin(struct decoder *decoder, const uint8_t *data, size_t size)
{
	decoder->cursor = (struct cursor){.at = data, .end = data + size};
	memset(decoder->previous, 0, sizeof(decoder->previous));
}

int decoder__next(struct decoder *decoder, struct record *record)
{
	struct cursor *cursor = &decoder->cursor;
	const struct layout *layout;
	struct cursor body;
	uint64_t type, length;
	int err;

	if (!cursor__left(cursor))
		return DECODED_END;
	type = get_varint(cursor);
	length = get_varint(cursor);
	if (cursor->bad || length > cursor__left(cursor))
		return DECODED_BROKEN;
	body = (struct cursor){.at = cursor->at, .end = cursor->at + length};
	cursor->at += length;
	layout = layout__of(type);
	if (!layout)
		return DECODED_UNKNOWN;

	memset(record, 0, sizeof(*record));
	record->type = (enum record_type)type;
	for (size_t i = 0; i < layout->n && cursor__left(&body); i++) {
		err = get_field(decoder, &layout->fields[i], &body, record);
		if (err)
			return err;
	}
	if (body.bad)
		return DECODED_BROKEN;
	default_string(record);
	if (!is_valid(record))
		return DECODED_INVALID;
	err = define_number(decoder->numbers, layout, record);
	if (err == -ENOMEM)
		return err;
	return err ? DECODED_INVALID : DECODED_RECORD;
}

void decoder__free(struct decoder *decoder)
{
	free(decoder->frames);
	*decoder = (struct decoder){};
}
