// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "recording/codec.h"
#include "recording/format.h"

#define VARINT_MAX 10 /* bytes of the longest */

static inline uint8_t *varint__put(uint8_t *at, uint64_t value)
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

static inline uint64_t member__load(const void *at, size_t size)
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

/* As above, for a field whose values are signed. */
static inline uint64_t member__load_signed(const void *at, size_t size)
{
	unsigned int unused = 64 - 8 * (unsigned int)size;

	return (uint64_t)((int64_t)(member__load(at, size) << unused) >> unused);
}

static uint8_t *bytes__put(uint8_t *at, const void *member, size_t size)
{
	const char *bytes;

	memcpy(&bytes, member, sizeof(bytes));
	at = varint__put(at, size);
	if (size)
		memcpy(at, bytes, size);
	at[size] = '\0';
	return at + size + 1;
}

static uint8_t *frames__put(uint8_t *at, const void *member, uint32_t depth)
{
	const uint64_t *frames;
	uint64_t previous = 0;

	memcpy(&frames, member, sizeof(frames));
	at = varint__put(at, depth);
	for (uint32_t i = 0; i < depth; i++) {
		at = varint__put(at, zigzag(frames[i] - previous));
		previous = frames[i];
	}
	return at;
}

static uint8_t *list__put(uint8_t *at, const struct field *field, const char *member)
{
	at = varint__put(at, field->elements);
	for (size_t i = 0; i < field->elements; i++)
		at = varint__put(at, member__load(member + i * field->size, field->size));
	return at;
}

static inline uint8_t *time__put(struct encoder *encoder, enum record_type type, uint64_t time,
				 uint8_t *at)
{
	uint64_t delta = time - encoder->previous[type];

	encoder->previous[type] = time;
	if (time < encoder->first_time)
		encoder->first_time = time;
	if (time > encoder->last_time)
		encoder->last_time = time;
	return varint__put(at, zigzag(delta));
}

static inline uint8_t *field__put(struct encoder *encoder, const struct field *field,
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
		return varint__put(at, member__load(member, field->size));
	case ENCODING_SIGNED:
		return varint__put(at, zigzag(member__load_signed(member, field->size)));
	case ENCODING_DELTA:
		value = member__load(member, field->size);
		delta = value - encoder->previous[record->type];
		encoder->previous[record->type] = value;
		return varint__put(at, zigzag(delta));
	case ENCODING_TIME:
		return time__put(encoder, record->type, member__load(member, sizeof(uint64_t)), at);
	case ENCODING_END_TIME:
		return time__put(encoder, record->type,
				 record->interval.t_out + record->interval.blocked_ns +
					 record->interval.runq_ns,
				 at);
	case ENCODING_LIST:
		return list__put(at, field, member);
	case ENCODING_BYTES:
		memcpy(&size, count, sizeof(size));
		return bytes__put(at, member, size);
	case ENCODING_FRAMES:
		memcpy(&depth, count, sizeof(depth));
		return frames__put(at, member, depth);
	}
	return at;
}

/* The most bytes that the variable parts of a record can take, or -EINVAL. */
static int64_t record__extra(const struct record *record)
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
	default:
		return 0;
	}
}

/* Whether a field that was written as a single zero byte may be left out at the end. */
static inline bool field__droppable(const struct field *field)
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
	extra = record__extra(record);
	if (extra < 0)
		return (int)extra;
	if (array__reserve(&encoder->raw, (layout->n + 2) * VARINT_MAX + (size_t)extra))
		return -ENOMEM;
	if (!encoder->records)
		encoder->first_time = UINT64_MAX;

	start = encoder->raw.data + encoder->raw.n;
	_Static_assert(LAYOUT_TYPES <= 0x80, "a type is one byte");
	start[0] = (uint8_t)record->type;
	body = used = at = start + 2; /* nearly every length fits one byte */
	for (size_t i = 0; i < layout->n; i++) {
		uint8_t *next = field__put(encoder, &layout->fields[i], record, at);

		if (*at || next - at > 1 || !field__droppable(&layout->fields[i]))
			used = next;
		at = next;
	}

	if (used - body > 0x7f) {
		uint8_t length[VARINT_MAX];
		size_t n = (size_t)(varint__put(length, (uint64_t)(used - body)) - length);

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
