// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, read as a causal profile: the reader must not crash, what it gives out must be
 * as causal_profile.h says, and it must come to curves and be printed.
 *
 * Experiments are read in two ways. A line that the quick one takes must be the same to the
 * JSON parser, which gets it with a member more.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/causal/profile_lines.h"
#include "render/causal/causal_views.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_half(const struct causal_profile *profile, const struct causal_half *half)
{
	CHECK(half->duration_ns > 0 && half->duration_ns <= CAUSAL_HALF_MAX);
	CHECK(half->delay_ns <= CAUSAL_HALF_MAX);
	for (uint32_t i = 0; i < half->n_points; i++) {
		CHECK(half->points[i].point < profile->points.n);
		CHECK(half->points[i].visits <= CAUSAL_HALF_MAX);
		CHECK(half->points[i].occupied_ns >= 0);
	}
}

static void check_profile(const struct causal_profile *profile)
{
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];

		CHECK(experiment->run < profile->runs.n);
		CHECK(experiment->target < profile->targets.n);
		CHECK(experiment->speedup >= 0 && experiment->speedup <= 1);
		CHECK(experiment->also);
		check_half(profile, &experiment->with);
		if (!experiment->whole_run)
			check_half(profile, &experiment->base);
	}
	for (size_t i = 0; i < profile->runs.n; i++)
		for (size_t k = 0; k < profile->runs.data[i].seen.n; k++)
			CHECK(profile->runs.data[i].seen.data[k].target < profile->targets.n);
}

static void print_all(const struct causal_profile *profile)
{
	const struct causal_options options = {.resamples = 3};
	struct causal_effects *effects;
	char *text = NULL;
	size_t size;
	FILE *to;

	CHECK(!causal__effects(profile, &options, &effects));
	for (size_t i = 0; i < effects->curves.n; i++) {
		const struct causal_curve *curve = &effects->curves.data[i];

		CHECK(curve->results.n && curve->best == curve->best);
		for (size_t k = 0; k < curve->results.n; k++) {
			CHECK(curve->results.data[k].program_speedup <= 1);
			CHECK(curve->results.data[k].low <= curve->results.data[k].high);
		}
	}
	to = open_memstream(&text, &size);
	CHECK(to);
	CHECK(!causal_text__print(effects, &(struct causal_text_options){.all = true}, to));
	CHECK(!causal_json__print(effects, to));
	CHECK(!causal_coz__print(profile, to));
	CHECK(!causal_coz__print_jsonl(profile, to));
	fclose(to);
	free(text);
	causal_effects__free(effects);
}

/* The profile in a file of these bytes, or NULL. */
static struct causal_profile *read_bytes(const void *data, size_t size)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	struct causal_profile *profile = NULL;
	char path[64];

	CHECK(fd >= 0);
	CHECK(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (causal_profile__read(path, &profile))
		profile = NULL;
	close(fd);
	return profile;
}

/* The same bytes, with no line as the writer has it. */
static void check_other_way(const uint8_t *data, size_t size, const struct causal_profile *profile)
{
	static const char begin[] = "{\"type\":\"experiment\",", more[] = "\"x\":0,";
	char *text = NULL;
	struct causal_profile *other;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	CHECK(to);
	for (size_t i = 0; i < size; i++) {
		if (size - i >= sizeof(begin) - 1 && !memcmp(data + i, begin, sizeof(begin) - 1)) {
			fwrite(begin, 1, sizeof(begin) - 1, to);
			fputs(more, to);
			i += sizeof(begin) - 2;
		} else {
			fputc(data[i], to);
		}
	}
	fclose(to);
	other = read_bytes(text, n);
	CHECK(other);
	CHECK(other->experiments.n == profile->experiments.n);
	CHECK(other->skipped == profile->skipped);
	for (size_t i = 0; i < other->experiments.n; i++)
		CHECK(other->experiments.data[i].speedup == profile->experiments.data[i].speedup &&
		      other->experiments.data[i].with.duration_ns ==
			      profile->experiments.data[i].with.duration_ns &&
		      other->experiments.data[i].with.n_points ==
			      profile->experiments.data[i].with.n_points);
	causal_profile__free(other);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct causal_profile *profile = read_bytes(data, size);

	if (!profile)
		return 0;
	check_profile(profile);
	print_all(profile);
	check_other_way(data, size, profile);
	causal_profile__free(profile);
	return 0;
}
