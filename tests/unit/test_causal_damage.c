// SPDX-License-Identifier: BSD-2-Clause
/* Causal profiles that are cut and damaged: read, analysed and printed all the same. */
#include "tests/unit/causal_files.h"

#include "render/causal/causal_views.h"

/* A small profile that has every kind of line. */
static char *small_profile(const struct scratch_file *file, size_t *n)
{
	_cleanup_made_ struct made made = made__begin();
	struct machine machine = machine__noisy(3);
	uint32_t target = made__target(&made, "f");
	struct causal_run *run = &made.profile.runs.data[0];

	made__point(&made, "request", CAUSAL_LATENCY);
	made__experiments(&made, &machine,
			  (struct truth){.target = target, .speedup = 0.5, .gain = 0.25}, 2);
	for (size_t i = 0; i < made.profile.experiments.n; i++) {
		struct causal_half *half = &made.profile.experiments.data[i].with;

		half->points = made__take(&made, 2 * sizeof(*half->points));
		half->points[0] = (struct causal_visits){0, 130, 0, 5000, 0};
		half->points[1] = (struct causal_visits){1, 30, 31, 0, 1234.5};
		half->n_points = 2;
	}
	assert_int_equal(array__push(&run->seen, ((struct causal_seen){target, 99})), 0);
	assert_int_equal(array__push(&run->places, ((struct causal_place){"/a.c", 7, "f", 8})), 0);
	assert_int_equal(array__push(&run->diagnostics, (const char *)"no debug info"), 0);
	scratch__put(file, "", 0);
	scratch__write_profile(file, &made.profile, "r");
	return scratch__get(file, n);
}

/* Whatever is in there, all of it can be printed. */
static void print_all(const struct causal_profile *profile, const struct causal_effects *effects)
{
	const struct causal_text_options options = {.all = true};
	_cleanup_fclose_ FILE *nothing = fopen("/dev/null", "we");

	assert_non_null(nothing);
	assert_int_equal(causal_text__print(effects, &options, nothing), 0);
	assert_int_equal(causal_json__print(effects, nothing), 0);
	assert_int_equal(causal_coz__print(profile, nothing), 0);
	assert_int_equal(causal_coz__print_jsonl(profile, nothing), 0);
}

/* How many experiments are left of a damaged profile. */
static size_t survive(const struct scratch_file *file, const char *bytes, size_t n, bool print)
{
	const struct causal_options options = {.resamples = 10};
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	int err;

	scratch__put(file, bytes, n);
	err = causal_profile__read(file->path, &profile);
	if (err) {
		assert_int_equal(err, -EINVAL);
		assert_true(*error__message(err) && *error__hint_text(err));
		return 0;
	}
	profile__check(profile);
	if (print) {
		assert_int_equal(causal__effects(profile, &options, &effects), 0);
		print_all(profile, effects);
	}
	return profile->experiments.n;
}

static void cut_at_every_byte(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_free_ char *bytes = NULL;
	size_t n, before = 0;

	bytes = small_profile(&file, &n);
	for (size_t size = 0; size <= n; size++) {
		size_t left = survive(&file, bytes, size, true);

		/* What was whole is never lost. */
		assert_true(left >= before);
		before = left;
	}
	assert_int_equal(before, 2);
}

static void every_byte_flipped(void **state)
{
	static const unsigned char masks[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	bytes = small_profile(&file, &n);
	for (size_t at = 0; at < n; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
			bytes[at] ^= (char)masks[i];
			survive(&file, bytes, n, i == at % ARRAY_SIZE(masks));
			bytes[at] ^= (char)masks[i];
		}
	}
}

static void every_byte_missing_or_twice(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_free_ char *bytes = NULL, *other = NULL;
	size_t n;

	bytes = small_profile(&file, &n);
	other = malloc(n + 1);
	assert_non_null(other);
	for (size_t at = 0; at < n; at++) {
		memcpy(other, bytes, at);
		memcpy(other + at, bytes + at + 1, n - at - 1);
		survive(&file, other, n - 1, at % 8 == 0);
		memcpy(other, bytes, at + 1);
		memcpy(other + at + 1, bytes + at, n - at);
		survive(&file, other, n + 1, at % 8 == 0);
	}
}

/* Digits of all numbers become others: values that no run can have. */
static void strange_numbers(void **state)
{
	static const char *const strange[] = {"0",
					      "1",
					      "9007199254740992",
					      "1152921504606846976",
					      "9223372036854775807",
					      "1e15",
					      "0.5",
					      "1e-300"};
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_free_ char *bytes = NULL;
	size_t n;

	bytes = small_profile(&file, &n);
	for (size_t at = 1; at < n; at++) {
		size_t digits = strspn(bytes + at, "0123456789.");

		if (!digits || !strchr(":[,", bytes[at - 1]))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
			_cleanup_free_ char *other = NULL;

			assert_true(asprintf(&other, "%.*s%s%s", (int)at, bytes, strange[i],
					     bytes + at + digits) > 0);
			survive(&file, other, strlen(other), true);
		}
		at += digits;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_byte_flipped),
		cmocka_unit_test(every_byte_missing_or_twice),
		cmocka_unit_test(strange_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
