// SPDX-License-Identifier: BSD-2-Clause
/* Causal profiles: what is written is read, whoever wrote what in between. */
#include "tests/unit/causal_files.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "recording/causal/profile_lines.h"

#define RUN(id)                                                                                    \
	"{\"type\":\"run\",\"version\":1,\"run\":\"" id "\",\"command\":\"./a\","                  \
	"\"start_realtime\":5,\"period_ns\":1000000}\n"
#define POINT(id)                                                                                  \
	"{\"type\":\"point\",\"run\":\"" id "\",\"id\":0,\"name\":\"it\",\"kind\":\"throughput\"}" \
	"\n"
#define TARGET(id)                                                                                 \
	"{\"type\":\"target\",\"run\":\"" id                                                       \
	"\",\"id\":0,\"kind\":\"function\",\"name\":\"f\",\"function\":\"f\"}\n"
#define HALF(visits) "{\"duration_ns\":100,\"delay_ns\":0,\"hit_ns\":7,\"points\":[[0," visits "]]}"
#define EXPERIMENT(id, target, speedup, visits)                                                    \
	"{\"type\":\"experiment\",\"run\":\"" id "\",\"target\":" target ",\"speedup\":" speedup   \
	",\"at_ns\":9,\"base\":" HALF("10") ",\"with\":" HALF(visits) "}\n"

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

static void assert_visits(const struct causal_half *half, const struct causal_visits *visits,
			  size_t n)
{
	assert_int_equal(half->n_points, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(half->points[i].point, visits[i].point);
		assert_int_equal(half->points[i].visits, visits[i].visits);
		assert_int_equal(half->points[i].ends, visits[i].ends);
		assert_int_equal(half->points[i].span_ns, visits[i].span_ns);
		assert_true(half->points[i].occupied_ns == visits[i].occupied_ns);
	}
}

static void all_members_are_kept(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	struct causal_run run = {.command = "./prog \"a\" \xff\n\xc3\xa9",
				 .start_realtime = 1700000000123456789,
				 .period_ns = MS};
	const struct causal_point points[] = {{"it", CAUSAL_THROUGHPUT},
					      {"request", CAUSAL_LATENCY},
					      {"hot.c:3", CAUSAL_SAMPLED},
					      {"end", CAUSAL_END_TO_END}};
	const struct causal_target targets[] = {
		{CAUSAL_LINE, "env.cc:120", "/src/env.cc", 120, "DBImpl::Get", "main", true},
		{CAUSAL_FUNCTION, "f", "", 0, "f", "", false},
		{CAUSAL_CLASS, "io", "", 0, "", "", false},
	};
	struct causal_visits base[] = {{0, 12, 0, 345, 0}, {1, 4, 5, 0, 67.25}};
	struct causal_visits with[] = {{0, 15, 0, 300, 0}, {1, 6, 6, 0, 50}, {2, 77, 0, 0, 0}};
	const struct causal_experiment experiment = {
		.target = 1,
		.speedup = 0.35,
		.also = "g=50%, \"h\"=5%",
		.at_ns = 123,
		.base = {1000, 1, 2, base, 2},
		.with = {1100, 100, 3, with, 3},
	};
	const struct causal_experiment whole = {
		.target = 0, .speedup = 0, .whole_run = true, .with = {9000, 10, 20, NULL, 0}};
	struct causal_writer *writer;
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	const struct causal_experiment *read;

	assert_int_equal(causal_writer__open(file.path, &run, &writer), 0);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(points); i++)
			assert_int_equal(causal_writer__point(writer, &points[i]), i);
		for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
			assert_int_equal(causal_writer__target(writer, &targets[i]), i);
	}
	assert_int_equal(causal_writer__experiment(writer, &experiment), 0);
	assert_int_equal(causal_writer__experiment(writer, &whole), 0);
	run.runtime_ns = 11;
	run.delay_ns = 12;
	run.sampled_ns = 13;
	run.status = 256;
	assert_int_equal(array__push(&run.seen, ((struct causal_seen){1, 99})), 0);
	assert_int_equal(array__push(&run.places, ((struct causal_place){"/a.c", 7, "fun", 8})), 0);
	assert_int_equal(array__push(&run.diagnostics, (const char *)"no debug info"), 0);
	assert_int_equal(causal_writer__end(writer, &run), 0);
	assert_int_equal(causal_writer__close(writer), 0);

	profile = scratch__read(&file);
	profile__check(profile);
	assert_int_equal(profile->skipped, 0);
	assert_int_equal(profile->points.n, 4);
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		assert_string_equal(profile->points.data[i].name, points[i].name);
		assert_int_equal(profile->points.data[i].kind, points[i].kind);
	}
	assert_int_equal(profile->targets.n, 3);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		const struct causal_target *target = &profile->targets.data[i];

		assert_int_equal(target->kind, targets[i].kind);
		assert_string_equal(target->name, targets[i].name);
		assert_string_equal(target->file, targets[i].file);
		assert_int_equal(target->line, targets[i].line);
		assert_string_equal(target->function, targets[i].function);
		assert_string_equal(target->caller, targets[i].caller);
		assert_int_equal(target->inclusive, targets[i].inclusive);
	}
	assert_int_equal(profile->runs.n, 1);
	assert_int_equal(strlen(profile->runs.data[0].id), 16);
	assert_string_equal(profile->runs.data[0].command, "./prog \"a\" \\xff\n\xc3\xa9");
	assert_int_equal(profile->runs.data[0].start_realtime, run.start_realtime);
	assert_int_equal(profile->runs.data[0].period_ns, MS);
	assert_int_equal(profile->runs.data[0].runtime_ns, 11);
	assert_int_equal(profile->runs.data[0].delay_ns, 12);
	assert_int_equal(profile->runs.data[0].sampled_ns, 13);
	assert_int_equal(profile->runs.data[0].status, 256);
	assert_int_equal(profile->runs.data[0].seen.n, 1);
	assert_int_equal(profile->runs.data[0].seen.data[0].target, 1);
	assert_int_equal(profile->runs.data[0].seen.data[0].ns, 99);
	assert_string_equal(profile->runs.data[0].places.data[0].file, "/a.c");
	assert_string_equal(profile->runs.data[0].places.data[0].function, "fun");
	assert_int_equal(profile->runs.data[0].places.data[0].line, 7);
	assert_int_equal(profile->runs.data[0].places.data[0].ns, 8);
	assert_string_equal(profile->runs.data[0].diagnostics.data[0], "no debug info");
	assert_int_equal(profile->experiments.n, 2);
	read = &profile->experiments.data[0];
	assert_int_equal(read->target, 1);
	assert_true(fabs(read->speedup - 0.35) < 1e-9);
	assert_string_equal(read->also, experiment.also);
	assert_int_equal(read->at_ns, 123);
	assert_false(read->whole_run);
	assert_int_equal(read->base.duration_ns, 1000);
	assert_int_equal(read->base.delay_ns, 1);
	assert_int_equal(read->base.hit_ns, 2);
	assert_visits(&read->base, base, ARRAY_SIZE(base));
	assert_visits(&read->with, with, ARRAY_SIZE(with));
	assert_true(profile->experiments.data[1].whole_run);
	array__free(&run.seen);
	array__free(&run.places);
	array__free(&run.diagnostics);
}

