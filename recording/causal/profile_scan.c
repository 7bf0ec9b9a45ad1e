// SPDX-License-Identifier: BSD-2-Clause
/*
 * Parses experiments exactly as the writer writes them. Lines that differ in any way are left
 * to the JSON parser.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/causal/profile_lines.h"

struct scan {
	const char *at;
	const char *end;
};

static bool scan_char(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* A string of printable ASCII without escapes. */
static bool scan_string(struct scan *scan, const char **text, size_t *size)
{
	if (!scan_char(scan, '"'))
		return false;
	*text = scan->at;
	while (scan->at < scan->end && *scan->at >= ' ' && *scan->at < 0x7f && *scan->at != '"' &&
	       *scan->at != '\\')
		scan->at++;
	*size = (size_t)(scan->at - *text);
	return scan_char(scan, '"');
}

/* An integer without sign, fraction or exponent. */
static bool scan_count(struct scan *scan, uint64_t max, uint64_t *count)
{
	const char *begin = scan->at;

	*count = 0;
	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' &&
	       scan->at - begin < 19)
		*count = 10 * *count + (uint64_t)(*scan->at++ - '0');
	return scan->at != begin && (*begin != '0' || scan->at == begin + 1) && *count <= max &&
	       scan->at < scan->end && (*scan->at == ',' || *scan->at == ']' || *scan->at == '}');
}

static bool scan_real(struct scan *scan, double *real)
{
	size_t left = (size_t)(scan->end - scan->at), n = 0;
	char text[40], *end;

	while (n < left && n < sizeof(text) - 1 && memchr("0123456789.e+-", scan->at[n], 14)) {
		text[n] = scan->at[n];
		n++;
	}
	text[n] = '\0';
	/* 1.5, 12e3: not .5, 5., 05 */
	if (n < 1 || text[0] < '0' || text[0] > '9' ||
	    (text[0] == '0' && n > 1 && text[1] != '.') || text[n - 1] == '.' || strstr(text, ".e"))
		return false;
	scan->at += n;
	*real = strtod(text, &end);
	return !*end && *real <= (double)CAUSAL_RUN_MAX;
}

/* [point, visits, span_ns, ends, occupied_ns], at least two of them. */
static bool scan_visits(struct scan *scan, struct causal_visits *visits)
{
	uint64_t *const counts[] = {&visits->visits, &visits->span_ns, &visits->ends};
	uint64_t point;

	if (!scan_char(scan, '[') || !scan_count(scan, UINT32_MAX, &point))
		return false;
	visits->point = (uint32_t)point;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (i && scan_char(scan, ']'))
			return true;
		if (!scan_char(scan, ',') || !scan_count(scan, CAUSAL_HALF_MAX, counts[i]))
			return false;
	}
	return scan_char(scan, ']') ||
	       (scan_char(scan, ',') && scan_real(scan, &visits->occupied_ns) &&
		scan_char(scan, ']'));
}

static bool scan_points(struct scan *scan, struct causal_parsed_half *half)
{
	if (!scan_char(scan, '['))
		return false;
	if (scan_char(scan, ']'))
		return true;
	do {
		struct causal_visits visits = {};

		if (!scan_visits(scan, &visits) || array__push(&half->visits, visits))
			return false;
	} while (scan_char(scan, ','));
	return scan_char(scan, ']');
}

/* "NAME": */
static bool scan_name(struct scan *scan, const char *name)
{
	size_t n = strlen(name);

	if ((size_t)(scan->end - scan->at) < n + 3 || scan->at[0] != '"' ||
	    memcmp(scan->at + 1, name, n) != 0 || scan->at[n + 1] != '"' || scan->at[n + 2] != ':')
		return false;
	scan->at += n + 3;
	return true;
}

static bool scan_half(struct scan *scan, struct causal_parsed_half *half)
{
	half->visits.n = 0;
	return scan_char(scan, '{') && scan_name(scan, "duration_ns") &&
	       scan_count(scan, CAUSAL_HALF_MAX, &half->duration_ns) && scan_char(scan, ',') &&
	       scan_name(scan, "delay_ns") && scan_count(scan, CAUSAL_HALF_MAX, &half->delay_ns) &&
	       scan_char(scan, ',') && scan_name(scan, "hit_ns") &&
	       scan_count(scan, CAUSAL_RUN_MAX, &half->hit_ns) && scan_char(scan, ',') &&
	       scan_name(scan, "points") && scan_points(scan, half) && scan_char(scan, '}');
}

bool causal_scan__experiment(const char *text, size_t size, struct causal_parsed *raw)
{
	static const char begin[] = "{\"type\":\"experiment\",";
	struct scan scan = {text + sizeof(begin) - 1, text + size};
	uint64_t target;

	if (size < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0)
		return false;
	if (!scan_name(&scan, "run") || !scan_string(&scan, &raw->run, &raw->run_size) ||
	    !scan_char(&scan, ',') || !scan_name(&scan, "target") ||
	    !scan_count(&scan, UINT32_MAX, &target) || !scan_char(&scan, ',') ||
	    !scan_name(&scan, "speedup") || !scan_real(&scan, &raw->speedup) ||
	    !scan_char(&scan, ','))
		return false;
	raw->target = (uint32_t)target;
	raw->also = "";
	raw->also_size = 0;
	if (scan_name(&scan, "also") &&
	    (!scan_string(&scan, &raw->also, &raw->also_size) || !scan_char(&scan, ',')))
		return false;
	if (!scan_name(&scan, "at_ns") || !scan_count(&scan, CAUSAL_RUN_MAX, &raw->at_ns) ||
	    !scan_char(&scan, ','))
		return false;
	raw->whole_run = !scan_name(&scan, "base");
	if (!raw->whole_run && (!scan_half(&scan, &raw->base) || !scan_char(&scan, ',')))
		return false;
	return scan_name(&scan, "with") && scan_half(&scan, &raw->with) && scan_char(&scan, '}') &&
	       scan.at == scan.end;
}
