// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "render/export/protobuf.h"

static void check(struct protobuf *protobuf, const char *bytes, size_t size)
{
	assert_false(protobuf->out.failed);
	assert_int_equal(protobuf->out.n, size);
	assert_memory_equal(protobuf->out.data, bytes, size);
	buffer__free(&protobuf->out);
}

#define CHECK(protobuf, bytes) check(protobuf, bytes, sizeof(bytes) - 1)

/* The examples of the encoding's description, and the longest values. */
static void fields_are_encoded(void **state)
{
	static const uint64_t values[] = {3, 270, 86942};
	struct protobuf p = {};

	protobuf__varint(&p, 1, 150);
	protobuf__string(&p, 2, "testing");
	protobuf__packed(&p, 6, values, ARRAY_SIZE(values));
	protobuf__packed(&p, 7, NULL, 0);
	CHECK(&p, "\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05");
	protobuf__varint(&p, 135, UINT64_MAX);
	CHECK(&p, "\xb8\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf__fixed64(&p, 47, 0x0102030405060708);
	protobuf__double(&p, 1, 1.5);
	CHECK(&p, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01\x09\0\0\0\0\0\0\xf8\x3f");
	protobuf__bytes(&p, 1, NULL, 0);
	CHECK(&p, "\x0a\0");
}

static void messages_are_nested(void **state)
{
	struct protobuf p = {};
	size_t outer = protobuf__begin(&p, 3), inner;

	protobuf__varint(&p, 1, 150);
	inner = protobuf__begin(&p, 4);
	protobuf__end(&p, inner);
	protobuf__end(&p, outer);
	protobuf__varint(&p, 1, 1);
	CHECK(&p, "\x1a\x05\x08\x96\x01\x22\x00\x08\x01");
}

/* Of every size around those at which the length takes one more byte. */
static void lengths_of_messages(void **state)
{
	static const size_t around[] = {0x7f, 0x3fff, 0x1fffff};
	static char text[0x200010];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(around); i++)
		for (size_t size = around[i] - 8; size < around[i] + 8; size++) {
			struct protobuf nested = {}, flat = {}, bytes = {};
			size_t mark = protobuf__begin(&nested, 1);

			protobuf__bytes(&nested, 2, text, size);
			protobuf__end(&nested, mark);
			protobuf__bytes(&bytes, 2, text, size);
			protobuf__bytes(&flat, 1, bytes.out.data, bytes.out.n);
			check(&nested, (const char *)flat.out.data, flat.out.n);
			buffer__free(&bytes.out);
			buffer__free(&flat.out);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_encoded),
		cmocka_unit_test(messages_are_nested),
		cmocka_unit_test(lengths_of_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
