// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/builds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct causal_build *build)
{
	const char *slash = strrchr(build->path, '/');

	return slash ? slash + 1 : build->path;
}

/* The build id of @name in the last run that has it; NULL: none has. */
static const char *last_id(const struct causal_profile *profile, const char *name)
{
	for (size_t i = profile->runs.n; i-- > 0;) {
		const struct causal_run *run = &profile->runs.data[i];

		for (size_t k = run->builds.n; k-- > 0;)
			if (*run->builds.data[k].id && !strcmp(name_of(&run->builds.data[k]), name))
				return run->builds.data[k].id;
	}
	return NULL;
}

/* Whether @run is of another build than @build, or than the last one if that is NULL. */
static bool is_other(const struct causal_profile *profile, const struct causal_run *run,
		     const char *build)
{
	for (size_t i = 0; i < run->builds.n; i++) {
		const struct causal_build *own = &run->builds.data[i];

		if (build && !strncmp(own->id, build, strlen(build)))
			return false;
		if (!build && *own->id && strcmp(own->id, last_id(profile, name_of(own))) != 0)
			return true;
	}
	return build;
}

int causal_builds__select(struct causal_effects *effects, const char *build)
{
	const struct causal_profile *profile = effects->profile;

	effects->left_out = calloc(profile->runs.n + 1, sizeof(*effects->left_out));
	if (!effects->left_out)
		return -ENOMEM;
	for (size_t i = 0; i < profile->runs.n; i++)
		effects->left_out[i] = is_other(profile, &profile->runs.data[i], build);
	return 0;
}

static bool is_used(const struct causal_effects *effects, const char *id)
{
	const struct causal_profile *profile = effects->profile;

	for (size_t i = 0; i < profile->runs.n; i++) {
		const struct causal_run *run = &profile->runs.data[i];

		for (size_t k = 0; k < run->builds.n && !effects->left_out[i]; k++)
			if (!strcmp(run->builds.data[k].id, id))
				return true;
	}
	return false;
}

const char *causal_builds__other(const struct causal_effects *effects, size_t index)
{
	const struct causal_run *run = &effects->profile->runs.data[index];

	for (size_t i = 0; i < run->builds.n; i++)
		if (*run->builds.data[i].id && !is_used(effects, run->builds.data[i].id))
			return run->builds.data[i].id;
	return NULL;
}
