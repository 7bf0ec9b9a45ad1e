// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/causal_live.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/causal/prediction.h"
#include "base/clock.h"
#include "cmd/cmd.h"
#include "render/causal/causal_words.h"

#define LOOK_NS	      3000000000ULL /* between looks, at first, */
#define LOOK_SHARE    20	    /* and at most this part of the time */
#define RESAMPLES     200
#define LEAST_VISITS  10
#define DEFAULT_WIDTH 80
#define NAME_WIDTH    40

/* A line of the terminal's width at most: a longer one could not be taken back. */
static void show_line(const char *text)
{
	struct winsize size;
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;

	fprintf(stderr, "\r\033[K%.*s", (width ? width : DEFAULT_WIDTH) - 1, text);
}

static void tell_best(struct causal_live *live, const struct causal_effects *effects)
{
	const struct causal_curve *best = effects->curves.n ? &effects->curves.data[0] : NULL;
	char name[CAUSAL_WORDS];

	live->found[0] = '\0';
	if (!best)
		return;
	causal_words__curve(effects->profile, best, name, sizeof(name));
	snprintf(live->found, sizeof(live->found), "; best%s: %.*s %+.0f%% (%.0f..%.0f)",
		 best->shape == CAUSAL_UNSURE ? ", not sure" : "", NAME_WIDTH, name,
		 100 * best->best, 100 * best->best_low, 100 * best->best_high);
}

/* Looks at what all experiments say so far, as the report would. */
static void look(struct causal_live *live)
{
	const struct causal_options options = {.min_visits = LEAST_VISITS, .resamples = RESAMPLES};
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	uint64_t begin = now_ns(CLOCK_MONOTONIC), took;

	if (causal_profile__read(live->profile, &profile) ||
	    causal__effects(profile, &options, &effects))
		return; /* the end will tell */
	tell_best(live, effects);
	live->sure = live->width > 0 && stopping_rule__is_met(effects, live->width, live->all);
	took = now_ns(CLOCK_MONOTONIC) - begin;
	live->look_at = begin + (took * LOOK_SHARE > LOOK_NS ? took * LOOK_SHARE : LOOK_NS);
}

bool causal_live__experiment(void *arg, const struct causal_experiment *experiment,
			     const struct causal_target *target)
{
	struct causal_live *live = arg;
	char text[512];

	live->experiments++;
	if ((live->terminal || live->width > 0) && now_ns(CLOCK_MONOTONIC) >= live->look_at)
		look(live);
	snprintf(text, sizeof(text), "dwell: %lu experiments%s; last: %s at %.0f%%",
		 live->experiments, live->found, target->name, experiment->speedup * 100);
	if (live->terminal)
		show_line(text);
	return live->sure;
}

void causal_live__turn(void *arg, const char *state)
{
	const struct causal_live *live = arg;
	char text[256];

	if (!live->terminal || live->experiments)
		return;
	snprintf(text, sizeof(text), "dwell: %s", state);
	show_line(text);
}

void causal_live__error(void *arg, int err)
{
	struct causal_live *live = arg;

	causal_live__end(live);
	command__fail(err);
	live->failed = true;
}

void causal_live__end(const struct causal_live *live)
{
	if (live->terminal)
		fputs("\r\033[K", stderr);
}
