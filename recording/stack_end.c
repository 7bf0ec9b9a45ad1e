// SPDX-License-Identifier: BSD-2-Clause
#include "recording/stack_end.h"

static const struct {
	const char *name;
	const char *text;
} stack_ends[STACK_END_COUNT] = {
	[STACK_COMPLETE] = {"complete", "complete"},
	[STACK_TOO_DEEP] = {"too_deep", "deeper than is kept"},
	[STACK_UNREADABLE] = {"unreadable", "stack memory not readable"},
	[STACK_NO_MAPPING] = {"no_mapping", "address in no known mapping"},
	[STACK_NO_TABLE] = {"no_table", "no unwind table yet"},
	[STACK_UNSUPPORTED] = {"unsupported", "unwind rule not handled"},
	[STACK_FRAME_POINTER] = {"frame_pointer", "frame pointers only"},
	[STACK_GUESSED] = {"guessed", "a step by frame pointer"},
};

const char *stack_end__text(enum stack_end end)
{
	return stack_ends[end].text;
}

const char *stack_end__name(enum stack_end end)
{
	return stack_ends[end].name;
}
