// SPDX-License-Identifier: BSD-2-Clause
/* Causal profiles are read, whoever wrote what, and whatever is wrong with it. */
#include "tests/unit/causal_files.h"

#include "recording/causal/profile_lines.h"

/* Reads @text as a profile. */
static struct causal_profile *read_text(const char *text)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	struct causal_profile *profile;

	scratch__put_text(&file, text);
	profile = scratch__read(&file);
	profile__check(profile);
	return profile;
}

static void runs_combine(void **state)
{
	_cleanup_causal_profile_ struct causal_profile *profile =
		read_text(RUN("one") POINT("one") RUN("two") TARGET("one") TARGET("two")
				  EXPERIMENT("one", "0", "0.5", "20") POINT("two")
					  EXPERIMENT("two", "0", "0.25", "30")
						  EXPERIMENT("one", "0", "1", "40"));

	assert_int_equal(profile->skipped, 0);
	assert_int_equal(profile->runs.n, 2);
	assert_int_equal(profile->points.n, 1);
	assert_int_equal(profile->targets.n, 1);
	assert_int_equal(profile->experiments.n, 3);
	assert_int_equal(profile->experiments.data[0].run, 0);
	assert_int_equal(profile->experiments.data[1].run, 1);
	assert_int_equal(profile->experiments.data[2].run, 0);
	assert_int_equal(profile->experiments.data[1].with.points[0].visits, 30);
}

/* Ids are those of a run: the same number can be another target in another run. */
static void ids_are_of_their_run(void **state)
{
	_cleanup_causal_profile_ struct causal_profile *profile =
		read_text(RUN("one") RUN("two") TARGET(
			"one") "{\"type\":\"target\",\"run\":\"two\",\"id\":0,\"kind\":\"class\","
			       "\"name\":\"io\"}\n" EXPERIMENT("two", "0", "0.5", "20")
				       EXPERIMENT("one", "0", "0.5", "20"));

	assert_int_equal(profile->targets.n, 2);
	assert_string_equal(profile->targets.data[profile->experiments.data[0].target].name, "io");
	assert_string_equal(profile->targets.data[profile->experiments.data[1].target].name, "f");
	/* Nobody said what point 0 is. */
	assert_int_equal(profile->experiments.data[0].with.n_points, 0);
}

static void what_is_unknown_is_passed_over(void **state)
{
	_cleanup_causal_profile_ struct causal_profile *profile =
		read_text(RUN("r") POINT("r") TARGET(
			"r") "{\"type\":\"weather\",\"run\":\"r\",\"rain\":[1,{\"x\":null}]}\n"
			     "\n\n"
			     "{\"type\":\"experiment\",\"run\":\"r\",\"moon\":\"full\",\"target\":"
			     "0,"
			     "\"speedup\":1,\"with\":{\"duration_ns\":5,\"cpu\":3,\"points\":[]}}\n"
			     "{\"type\":\"end\",\"run\":\"r\",\"later\":true,\"runtime_ns\":8}\n");

	assert_int_equal(profile->skipped, 0);
	assert_int_equal(profile->experiments.n, 1);
	assert_true(profile->experiments.data[0].whole_run);
	assert_int_equal(profile->runs.data[0].runtime_ns, 8);
}

