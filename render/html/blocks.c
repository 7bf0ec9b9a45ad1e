// SPDX-License-Identifier: BSD-2-Clause
#include "render/html/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "render/format.h"

#define PIECE 49152 /* a multiple of 3: base64 of pieces joins without padding */

/* Base64 of the @n bytes at @data: a multiple of 3, but for the last piece. */
static void put_base64(FILE *to, const uint8_t *data, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t bits = (uint32_t)data[i] << 16 |
				(uint32_t)(left > 1 ? data[i + 1] : 0) << 8 |
				(left > 2 ? data[i + 2] : 0);
		char text[4] = {
			digits[bits >> 18],
			digits[bits >> 12 & 63],
			left > 1 ? digits[bits >> 6 & 63] : '=',
			left > 2 ? digits[bits & 63] : '=',
		};

		fwrite(text, 1, sizeof(text), to);
	}
}

/* Compresses all input of @stream to base64. Whole pieces are written as they fill. */
static void put_compressed(z_stream *stream, uint8_t *piece, FILE *to)
{
	int status;

	do {
		stream->next_out = piece;
		stream->avail_out = PIECE;
		status = deflate(stream, Z_FINISH);
		put_base64(to, piece, PIECE - stream->avail_out);
	} while (status == Z_OK);
}

int block__write(FILE *to, const char *name, const void *data, size_t n)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE);
	z_stream stream = {};

	if (!piece || deflateInit(&stream, 6) != Z_OK)
		return -ENOMEM;
	fprintf(to, "<script type=\"text/x-dwell\" id=\"%s\">", name);
	stream.next_in = (Bytef *)(uintptr_t)data;
	/* Blocks are of chunks, or of what is small: below 4 GiB. */
	stream.avail_in = (uInt)n;
	put_compressed(&stream, piece, to);
	deflateEnd(&stream);
	fputs("</script>\n", to);
	return n > UINT32_MAX ? -ENOMEM : 0;
}

/* How many bytes the largest number of @column needs. */
static uint8_t width_of(const struct buffer *column)
{
	struct cursor cursor = {.at = column->data, .end = column->data + column->n};
	uint64_t all = 0;
	uint8_t width = 0;

	while (cursor__left(&cursor))
		all |= cursor__varint(&cursor);
	for (; all; all >>= 8)
		width++;
	return width;
}

/* The numbers of @column, which has @rows: all low bytes at @to, then all second ones, ... */
static void put_planes(const struct buffer *column, uint8_t width, size_t rows, uint8_t *to)
{
	struct cursor cursor = {.at = column->data, .end = column->data + column->n};

	for (size_t row = 0; width && row < rows; row++) {
		uint64_t value = cursor__varint(&cursor);

		for (uint8_t i = 0; i < width; i++)
			to[i * rows + row] = (uint8_t)(value >> 8 * i);
	}
}

int table__write(struct table *table, size_t n, const char *name, FILE *to)
{
	_cleanup_free_ uint8_t *planes = NULL;
	struct buffer all = {};
	uint8_t widths[TABLE_COLUMNS];
	size_t size = 0;
	int err;

	buffer__varint(&all, n);
	buffer__varint(&all, table->rows);
	for (size_t i = 0; i < n; i++) {
		all.failed |= table->columns[i].failed;
		widths[i] = width_of(&table->columns[i]);
		buffer__put(&all, &widths[i], 1);
		size = widths[i] > size ? widths[i] : size;
	}
	planes = malloc(size * table->rows + 1);
	for (size_t i = 0; planes && i < n; i++) {
		put_planes(&table->columns[i], widths[i], table->rows, planes);
		buffer__put(&all, planes, widths[i] * table->rows);
		table->columns[i].n = 0;
	}
	table->rows = 0;
	err = all.failed || !planes ? -ENOMEM : block__write(to, name, all.data, all.n);
	buffer__free(&all);
	return err;
}

void table__free(struct table *table)
{
	for (size_t i = 0; i < TABLE_COLUMNS; i++)
		buffer__free(&table->columns[i]);
}

int64_t recent__code(struct recent *recent, uint32_t key, uint32_t value)
{
	struct recent_pair *pair;
	uint32_t before;

	while (recent->pairs.n <= key)
		if (array__push(&recent->pairs, (struct recent_pair){}))
			return -ENOMEM;
	pair = &recent->pairs.data[key];
	if (pair->later == value + 1)
		return 0;
	before = pair->later;
	pair->later = value + 1;
	if (pair->earlier == value + 1) {
		pair->earlier = before;
		return 1;
	}
	pair->earlier = before;
	return (int64_t)value + 2;
}

int64_t page_strings__id(struct page_strings *strings, const char *text)
{
	_cleanup_free_ char *safe = NULL;
	size_t size;
	int64_t id;
	FILE *to;

	id = strings->texts.n ? 0 : intern__id(&strings->texts, "", 0, NULL);
	if (id < 0)
		return id;
	to = open_memstream(&safe, &size);
	if (!to)
		return -ENOMEM;
	format__safe(to, text);
	if (fclose(to))
		return -ENOMEM;
	return intern__id(&strings->texts, safe, size, NULL);
}

int page_strings__write(const struct page_strings *strings, const char *name, FILE *to)
{
	/* Each string of an intern table is followed by a NUL. */
	if (!strings->texts.n)
		return block__write(to, name, "", 1);
	return block__write(to, name, strings->texts.bytes, strings->texts.bytes_used);
}

void page_strings__free(struct page_strings *strings)
{
	intern__free(&strings->texts);
}
