// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "recording/codec.h"
#include "recording/format.h"

#define VARINT_MAX 10 /* bytes */

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value > 0x7f) {
		*at++ = (uint8_t)value | 0x80;
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint64_t zigzag(uint64_t value)
{
	return (value << 1) ^ (value >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t load_member(const void *at, size_t size)
{
	uint64_t value64;
	uint32_t value32;
	uint16_t value16;

	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		memcpy(&value16, at, sizeof(value16));
		return value16;
	case 4:
		memcpy(&value32, at, sizeof(value32));
		return value32;
	default:
		memcpy(&value64, at, sizeof(value64));
		return value64;
	}
}

/* As load_member(), for signed members. */
static inline uint64_t load_signed_member(const void *at, size_t size)
{
	unsigned int unused = 64 - 8 * (unsigned int)size;

	return (uint64_t)((int64_t)(load_member(at, size) << unused) >> unused);
}

static uint8_t *put_bytes(uint8_t *at, const void *member, size_t size)
{
	const char *bytes;

	memcpy(&bytes, member, sizeof(bytes));
	at = put_varint(at, size);
	if (size)
		memcpy(at, bytes, size);
	at[size] = '\0';
	return at + size + 1;
}

static uint8_t *put_frames(uint8_t *at, const void *member, uint32_t depth)
{
	const uint64_t *frames;
	uint64_t previous = 0;

	memcpy(&frames, member, sizeof(frames));
	at = put_varint(at, depth);
	for (uint32_t i = 0; i < depth; i++) {
		at = put_varint(at, zigzag(frames[i] - previous));
		previous = frames[i];
	}
	return at;
}

static uint8_t *put_list(uint8_t *at, const struct field *field, const char *member)
{
	at = put_varint(at, field->elements);
	for (size_t i = 0; i < field->elements; i++)
		at = put_varint(at, load_member(member + i * field->size, field->size));
	return at;
}

static inline uint8_t *put_time(struct encoder *encoder, enum record_type type, uint64_t time,
				uint8_t *at)
{
	uint64_t delta = time - encoder->previous[type];

	encoder->previous[type] = time;
	if (time < encoder->first_time)
		encoder->first_time = time;
	if (time > encoder->last_time)
		encoder->last_time = time;
	return put_varint(at, zigzag(delta));
}

static inline uint8_t *put_field(struct encoder *encoder, const struct field *field,
				 const struct record *record, uint8_t *at)
{
	const char *member = (const char *)record + field->offset;
	const char *count = (const char *)record + field->count;
	uint64_t value, delta;
	size_t size;
	uint32_t depth;

	switch ((enum encoding)field->encoding) {
	case ENCODING_UNSIGNED:
	case ENCODING_NUMBER:
	case ENCODING_REFERENCE:
		return put_varint(at, load_member(member, field->size));
	case ENCODING_SIGNED:
		return put_varint(at, zigzag(load_signed_member(member, field->size)));
	case ENCODING_DELTA:
		value = load_member(member, field->size);
		delta = value - encoder->previous[record->type];
		encoder->previous[record->type] = value;
		return put_varint(at, zigzag(delta));
	case ENCODING_TIME:
		return put_time(encoder, record->type, load_member(member, sizeof(uint64_t)), at);
	case ENCODING_END_TIME:
		return put_time(encoder, record->type,
				record->interval.t_out + record->interval.blocked_ns +
					record->interval.runq_ns,
				at);
	case ENCODING_LIST:
		return put_list(at, field, member);
	case ENCODING_BYTES:
		memcpy(&size, count, sizeof(size));
		return put_bytes(at, member, size);
	case ENCODING_FRAMES:
		memcpy(&depth, count, sizeof(depth));
		return put_frames(at, member, depth);
	}
	return at;
}

/* The maximum size in bytes of the variable-size fields of @record, or -EINVAL. */
static int64_t max_variable_size(const struct record *record)
{
	switch (record->type) {
	case RECORD_STRING:
		return record->string.size > RECORD_STRING_MAX ? -EINVAL
							       : (int64_t)record->string.size + 1;
	case RECORD_STACK:
		return record->stack.depth > RECORD_FRAMES_MAX
			       ? -EINVAL
			       : (int64_t)record->stack.depth * VARINT_MAX;
	case RECORD_TOTALS:
		return (int64_t)CLASS_COUNT * VARINT_MAX;
	case RECORD_SCAN:
		return (int64_t)SCAN_GAPS * VARINT_MAX;
	default:
		return 0;
	}
}

/* Whether a trailing field may be omitted if it is a single zero byte. */
static inline bool can_be_omitted(const struct field *field)
{
	return field->encoding != ENCODING_TIME && field->encoding != ENCODING_END_TIME &&
	       field->encoding != ENCODING_DELTA;
}

int encoder__put(struct encoder *encoder, const struct record *record)
{
	const struct layout *layout = layout__of(record->type);
	uint8_t *start, *body, *used, *at;
	int64_t extra;

	if (!layout)
		return -EINVAL;
	extra = max_variable_size(record);
	if (extra < 0)
		return (int)extra;
	if (array__reserve(&encoder->raw, (layout->n + 2) * VARINT_MAX + (size_t)extra))
		return -ENOMEM;
	if (!encoder->records)
		encoder->first_time = UINT64_MAX;

	start = encoder->raw.data + encoder->raw.n;
	_Static_assert(LAYOUT_TYPES <= 0x80, "a type is one byte");
	start[0] = (uint8_t)record->type;
	body = used = at = start + 2; /* nearly every length fits in one byte */
	for (size_t i = 0; i < layout->n; i++) {
		uint8_t *next = put_field(encoder, &layout->fields[i], record, at);

		if (*at || next - at > 1 || !can_be_omitted(&layout->fields[i]))
			used = next;
		at = next;
	}

	if (used - body > 0x7f) {
		uint8_t length[VARINT_MAX];
		size_t n = (size_t)(put_varint(length, (uint64_t)(used - body)) - length);

		memmove(start + 1 + n, body, (size_t)(used - body));
		memcpy(start + 1, length, n);
		used += n - 1;
	} else {
		start[1] = (uint8_t)(used - body);
	}
	encoder->raw.n += (size_t)(used - start);
	encoder->records++;
	return 0;
}

void encoder__reset(struct encoder *encoder)
{
	encoder->raw.n = 0;
	memset(encoder->previous, 0, sizeof(encoder->previous));
	encoder->first_time = encoder->last_time = 0;
	encoder->records = 0;
}

void encoder__free(struct encoder *encoder)
{
	buffer__free(&encoder->raw);
}