/* Lines that cannot be right, each between good ones. */
static void what_is_wrong_is_left_out(void **state)
{
	static const char *const wrong[] = {
		"",
		"no JSON",
		"{",
		"[]",
		"12",
		"null",
		"{\"type\":\"experiment\"}",
		"{\"type\":5,\"run\":\"r\"}",
		"{\"type\":\"experiment\",\"run\":7}",
		"{\"type\":\"end\",\"run\":\"stranger\",\"runtime_ns\":1}",
		"{\"type\":\"end\",\"run\":\"r\",\"runtime_ns\":-1}",
		"{\"type\":\"end\",\"run\":\"r\",\"runtime_ns\":\"1\"}",
		"{\"type\":\"end\",\"run\":\"r\",\"runtime_ns\":1e300}",
		"{\"type\":\"end\",\"run\":\"r\",\"runtime_ns\":NaN}",
		"{\"type\":\"end\",\"run\":\"r\",\"status\":0.5}",
		"{\"type\":\"run\",\"version\":0,\"run\":\"v\"}",
		"{\"type\":\"run\",\"run\":\"v\"}",
		"{\"type\":\"run\",\"version\":1,\"run\":\"v\","
		"\"start_realtime\":9223372036854775808.0}",
		"{\"type\":\"run\",\"version\":1,\"run\":\"v\",\"period_ns\":-5}",
		"{\"type\":\"run\",\"version\":1,\"run\":\"v\",\"command\":{}}",
		"{\"type\":\"point\",\"run\":\"r\",\"id\":1,\"name\":\"x\",\"kind\":\"speed\"}",
		"{\"type\":\"point\",\"run\":\"r\",\"id\":-1,\"name\":\"x\",\"kind\":\"latency\"}",
		"{\"type\":\"point\",\"run\":\"r\",\"id\":4294967296,\"name\":\"x\",\"kind\":"
		"\"latency\"}",
		"{\"type\":\"point\",\"run\":\"r\",\"id\":1,\"name\":3,\"kind\":\"latency\"}",
		"{\"type\":\"point\",\"run\":\"r\",\"name\":\"x\",\"kind\":\"latency\"}",
		"{\"type\":\"target\",\"run\":\"r\",\"id\":1,\"kind\":\"soul\",\"name\":\"x\"}",
		"{\"type\":\"target\",\"run\":\"r\",\"id\":1,\"kind\":\"line\",\"line\":-3}",
		"{\"type\":\"target\",\"run\":\"r\",\"id\":1,\"kind\":\"line\",\"inclusive\":1}",
		"{\"type\":\"target\",\"run\":\"r\",\"id\":1,\"kind\":\"line\",\"file\":[]}",
		"{\"type\":\"seen\",\"run\":\"r\",\"target\":5,\"ns\":1}",
		"{\"type\":\"seen\",\"run\":\"r\",\"target\":0,\"ns\":-1}",
		"{\"type\":\"place\",\"run\":\"r\",\"line\":\"7\",\"ns\":1}",
		"{\"type\":\"trouble\",\"run\":\"r\",\"text\":7}",
		EXPERIMENT("r", "5", "0.5", "20"),
		EXPERIMENT("r", "-1", "0.5", "20"),
		EXPERIMENT("r", "\"0\"", "0.5", "20"),
		EXPERIMENT("r", "0", "1.5", "20"),
		EXPERIMENT("r", "0", "-0.1", "20"),
		EXPERIMENT("r", "0", "\"half\"", "20"),
		EXPERIMENT("r", "0", "null", "20"),
		EXPERIMENT("r", "0", "1e400", "20"),
		EXPERIMENT("r", "0", "0.5", "-20"),
		EXPERIMENT("r", "0", "0.5", "1e300"),
		EXPERIMENT("r", "0", "0.5", "99999999999999999999"),
		EXPERIMENT("r", "0", "0.5", "\"20\""),
		EXPERIMENT("r", "0", "0.5", "20,5,5,-1.0"),
		EXPERIMENT("r", "0", "0.5", "20,5,5,1e300"),
		EXPERIMENT("r", "0", "0.5", "20,5,5,null"),
		EXPERIMENT("r", "0", "0.5", "20],[0"),
		EXPERIMENT("r", "0", "0.5", "20],[\"0\",1"),
		EXPERIMENT("r", "0", "0.5", "20],7,[0,1"),
		"{\"type\":\"experiment\",\"run\":\"r\",\"target\":0,\"speedup\":1}",
		"{\"type\":\"experiment\",\"run\":\"r\",\"target\":0,\"speedup\":1,\"with\":[]}",
		"{\"type\":\"experiment\",\"run\":\"r\",\"target\":0,\"speedup\":1,\"with\":{}}",
		"{\"type\":\"experiment\",\"run\":\"r\",\"target\":0,\"speedup\":1,\"base\":null,"
		"\"with\":" HALF("1") "}",
		"{\"type\":\"experiment\",\"run\":\"r\",\"target\":0,\"speedup\":1,\"also\":5,"
		"\"with\":" HALF("1") "}",
		"{\"type\":\"experiment\",\"run\":\"r\",\"target\":0,\"speedup\":1,\"with\":"
		"{\"duration_ns\":0,\"points\":[]}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_causal_profile_ struct causal_profile *profile = NULL;
		_cleanup_free_ char *text = NULL;

		assert_true(asprintf(&text, "%s%s%s%s%s\n%s", RUN("r"), POINT("r"), TARGET("r"),
				     EXPERIMENT("r", "0", "0.5", "20"), wrong[i],
				     EXPERIMENT("r", "0", "0.25", "30")) > 0);
		profile = read_text(text);
		if (profile->experiments.n != 2 || profile->skipped != !!*wrong[i] ||
		    profile->points.n != 1 || profile->targets.n != 1 || profile->runs.n != 1)
			fail_msg("%s: %zu experiments, %zu skipped", wrong[i],
				 profile->experiments.n, (size_t)profile->skipped);
	}
}

