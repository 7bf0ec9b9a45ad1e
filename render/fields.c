// SPDX-License-Identifier: BSD-2-Clause
#include "render/fields.h"

#include <inttypes.h>
#include <stdlib.h>

#include "render/format.h"

void json__put_string(FILE *to, const char *text)
{
	fputc('"', to);
	while (*text) {
		size_t n = format__plain(text, "\"\\");

		fwrite(text, 1, n, to);
		text += n;
		if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text++);
		else if (*text)
			fprintf(to, "\\\\x%02x", (unsigned char)*text++);
	}
	fputc('"', to);
}

static void put_key(struct fields *fields, const char *key)
{
	if (fields->json)
		fprintf(fields->to, "%s\"%s\":", fields->n ? "," : "", key);
	else
		fprintf(fields->to, " %s=", key);
	fields->n++;
}

void fields__begin(struct fields *fields, const char *event)
{
	fields->n = 0;
	if (fields->json) {
		fputc('{', fields->to);
		fields__word(fields, "event", event);
	} else {
		fputs(event, fields->to);
	}
}

void fields__end(struct fields *fields)
{
	fputs(fields->json ? "}\n" : "\n", fields->to);
}

void fields__number(struct fields *fields, const char *key, int64_t value)
{
	put_key(fields, key);
	fprintf(fields->to, "%" PRId64, value);
}

void fields__text(struct fields *fields, const char *key, const char *value)
{
	put_key(fields, key);
	if (fields->json)
		json__put_string(fields->to, value);
	else
		format__quoted(fields->to, value);
}

void fields__word(struct fields *fields, const char *key, const char *value)
{
	put_key(fields, key);
	fprintf(fields->to, fields->json ? "\"%s\"" : "%s", value);
}

void fields__time(struct fields *fields, const char *key, int64_t ns)
{
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char name[32];

	if (fields->json) {
		snprintf(name, sizeof(name), "%s_ns", key);
		fields__number(fields, name, ns);
		return;
	}
	put_key(fields, key);
	fprintf(fields->to, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", magnitude / 1000000000,
		magnitude % 1000000000);
}
