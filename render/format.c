// SPDX-License-Identifier: BSD-2-Clause
#include "render/format.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

const char *format__ns(uint64_t ns, char text[static 24])
{
	if (!ns)
		snprintf(text, 24, "0");
	else if (ns >= 1000000000)
		snprintf(text, 24, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(text, 24, "%.3f ms", (double)ns / 1e6);
	else if (ns >= 1000)
		snprintf(text, 24, "%.1f us", (double)ns / 1e3);
	else
		snprintf(text, 24, "%" PRIu64 " ns", ns);
	return text;
}

double format__percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

size_t format__character(const char *text)
{
	static const struct {
		unsigned char below; /* first bytes under this, and not under the row before, */
		size_t n;	     /* begin a character of this length; 0: none */
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
	/* U+0080 to U+009f are control characters, too. */
	return first == 0xc2 && n && (unsigned char)text[1] < 0xa0 ? 0 : n;
}

void format__safe(FILE *to, const char *text)
{
	while (*text) {
		size_t n = format__character(text);

		if (n)
			fwrite(text, 1, n, to);
		else
			fprintf(to, "\\x%02x", (unsigned char)*text);
		text += n ? n : 1;
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
		format__safe(to, word ? word : ""); /* names may be anything */
		at += cells;
		text += n + (text[n] == ' ');
	}
	fputc('\n', to);
}

void format__quoted(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

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
