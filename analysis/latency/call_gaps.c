// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/call_gaps.h"

#include <math.h>

void call_gaps__add(struct call_gaps *gaps, const struct model_coverage *coverage, uint64_t longest)
{
	uint64_t sum = 0;

	for (unsigned class = 0; class < SCAN_GAPS; class ++) {
		double ns = (double)coverage->gap_ns[class];
		double length =
			class + 1 < SCAN_GAPS ? (double)scan_gap__limit(class) : (double)longest;

		sum += coverage->gap_ns[class];
		if (class < SCAN_GAP_UNLOOKED || ns <= 0 || length <= 0)
			continue;
		length = fmin(length, ns);
		gaps->n += ns / length;
		gaps->square += ns * length;
	}
	gaps->ran_ns += coverage->ns;
	/* Without pairs, there was one look, not a recording that has no gaps. */
	gaps->unseen_ns += (sum || !coverage->pairs) && sum < coverage->ns ? coverage->ns - sum : 0;
}

void call_gaps__sum(struct call_gaps *gaps, const struct call_gaps *other)
{
	gaps->ran_ns += other->ran_ns;
	gaps->unseen_ns += other->unseen_ns;
	gaps->n += other->n;
	gaps->square += other->square;
}

double call_gaps__variance(const struct call_gaps *gaps, double total_ns)
{
	double share = gaps->ran_ns ? total_ns / (double)gaps->ran_ns : 1;

	if (gaps->n <= 0)
		return 0;
	share = fmin(1, fmax(share, fmin(0.5, 3 / gaps->n)));
	return gaps->square * share * (1 - share);
}