/* The quick reader of experiments and the JSON parser agree. */
static void both_ways_to_read_agree(void **state)
{
	static const char *const speedups[] = {
		"0",  "1",  "0.5", "5e-1", "0.50", "1.0",  "01",   "1e0", "1e+0", "1E0",   ".5",
		"5.", "+1", "-0",  "0x1",  "1e",   "0.5.", "1e-2", "1 ",  "",	  "1e-400"};
	static const char *const visits[] = {
		"20",
		"20,30",
		"20,30,40",
		"20,30,40,50",
		"20,30,40,5.5",
		"20,30,40,5.5,6",
		"020",
		"20.0",
		"2e1",
		"20,",
		"20,30,40,",
		"",
		"20,30,40,1e3",
		"20,30,40,0",
		"20 , 30",
		"9007199254740992",
		"9007199254740993",
		"18446744073709551615",
		"18446744073709551616",
		"20],[0,5",
	};

	for (size_t i = 0; i < ARRAY_SIZE(speedups) * ARRAY_SIZE(visits); i++) {
		const char *speedup = speedups[i / ARRAY_SIZE(visits)];
		const char *seen = visits[i % ARRAY_SIZE(visits)];
		_cleanup_causal_profile_ struct causal_profile *quick = NULL, *slow = NULL;
		_cleanup_free_ char *text = NULL, *other = NULL;
		const char *format =
			"%s%s%s{\"type\":\"experiment\",%s\"run\":\"r\",\"target\":0,"
			"\"speedup\":%s,\"at_ns\":9,\"base\":" HALF(
				"10") ","
				      "\"with\":{\"duration_ns\":100,\"delay_ns\":0,\"hit_ns\":7,"
				      "\"points\":[[0,%s]]}}\n";

		assert_true(asprintf(&text, format, RUN("r"), POINT("r"), TARGET("r"), "", speedup,
				     seen) > 0);
		/* A member that is not known makes it no line of the writer's. */
		assert_true(asprintf(&other, format, RUN("r"), POINT("r"), TARGET("r"), "\"x\":1,",
				     speedup, seen) > 0);
		quick = read_text(text);
		slow = read_text(other);
		if (quick->experiments.n != slow->experiments.n || quick->skipped != slow->skipped)
			fail_msg("speedup %s, visits %s: %zu and %zu", speedup, seen,
				 quick->experiments.n, slow->experiments.n);
		if (!quick->experiments.n)
			continue;
		assert_true(quick->experiments.data[0].speedup ==
			    slow->experiments.data[0].speedup);
		profile__assert_visits(&quick->experiments.data[0].with,
				       slow->experiments.data[0].with.points,
				       slow->experiments.data[0].with.n_points);
	}
}

/* A full disk leaves a piece of a line, and the next one behind it. */
static void a_line_behind_a_piece_is_read(void **state)
{
	_cleanup_causal_profile_ struct causal_profile *profile = read_text(
		RUN("r") POINT("r")
			TARGET("r") "{\"type\":\"experiment\",\"run\":\"r\",\"tar" EXPERIMENT(
				"r", "0", "0.5", "20"));

	assert_int_equal(profile->experiments.n, 1);
	assert_int_equal(profile->skipped, 1);
}

/* A profile whose first experiment is a line of @length bytes, by spaces at its end; then another.
 */
