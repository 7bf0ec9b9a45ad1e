// SPDX-License-Identifier: BSD-2-Clause
/*
 * Experiments, read as the writer writes them. Whatever looks in any way different is left
 * to the JSON parser, which decides.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/causal/profile_lines.h"

struct scan {
	const char *at;
	const char *end;
};

static bool scan__char(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* A string without escapes, of printable ASCII. */
static bool scan__string(struct scan *scan, const char **text, size_t *size)
{
	if (!scan__char(scan, '"'))
		return false;
	*text = scan->at;
	while (scan->at < scan->end && *scan->at >= ' ' && *scan->at < 0x7f && *scan->at != '"' &&
	       *scan->at != '\\')
		scan->at++;
	*size = (size_t)(scan->at - *text);
	return scan__char(scan, '"');
}

/* Digits, and no sign, fraction or exponent. */
static bool scan__count(struct scan *scan, uint64_t max, uint64_t *count)
{
	const char *begin = scan->at;

	*count = 0;
	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' &&
	       scan->at - begin < 19)
		*count = 10 * *count + (uint64_t)(*scan->at++ - '0');
	return scan->at != begin && (*begin != '0' || scan->at == begin + 1) && *count <= max &&
	       scan->at < scan->end && (*scan->at == ',' || *scan->at == ']' || *scan->at == '}');
}

static bool scan__real(struct scan *scan, double *real)
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
static bool scan__visits(struct scan *scan, struct causal_visits *visits)
{
	uint64_t *const counts[] = {&visits->visits, &visits->span_ns, &visits->ends};
	uint64_t point;

	if (!scan__char(scan, '[') || !scan__count(scan, UINT32_MAX, &point))
		return false;
	visits->point = (uint32_t)point;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (i && scan__char(scan, ']'))
			return true;
		if (!scan__char(scan, ',') || !scan__count(scan, CAUSAL_HALF_MAX, counts[i]))
			return false;
	}
	return scan__char(scan, ']') ||
	       (scan__char(scan, ',') && scan__real(scan, &visits->occupied_ns) &&
		scan__char(scan, ']'));
}

static bool scan__points(struct scan *scan, struct causal_raw_half *half)
{
	if (!scan__char(scan, '['))
		return false;
	if (scan__char(scan, ']'))
		return true;
	do {
		struct causal_visits visits = {};

		if (!scan__visits(scan, &visits) || array__push(&half->visits, visits))
			return false;
	} while (scan__char(scan, ','));
	return scan__char(scan, ']');
}

/* "NAME": */
static bool scan__name(struct scan *scan, const char *name)
{
	size_t n = strlen(name);

	if ((size_t)(scan->end - scan->at) < n + 3 || scan->at[0] != '"' ||
	    memcmp(scan->at + 1, name, n) != 0 || scan->at[n + 1] != '"' || scan->at[n + 2] != ':')
		return false;
	scan->at += n + 3;
	return true;
}

static bool scan__half(struct scan *scan, struct causal_raw_half *half)
{
	half->visits.n = 0;
	return scan__char(scan, '{') && scan__name(scan, "duration_ns") &&
	       scan__count(scan, CAUSAL_HALF_MAX, &half->duration_ns) && scan__char(scan, ',') &&
	       scan__name(scan, "delay_ns") &&
	       scan__count(scan, CAUSAL_HALF_MAX, &half->delay_ns) && scan__char(scan, ',') &&
	       scan__name(scan, "hit_ns") && scan__count(scan, CAUSAL_RUN_MAX, &half->hit_ns) &&
	       scan__char(scan, ',') && scan__name(scan, "points") && scan__points(scan, half) &&
	       scan__char(scan, '}');
}

bool causal_scan__experiment(const char *text, size_t size, struct causal_raw *raw)
{
	static const char begin[] = "{\"type\":\"experiment\",";
	struct scan scan = {text + sizeof(begin) - 1, text + size};
	uint64_t target;

	if (size < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0)
		return false;
	if (!scan__name(&scan, "run") || !scan__string(&scan, &raw->run, &raw->run_size) ||
	    !scan__char(&scan, ',') || !scan__name(&scan, "target") ||
	    !scan__count(&scan, UINT32_MAX, &target) || !scan__char(&scan, ',') ||
	    !scan__name(&scan, "speedup") || !scan__real(&scan, &raw->speedup) ||
	    !scan__char(&scan, ','))
		return false;
	raw->target = (uint32_t)target;
	raw->also = "";
	raw->also_size = 0;
	if (scan__name(&scan, "also") &&
	    (!scan__string(&scan, &raw->also, &raw->also_size) || !scan__char(&scan, ',')))
		return false;
	if (!scan__name(&scan, "at_ns") || !scan__count(&scan, CAUSAL_RUN_MAX, &raw->at_ns) ||
	    !scan__char(&scan, ','))
		return false;
	raw->whole_run = !scan__name(&scan, "base");
	if (!raw->whole_run && (!scan__half(&scan, &raw->base) || !scan__char(&scan, ',')))
		return false;
	return scan__name(&scan, "with") && scan__half(&scan, &raw->with) &&
	       scan__char(&scan, '}') && scan.at == scan.end;
}
