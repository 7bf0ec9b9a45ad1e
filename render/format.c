// SPDX-License-Identifier: BSD-2-Clause
#include "render/format.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"

double format__percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

double format__whole_percent(double share)
{
	return round(100 * share) + 0.0;
}

/*
 * Whether a character that begins with these two bytes has no shorter code, is no surrogate, and is
 * at most U+10ffff: what JSON and protobuf readers refuse.
 */
static bool is_shortest(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0;
	case 0xed:
		return second < 0xa0;
	case 0xf0:
		return second >= 0x90;
	case 0xf4:
		return second < 0x90;
	default:
		return true;
	}
}

size_t format__character(const char *text)
{
	static const struct {
		unsigned char below; /* first bytes below this, and not below the previous row's, */
		size_t n;	     /* begin a character of this length; 0: invalid */
	} lengths[] = {{0x20, 0}, {0x7f, 1}, {0xc2, 0}, {0xe0, 2}, {0xf0, 3}, {0xf5, 4}};
	unsigned char first = (unsigned char)text[0];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		if (first >= lengths[i].below)
			continue;
		n = lengths[i].n;
		break;
	}
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
	if (n < 2)
		return n;
	/* U+0080 to U+009f are control characters, too. */
	if (first == 0xc2 && (unsigned char)text[1] < 0xa0)
		return 0;
	return is_shortest(first, (unsigned char)text[1]) ? n : 0;
}

size_t format__plain(const char *text, const char *except)
{
	size_t length = 0, n;

	while ((n = format__character(text + length)) && !strchr(except, text[length]))
		length += n;
	return length;
}

void format__safe(FILE *to, const char *text)
{
	while (*text) {
		size_t n = format__plain(text, "");

		fwrite(text, 1, n, to);
		text += n;
		if (*text)
			fprintf(to, "\\x%02x", (unsigned char)*text++);
	}
}

int format__width(const char *text)
{
	int width = 0;

	while (*text) {
		size_t n = format__character(text);

		width += n ? 1 : 4;
		text += n ? n : 1;
	}
	return width;
}

void format__wrapped(FILE *to, const char *text, const char *indent, int column, int width)
{
	int begin = column, at = column;

	while (*text) {
		size_t n = strcspn(text, " ");
		_cleanup_free_ char *word = strndup(text, n);
		int cells = format__width(word ? word : "");

		if (at > begin && at + 1 + cells > width) {
			fprintf(to, "\n%s", indent);
			at = begin = (int)strlen(indent);
		} else if (at > begin) {
			fputc(' ', to);
			at++;
		}
		format__safe(to, word ? word : ""); /* may contain any bytes */
		at += cells;
		text += n + (text[n] == ' ');
	}
	fputc('\n', to);
}

void format__quoted(FILE *to, const char *text)
{
	fputc('"', to);
	while (*text) {
		size_t n = format__plain(text, "\"\\");
		unsigned char c;

		fwrite(text, 1, n, to);
		text += n;
		if (!*text)
			break;
		c = (unsigned char)*text++;
		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", to);
		else if (c == '\t')
			fputs("\\t", to);
		else if (c < 0x20 || c == 0x7f)
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

void format__append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	if (used < size)
		vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}
