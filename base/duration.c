// SPDX-License-Identifier: BSD-2-Clause
#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>

const char *duration__text(uint64_t ns, char text[static 24])
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