/* An operation that ends twice counts as less than none in progress. */
static void operations_that_end_twice(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	const struct causal_run run = {.command = "./a", .period_ns = MS};
	const struct causal_point point = {"request", CAUSAL_LATENCY};
	const struct causal_target target = {CAUSAL_FUNCTION, "f", "", 0, "f", "", false};
	struct causal_visits visits[] = {{0, 10, 12, 0, -5}};
	const struct causal_experiment experiment = {
		.also = "", .base = {1000, 1, 2, visits, 1}, .with = {1100, 100, 3, visits, 1}};
	struct causal_writer *writer;

	assert_int_equal(causal_writer__open(file.path, &run, &writer), 0);
	assert_int_equal(causal_writer__point(writer, &point), 0);
	assert_int_equal(causal_writer__target(writer, &target), 0);
	assert_int_equal(causal_writer__experiment(writer, &experiment), 0);
	assert_int_equal(causal_writer__close(writer), 0);
	profile = scratch__read(&file);
	assert_int_equal(profile->skipped, 0);
	assert_int_equal(profile->experiments.n, 1);
	assert_int_equal(profile->experiments.data[0].base.points[0].visits, 10);
	assert_true(profile->experiments.data[0].base.points[0].occupied_ns == 0);
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
		assert_visits(&quick->experiments.data[0].with,
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

static void a_writer_adds_to_profiles_only(void **state)
{
	static const char *const others[] = {"startup\ttime=12\n", "hello\n",
					     "{\"type\":\"run\",\"version\":2,\"run\":\"r\"}\n"};
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	const struct causal_run run = {.command = "./a"};
	struct causal_writer *writer;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		_cleanup_free_ char *after = NULL;

		scratch__put_text(&file, others[i]);
		assert_int_equal(causal_writer__open(file.path, &run, &writer), -EINVAL);
		after = scratch__get(&file, NULL);
		assert_string_equal(after, others[i]);
	}
	assert_int_equal(causal_writer__open("/tmp", &run, &writer), -EISDIR);
	assert_int_equal(causal_writer__open("/nowhere/x", &run, &writer), -ENOENT);
	assert_int_equal(causal_writer__open("/dev/full", &run, &writer), 0);
	assert_int_equal(causal_writer__end(writer, &run), -ENOSPC);
	assert_int_equal(causal_writer__close(writer), 0);
	assert_non_null(strstr(error__message(-ENOSPC), "/dev/full"));
	assert_non_null(strstr(error__hint_text(-ENOSPC), "Make room"));
}

/* A command that could not be started leaves no run. */
static void a_run_that_does_not_begin_adds_nothing(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	const struct causal_run run = {.command = "./a"};
	_cleanup_free_ char *after = NULL;
	struct causal_writer *writer;

	scratch__put_text(&file, RUN("r"));
	assert_int_equal(causal_writer__open(file.path, &run, &writer), 0);
	assert_int_equal(causal_writer__close(writer), 0);
	after = scratch__get(&file, NULL);
	assert_string_equal(after, RUN("r"));
}

/* What a crash cut short is ended before anything is added. */
static void adding_to_a_cut_profile(void **state)
{
	_cleanup_made_ struct made made = made__begin();
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	struct machine machine = machine__noisy(1);

	made__experiments(&made, &machine,
			  (struct truth){.target = made__target(&made, "f"), .speedup = 0.5}, 3);
	scratch__put_text(&file, RUN("r") POINT("r") TARGET("r") "{\"type\":\"experiment\",\"ru");
	scratch__write_profile(&file, &made.profile, "second");
	profile = scratch__read(&file);
	assert_int_equal(profile->runs.n, 2);
	assert_int_equal(profile->experiments.n, 3);
	assert_int_equal(profile->skipped, 1);
}

/* A disk that is full in the middle of a line, and has room again later. */
static void a_full_disk_loses_a_line(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	const struct causal_run run = {.id = "r", .command = "./a"};
	struct causal_visits visits = {.visits = 20};
	const struct causal_experiment experiment = {
		.speedup = 0.5, .base = {100, 0, 0, &visits, 1}, .with = {100, 0, 0, &visits, 1}};
	struct rlimit whole, little = {700, RLIM_INFINITY};
	struct causal_writer *writer;
	int failed = 0, written = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
	little.rlim_max = whole.rlim_max;
	assert_int_equal(causal_writer__open(file.path, &run, &writer), 0);
	assert_int_equal(
		causal_writer__point(writer, &(struct causal_point){"it", CAUSAL_THROUGHPUT}), 0);
	assert_int_equal(
		causal_writer__target(
			writer, &(struct causal_target){.kind = CAUSAL_FUNCTION, .name = "f"}),
		0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (int i = 0; i < 5; i++) {
		int err = causal_writer__experiment(writer, &experiment);

		assert_true(!err || err == -EFBIG);
		failed += !!err;
		written += !err;
	}
	/* What was not written is written when there is room. */
	assert_int_equal(causal_writer__target(writer, &(struct causal_target){.kind = CAUSAL_CLASS,
									       .name = "io"}),
			 -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
	assert_int_equal(causal_writer__target(writer, &(struct causal_target){.kind = CAUSAL_CLASS,
									       .name = "io"}),
			 1);
	assert_int_equal(causal_writer__experiment(writer, &experiment), 0);
	assert_int_equal(causal_writer__end(writer, &run), 0);
	assert_int_equal(causal_writer__close(writer), 0);
	assert_true(failed > 0 && written > 0);
	profile = scratch__read(&file);
	profile__check(profile);
	assert_int_equal(profile->experiments.n, written + 1);
	assert_int_equal(profile->targets.n, 2);
	assert_true(profile->skipped <= 1);
}

/* Several runs at once, each in a process of its own. */
static void writers_do_not_mix(void **state)
{
	_cleanup_made_ struct made made = made__begin();
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	struct machine machine = machine__noisy(1);
	pid_t pids[4];

	made__experiments(&made, &machine,
			  (struct truth){.target = made__target(&made, "f"), .speedup = 0.5}, 200);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (!pids[i]) {
			scratch__write_profile(&file, &made.profile, NULL);
			_exit(0);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	profile = scratch__read(&file);
	assert_int_equal(profile->skipped, 0);
	assert_int_equal(profile->runs.n, ARRAY_SIZE(pids));
	assert_int_equal(profile->experiments.n, 200 * ARRAY_SIZE(pids));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_members_are_kept),
		cmocka_unit_test(operations_that_end_twice),
		cmocka_unit_test(runs_combine),
		cmocka_unit_test(ids_are_of_their_run),
		cmocka_unit_test(what_is_unknown_is_passed_over),
		cmocka_unit_test(what_is_wrong_is_left_out),
		cmocka_unit_test(both_ways_to_read_agree),
		cmocka_unit_test(a_line_behind_a_piece_is_read),
		cmocka_unit_test(a_longer_line_than_any_is_passed_over),
		cmocka_unit_test(many_experiments_are_read),
		cmocka_unit_test(errors_have_a_hint),
		cmocka_unit_test(a_writer_adds_to_profiles_only),
		cmocka_unit_test(a_run_that_does_not_begin_adds_nothing),
		cmocka_unit_test(adding_to_a_cut_profile),
		cmocka_unit_test(a_full_disk_loses_a_line),
		cmocka_unit_test(writers_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
