// SPDX-License-Identifier: BSD-2-Clause
/*
 * In place of the library of dwell-cc: counts the calls of instrumented functions, and writes their
 * number to the file $DWELL_CALLS_FILE when the program ends.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/shadow_stack.h"

#define HIDDEN __attribute__((visibility("hidden")))

extern __thread struct shadow_thread __dwell_shadow;
extern uint64_t dwell_calls;
extern struct shadow_stack dwell_no_stack;

__thread struct shadow_thread __dwell_shadow __attribute__((tls_model("initial-exec")));
HIDDEN uint64_t dwell_calls;
HIDDEN __attribute__((aligned(SHADOW_STACK_SIZE))) struct shadow_stack dwell_no_stack;

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("DWELL_CALLS_FILE");
	FILE *out = path ? fopen(path, "we") : NULL;

	if (!out)
		return;
	fprintf(out, "%llu\n", (unsigned long long)dwell_calls);
	fclose(out);
}
