// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/causal_live.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/causal/prediction.h"
#include "base/clock.h"
#include "cmd/cmd.h"
#include "render/causal/causal_verdict.h"

#define CHECK_NS      3000000000ULL /* between checks of the profile */
#define CHECK_SHARE   20	    /* a check takes at most 1/20 of the time */
#define RESAMPLES     200
#define MIN_VISITS    10
#define DEFAULT_WIDTH 80
#define NAME_WIDTH    40

/* Cut at the terminal's width: "\r" cannot erase a line that has wrapped. */
static void show_line(const char *text)
{
	struct winsize size;
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;

	fprintf(stderr, "\r\033[K%.*s", (width ? width : DEFAULT_WIDTH) - 1, text);
}

static void format_best(struct causal_live *live, const struct causal_effects *effects)
{
	const struct causal_curve *best = effects->curves.n ? &effects->curves.data[0] : NULL;
	char name[CAUSAL_LABEL_SIZE];

	live->best[0] = '\0';
	if (!best || best->best_low <= 0) /* no gain that is known to be one */
		return;
	causal_label__curve(effects->profile, best, name, sizeof(name));
	snprintf(live->best, sizeof(live->best), "; best%s: %.*s %+.0f%% (%.0f..%.0f)",
		 best->shape == CAUSAL_UNSURE ? ", not sure" : "", NAME_WIDTH, name,
		 100 * best->best, 100 * best->best_low, 100 * best->best_high);
}

/* Analyzes all experiments so far, as the report does. */
static void check_profile(struct causal_live *live)
{
	const struct causal_options options = {.min_visits = MIN_VISITS, .resamples = RESAMPLES};
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	uint64_t begin = now_ns(CLOCK_MONOTONIC), took;

	if (causal_profile__read(live->profile, &profile) ||
	    causal__effects(profile, &options, &effects))
		return; /* the run reports errors at its end */
	format_best(live, effects);
	live->rule_met =
		live->width > 0 && stopping_rule__is_met(effects, live->width, live->all_targets);
	took = now_ns(CLOCK_MONOTONIC) - begin;
	live->next_check = begin + (took * CHECK_SHARE > CHECK_NS ? took * CHECK_SHARE : CHECK_NS);
}

bool causal_live__experiment(void *arg, const struct causal_experiment *experiment,
			     const struct causal_target *target)
{
	struct causal_live *live = arg;
	char text[512];

	live->experiments++;
	if ((live->terminal || live->width > 0) && now_ns(CLOCK_MONOTONIC) >= live->next_check)
		check_profile(live);
	snprintf(text, sizeof(text), "dwell: %lu experiments%s; last: %s at %.0f%%",
		 live->experiments, live->best, target->name, experiment->speedup * 100);
	if (live->terminal)
		show_line(text);
	return live->rule_met;
}

void causal_live__state(void *arg, const char *state)
{
	const struct causal_live *live = arg;
	char text[256];

	if (!live->terminal || live->experiments)
		return;
	snprintf(text, sizeof(text), "dwell: %s", state);
	show_line(text);
}

void causal_live__awaited(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr,
		"dwell: '%s' is in neither the command nor its libraries. The command can load or "
		"run other code: dwell waits for that.\n",
		text);
}

void causal_live__outlived(void *arg, bool goes_on)
{
	const struct causal_live *live = arg;

	causal_live__clear(live);
	fprintf(stderr,
		"dwell: the command has ended, but processes that it started still run.\n%s",
		goes_on ? "  They are profiled until they end. Ctrl-C stops profiling, not them.\n"
			: "");
}

void causal_live__error(void *arg, int err)
{
	struct causal_live *live = arg;

	causal_live__clear(live);
	command__fail(err);
	live->error_printed = true;
}

void causal_live__clear(const struct causal_live *live)
{
	if (live->terminal)
		fputs("\r\033[K", stderr);
}