static void read_line_of(size_t length, size_t experiments, uint64_t skipped)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_(buffer__free) struct buffer text = {};
	static const char begin[] = RUN("r") POINT("r") TARGET("r");
	static const char line[] = EXPERIMENT("r", "0", "0.5", "20");
	const size_t n = sizeof(line) - 2; /* without the newline */

	buffer__put(&text, begin, sizeof(begin) - 1);
	buffer__put(&text, line, n);
	for (size_t i = n; i < length; i++)
		buffer__put(&text, " ", 1);
	buffer__put(&text, "\n", 1);
	buffer__put(&text, line, n + 1);
	scratch__put(&file, text.data, text.n);
	profile = scratch__read(&file);
	assert_int_equal(profile->experiments.n, experiments);
	assert_int_equal(profile->skipped, skipped);
}

static void a_longer_line_than_any_is_passed_over(void **state)
{
	read_line_of(CAUSAL_LINE_MAX, 2, 0);
	read_line_of(CAUSAL_LINE_MAX + 1, 1, 1);
	read_line_of(2 * CAUSAL_LINE_MAX, 1, 1);
}

static void many_experiments_are_read(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_(buffer__free) struct buffer text = {};
	static const char begin[] = RUN("r") POINT("r") TARGET("r");
	static const char line[] = EXPERIMENT("r", "0", "0.5", "20");
	const size_t n = 100000;

	buffer__put(&text, begin, sizeof(begin) - 1);
	for (size_t i = 0; i < n; i++)
		buffer__put(&text, line, sizeof(line) - 1);
	scratch__put(&file, text.data, text.n);
	profile = scratch__read(&file);
	assert_int_equal(profile->experiments.n, n);
	assert_int_equal(profile->experiments.data[n - 1].with.points[0].visits, 20);
}

/* Reading @path fails with @err, and the message and hint have these words in them. */
static void expect_error(const char *path, int err, const char *message, const char *hint)
{
	struct causal_profile *profile = NULL;

	assert_int_equal(causal_profile__read(path, &profile), err);
	assert_null(profile);
	if (!strstr(error__message(err), message) || !strstr(error__hint_text(err), hint))
		fail_msg("%s\n%s", error__message(err), error__hint_text(err));
}

static void errors_have_a_hint(void **state)
{
	static const struct {
		const char *bytes;
		const char *message;
		const char *hint;
	} files[] = {
		{"", "is empty", "dwell causal run"},
		{"\x89"
		 "DWL\r\n\x1a\n and so on",
		 "is a recording", "dwell report"},
		{"startup\ttime=12\n", "a profile of Coz", "coz plot"},
		{"experiment\tselected=a:1\tspeedup=0\n", "a profile of Coz", "coz plot"},
		{"{\"type\":\"startup\",\"time\":1}\n", "a profile of Coz (JSON)", "coz plot"},
		{"{\"type\":\"experiment\",\"selected\":\"a:1\"}\n", "a profile of Coz (JSON)",
		 "coz plot"},
		{"PERFILE2....", "perf.data", "dwell causal run"},
		{"{\"a\":1}\n", "a JSON document", "dwell causal run"},
		{"hello\n", "a text file", "dwell causal run"},
		{"\n\n", "a text file", "dwell causal run"},
		{"{\"type\":\"run\",\"version\":1,\"run\":\"r\",\"comma", "is damaged",
		 "begins a run"},
		{"{\"type\":\"run\",\"version\":2,\"run\":\"r\"}\n", "newer version",
		 "another file"},
		{RUN("r") "{\"type\":\"run\",\"version\":7,\"run\":\"s\"}\n", "newer version",
		 "another file"},
	};
	_cleanup_scratch_ struct scratch_file file = scratch__new();

	expect_error("/nowhere/x.causal", -ENOENT, "there is no causal profile",
		     "dwell causal run");
	expect_error("/tmp", -EISDIR, "is a directory", "/tmp/dwell.causal");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		scratch__put_text(&file, files[i].bytes);
		expect_error(file.path, -EINVAL, files[i].message, files[i].hint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_combine),
		cmocka_unit_test(ids_are_of_their_run),
		cmocka_unit_test(what_is_unknown_is_passed_over),
		cmocka_unit_test(what_is_wrong_is_left_out),
		cmocka_unit_test(both_ways_to_read_agree),
		cmocka_unit_test(a_line_behind_a_piece_is_read),
		cmocka_unit_test(a_longer_line_than_any_is_passed_over),
		cmocka_unit_test(many_experiments_are_read),
		cmocka_unit_test(errors_have_a_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
