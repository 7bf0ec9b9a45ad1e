// SPDX-License-Identifier: BSD-2-Clause
#include "render/latency/latency_compare.h"

#include <math.h>

#include "base/duration.h"
#include "base/round.h"
#include "render/format.h"
#include "render/json.h"
#include "render/latency/latency_requests.h"

/* So many rows are shown as text. */
#define MAX_ROWS 20

static void append_wait(const struct model *model, const struct comparison_row *row, char *text,
			size_t size)
{
	char object[256];

	object__text(model, row->object, object, sizeof(object));
	format__append(text, size, "waits: %s", kind__name((enum wait_kind)row->kind));
	if (row->variable)
		format__append(text, size, " %s", model__string(model, row->variable));
	else if (*object)
		format__append(text, size, " %s", object);
	if (row->name)
		format__append(text, size, ", for %s", model__string(model, row->name));
	if (row->caller)
		format__append(text, size, ", in %s", model__string(model, row->caller));
}

void latency_compare__describe(const struct model *model, const struct comparison_row *row,
			       char *text, size_t size)
{
	*text = '\0';
	if (row->is_rest) {
		format__append(text, size, "not covered by calls or waits");
		return;
	}
	switch ((enum timeline_type)row->type) {
	case TIMELINE_CALL:
		format__append(text, size, "%s",
			       row->name ? model__string(model, row->name) : "(no name)");
		break;
	case TIMELINE_WAIT:
		append_wait(model, row, text, size);
		break;
	default:
		format__append(text, size, "%s",
			       latency_requests__type((enum timeline_type)row->type));
		break;
	}
}

static void put_difference(double ns, FILE *to)
{
	uint64_t size = round__uint64(fabs(ns));
	char text[24], with_sign[32];

	snprintf(with_sign, sizeof(with_sign), "%s%s",
		 !size	  ? ""
		 : ns < 0 ? "-"
			  : "+",
		 duration__text(size, text));
	fprintf(to, "%12s", with_sign);
}

static void put_row(const struct model *model, const struct request_comparison *comparison,
		    const struct comparison_row *row, FILE *to)
{
	double means[COMPARISON_SIDES];
	char what[512], text[24];

	for (int i = 0; i < COMPARISON_SIDES; i++)
		means[i] = request_comparison__mean(comparison, (enum comparison_side_index)i,
						    row->ns[i]);
	put_difference(means[COMPARISON_TO] - means[COMPARISON_FROM], to);
	for (int i = 0; i < COMPARISON_SIDES; i++)
		fprintf(to, " %11s", duration__text(round__uint64(means[i]), text));
	for (int i = 0; i < COMPARISON_SIDES; i++)
		if (row->is_rest)
			fprintf(to, " %9s", "");
		else
			fprintf(to, " %9.2f",
				request_comparison__mean(comparison, (enum comparison_side_index)i,
							 row->n[i]));
	fputs("  ", to);
	latency_compare__describe(model, row, what, sizeof(what));
	format__safe(to, what);
	fputc('\n', to);
}

static void put_side(const struct request_comparison *comparison, enum comparison_side_index index,
		     const char *label, FILE *to)
{
	const struct comparison_side *side = &comparison->sides[index];
	double mean = request_comparison__mean(comparison, index, side->ns);
	char text[24];

	fprintf(to, "# %-4s : p%g, %zu requests, mean %s\n", label, side->percentile, side->group.n,
		duration__text(round__uint64(mean), text));
}

void latency_compare__text(const struct model *model, const struct request_comparison *comparison,
			   FILE *to)
{
	size_t n = comparison->rows.n < MAX_ROWS ? comparison->rows.n : MAX_ROWS;
	char from[24], until[24];

	fputs("#\n", to);
	put_side(comparison, COMPARISON_FROM, "from", to);
	put_side(comparison, COMPARISON_TO, "to", to);
	snprintf(from, sizeof(from), "p%g", comparison->sides[COMPARISON_FROM].percentile);
	snprintf(until, sizeof(until), "p%g", comparison->sides[COMPARISON_TO].percentile);
	fprintf(to, "#\n#%35s %19s\n", "mean time:", "times per request:");
	fprintf(to, "#%11s %11s %11s %9s %9s  %s\n", "difference", from, until, from, until,
		"what");
	for (size_t i = 0; i < n; i++)
		put_row(model, comparison, &comparison->rows.data[i], to);
	if (n < comparison->rows.n)
		fprintf(to, "# %zu more: --json\n", comparison->rows.n - n);
}

static json_t *side_json(const struct request_comparison *comparison,
			 enum comparison_side_index index)
{
	const struct comparison_side *side = &comparison->sides[index];
	json_t *entry = json_object();

	json_object_set_new(entry, "percentile", json_real(side->percentile));
	json_object_set_new(entry, "requests", json__number(side->group.n));
	json_object_set_new(entry, "mean_ns",
			    json_real(request_comparison__mean(comparison, index, side->ns)));
	return entry;
}

static json_t *row_json(const struct model *model, const struct request_comparison *comparison,
			const struct comparison_row *row)
{
	static const char *const ns_keys[] = {"from_ns", "to_ns"};
	static const char *const count_keys[] = {"from_count", "to_count"};
	json_t *entry = json_object();
	char what[512];

	latency_compare__describe(model, row, what, sizeof(what));
	json_object_set_new(entry, "what", json__text(what));
	json_object_set_new(
		entry, "type",
		json_string(row->is_rest ? "rest"
					 : latency_requests__type((enum timeline_type)row->type)));
	json_object_set_new(entry, "function",
			    row->name ? json__string(model, row->name) : json_null());
	for (int i = 0; i < COMPARISON_SIDES; i++) {
		enum comparison_side_index side = (enum comparison_side_index)i;

		json_object_set_new(
			entry, ns_keys[i],
			json_real(request_comparison__mean(comparison, side, row->ns[i])));
		json_object_set_new(
			entry, count_keys[i],
			json_real(request_comparison__mean(comparison, side, row->n[i])));
	}
	return entry;
}

json_t *latency_compare__json(const struct model *model,
			      const struct request_comparison *comparison)
{
	json_t *entry = json_object(), *rows = json_array();

	json_object_set_new(entry, "from", side_json(comparison, COMPARISON_FROM));
	json_object_set_new(entry, "to", side_json(comparison, COMPARISON_TO));
	for (size_t i = 0; i < comparison->rows.n; i++)
		json_array_append_new(rows, row_json(model, comparison, &comparison->rows.data[i]));
	json_object_set_new(entry, "rows", rows);
	return entry;
}
