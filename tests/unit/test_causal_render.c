// SPDX-License-Identifier: BSD-2-Clause
/* Causal profiles as text, JSON and in the formats of Coz. */
#include "tests/unit/causal_support.h"

#include <jansson.h>

#include "render/causal/causal_views.h"
#include "render/format.h"

static char *text_of(const struct causal_effects *effects,
		     const struct causal_text_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(causal_text__print(effects, options, to), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

/* As printed 80 columns wide. */
static char *plain_text_of(const struct made *made)
{
	_cleanup_causal_effects_ struct causal_effects *effects = made__effects(made);

	return text_of(effects, &(struct causal_text_options){});
}

static json_t *json_of(const struct made *made)
{
	_cleanup_causal_effects_ struct causal_effects *effects = made__effects(made);
	_cleanup_free_ char *text = NULL;
	json_t *document;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(causal_json__print(effects, to), 0);
	assert_int_equal(fclose(to), 0);
	document = json_loads(text, 0, NULL);
	assert_non_null(document);
	return document;
}

static void assert_has(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("no '%s' in:\n%s", words, text);
}

static void assert_has_not(const char *text, const char *words)
{
	if (strstr(text, words))
		fail_msg("'%s' in:\n%s", words, text);
}

/* The same with line ends and indents as single blanks. */
static char *unwrapped(const char *text)
{
	char *copy = strdup(text), *to = copy;

	assert_non_null(copy);
	for (const char *at = text; *at; at++) {
		char c = *at == '\n' ? ' ' : *at;

		if (c != ' ' || to == copy || to[-1] != ' ')
			*to++ = c;
	}
	*to = '\0';
	return copy;
}

static void percentages_are_never_minus_zero(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%.0f %.0f %.0f %.0f", format__whole_percent(-0.003),
		 format__whole_percent(-0.006), format__whole_percent(0.004),
		 format__whole_percent(1));
	assert_string_equal(text, "0 -1 0 100");
}

/* A machine without noise. */
static struct machine machine_quiet(void)
{
	struct machine machine = machine__noisy(1);

	machine.scatter = 0.002;
	machine.drift = 0;
	machine.ruined = 0;
	return machine;
}

static struct made made_of_all_shapes(void)
{
	struct machine machine = machine_quiet();
	struct made made = made__begin();

	made__curve(&made, &machine, made__target(&made, "heavy"), 0.8, 0.4, 4, 8);
	made__curve(&made, &machine, made__target(&made, "steady"), 0.2, 1, 4, 8);
	made__curve(&made, &machine, made__target(&made, "lock"), -0.3, 1, 4, 8);
	made__curve(&made, &machine, made__target(&made, "idle"), 0, 1, 4, 8);
	made__curve(&made, &machine, made__target(&made, "rare"), 0, 1, 1, 2);
	return made;
}

static void the_verdict_comes_first(void **state)
{
	_cleanup_made_ struct made made = made_of_all_shapes();
	_cleanup_free_ char *text = plain_text_of(&made), *flat = unwrapped(text);

	assert_has(flat, "Making heavy 50% faster would make the program 40% (40..40) faster at "
			 "iteration, which is x1.67 the throughput; more than that does not help");
	assert_has(flat, "lock causes contention: the faster it is, the slower the program at "
			 "iteration (-30% (-30..-29) if it took no time). Do less of it");
	assert_has(flat, " 1. heavy: no more gain past 50%");
	assert_has(flat, " 2. steady: gain");
	assert_has(flat, " 3. lock: contention");
	assert_has(flat, "Not sure yet: rare (");
	assert_has(flat, "What does not matter (within 2%): idle");
	assert_has_not(flat, "idle: no effect");
	assert_has(flat, "# experiments: 130; targets: 5; progress points: 1");
	assert_true(strstr(text, "Making") < strstr(text, " 1. heavy"));
	assert_true(strstr(text, " 3. lock") < strstr(text, "Not sure yet"));
}

static void charts_fit_and_line_up(void **state)
{
	_cleanup_made_ struct made made = made_of_all_shapes();
	_cleanup_causal_effects_ struct causal_effects *effects = made__effects(&made);
	static const int widths[] = {0, 61, 80, 132};

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		const struct causal_text_options options = {.all = true, .width = widths[i]};
		_cleanup_free_ char *text = text_of(effects, &options);
		int width = widths[i] ? widths[i] : 80;
		long axis = 0;

		for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
			int n = (int)strcspn(line, "\n");

			if (*line != '#' && n > width)
				fail_msg("%d of %d columns: %.*s", n, width, n, line);
			if (!strncmp(line, "speedup", 7))
				axis = strstr(line, " 0%") + 1 - line;
			/* Where the axis is, unless a value or an end of an interval is. */
			else if (axis && strstr(line, "% ") && n > axis && *line == ' ' &&
				 !strchr("|*()-=", line[axis]))
				fail_msg("no axis at %ld: %.*s", axis, n, line);
		}
		assert_has(text, "idle: no effect");
		assert_has_not(text, "What does not matter");
	}
}

static void as_many_curves_as_asked_for(void **state)
{
	_cleanup_made_ struct made made = made_of_all_shapes();
	_cleanup_causal_effects_ struct causal_effects *effects = made__effects(&made);
	_cleanup_free_ char *text =
		text_of(effects, &(struct causal_text_options){.max_curves = 1, .color = true});

	assert_has(text, "heavy: no more gain");
	assert_has_not(text, "2. steady");
	assert_has(text, "2 more with an effect");
	assert_has(text, "\033[");
}

/* The sentence that stands for a profile. */
static void verdict_of(const struct made *made, const char *words)
{
	_cleanup_free_ char *text = plain_text_of(made), *flat = unwrapped(text);

	assert_has(flat, words);
}

static void verdicts(void **state)
{
	struct machine machine = machine_quiet();
	_cleanup_made_ struct made empty = {}, gain = made__begin(), none = made__begin(),
				   unsure = made__begin(), bent = made__begin();

	verdict_of(&empty, "There are no results yet.");
	for (int i = 0; i < 3; i++)
		made__run(&empty, i ? "./other" : "./program");
	verdict_of(&empty, "# command : several # runs : 3, 3000.000 s,");
	verdict_of(&empty, "! No run completed an experiment.");
	made__curve(&gain, &machine, made__target(&gain, "f"), 0.5, 1, 4, 8);
	verdict_of(&gain, "Making f 50% faster would make the program 25% (25..25) faster at "
			  "iteration, which is x1.33 the throughput; 100% faster, 50%.");
	/* No line that neither of two speedups is on. */
	made__curve(&bent, &machine, made__target(&bent, "f"), 0.8, 0.4, 2, 8);
	verdict_of(&bent, "Making f 50% faster would make the program 40% (40..40) faster at "
			  "iteration, which is x1.66 the throughput; 100% faster, 40%.");
	gain.profile.targets.data[0].kind = CAUSAL_LINE;
	gain.profile.targets.data[0].caller = "main";
	verdict_of(&gain, "Making f (f), called from main 50% faster would");
	gain.profile.targets.data[0].kind = CAUSAL_CLASS;
	gain.profile.targets.data[0].name = "io";
	gain.profile.targets.data[0].caller = "";
	verdict_of(&gain, "Making waiting for I/O 50% shorter would");
	gain.profile.targets.data[0].name = "disk read";
	verdict_of(&gain, "Making waiting (disk read) 50% shorter would");
	for (size_t i = 0; i < gain.profile.experiments.n; i++)
		gain.profile.experiments.data[i].also = "g=100%";
	verdict_of(&gain, "Once g=100% is done, making waiting (disk read) 50% shorter would");
	made__curve(&none, &machine, made__target(&none, "f"), 0, 1, 4, 8);
	verdict_of(&none, "No target that was tried (1) limits the program. It may be waiting for");
	made__curve(&unsure, &machine, made__target(&unsure, "f"), 0.1, 1, 1, 2);
	verdict_of(&unsure, "Not sure yet. The most promising of 1 target is f:");
}

static void latency_and_whole_runs_are_apart(void **state)
{
	struct machine machine = machine_quiet();
	_cleanup_made_ struct made made = made__begin();
	uint32_t target = made__target(&made, "serve");
	_cleanup_free_ char *text = NULL, *flat = NULL;

	made__point(&made, "request", CAUSAL_LATENCY);
	made__point(&made, "end-to-end", CAUSAL_END_TO_END);
	made__curve(&made, &machine, target, 0.2, 1, 4, 4);
	for (int i = 0; i < 8; i++) {
		struct causal_experiment latency = {.speedup = 1, .also = "", .target = target};
		struct causal_experiment whole = {
			.speedup = i % 2, .also = "", .target = target, .whole_run = true};

		whole.with.hit_ns = MS;

		latency.base.points = made__take(&made, sizeof(struct causal_visits));
		latency.with.points = made__take(&made, sizeof(struct causal_visits));
		latency.base.points[0] = (struct causal_visits){
			.point = 1, .visits = 100, .ends = 100, .occupied_ns = 1e9};
		latency.with.points[0] = (struct causal_visits){
			.point = 1, .visits = 100, .ends = 100, .occupied_ns = 4e8};
		latency.base.n_points = latency.with.n_points = 1;
		latency.base.duration_ns = latency.with.duration_ns = 250 * MS;
		latency.base.hit_ns = latency.with.hit_ns = MS;
		assert_int_equal(array__push(&made.profile.experiments, latency), 0);
		whole.with.duration_ns = (i % 2 ? 9000 : 10000) * MS;
		assert_int_equal(array__push(&made.profile.experiments, whole), 0);
	}
	text = plain_text_of(&made);
	flat = unwrapped(text);
	assert_has(flat, "Throughput at iteration: now once in 2.5");
	assert_has(flat, "Latency of request: now 10.000 ms");
	assert_has(flat, "Time of the whole run (end-to-end): now 10.000 s");
	assert_has(flat, "would make request 60% (60..60) shorter.");
	assert_true(strstr(text, "Throughput at") < strstr(text, "Latency of"));
	assert_true(strstr(text, "Latency of") < strstr(text, "Time of the whole"));
	/* A latency has no throughput. */
	assert_has_not(strstr(text, "Latency of"), "x2.50");
}

static void names_do_no_harm(void **state)
{
	struct machine machine = machine_quiet();
	_cleanup_made_ struct made made = made__begin();
	_cleanup_free_ char *text = NULL;
	json_t *document;

	made.profile.points.data[0].name = "a\033[31mb";
	made.profile.runs.data[0].command = "x\ny\tz \xff";
	made__curve(&made, &machine, made__target(&made, "evil\033]0;name\007\n2. other: gain\xc0"),
		    0.5, 1, 4, 4);
	text = plain_text_of(&made);
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at >= ' ' || *at == '\n');
	assert_has_not(text, "\n2. other");
	document = json_of(&made);
	assert_has(json_string_value(json_object_get(
			   json_array_get(json_object_get(document, "targets"), 0), "target")),
		   "evil\\x1b");
	json_decref(document);
}

static double number_of(const json_t *list, size_t i, const char *key)
{
	return json_real_value(json_object_get(json_array_get(list, i), key));
}

/* A target whose interval includes 0 comes after one whose does not, however large its estimate. */
static void unsure_ones_by_interval(void **state)
{
	struct machine machine = machine_quiet();
	_cleanup_made_ struct made made = made__begin();
	json_t *document, *targets;

	machine.scatter = 0.1;
	made__curve(&made, &machine, made__target(&made, "near"), 0.1, 1, 1, 4);
	made__curve(&made, &machine, made__target(&made, "wide"), 0.05, 1, 1, 1);
	document = json_of(&made);
	targets = json_object_get(document, "targets");
	assert_int_equal(json_array_size(targets), 2);
	/* What this is about, by the seed of the machine's random numbers. */
	assert_true(number_of(targets, 0, "best") < number_of(targets, 1, "best"));
	assert_true(number_of(targets, 0, "best_low") > 0);
	assert_true(number_of(targets, 1, "best_low") < 0);
	json_decref(document);
}

/* The estimate of a target that the verdict states is in the document: of two speedups, no fit. */
static void json_has_the_estimate(void **state)
{
	static const char *const same[] = {"plateau_gain", "best", "slope"};
	struct machine machine = machine_quiet();
	_cleanup_made_ struct made bent = made__begin(), all = made_of_all_shapes();
	json_t *document, *targets;

	made__curve(&bent, &machine, made__target(&bent, "f"), 0.8, 0.4, 2, 8);
	document = json_of(&bent);
	targets = json_object_get(document, "targets");
	assert_true(fabs(number_of(targets, 0, "best") - 0.4) > 0.02);
	assert_true(fabs(number_of(targets, 0, "effect") - 0.4) < 0.01);
	assert_true(fabs(number_of(targets, 0, "effect_at") - 1) < 1e-9);
	assert_true(fabs(number_of(targets, 0, "effect_times") - 1.67) < 0.05);
	json_decref(document);
	document = json_of(&all);
	targets = json_object_get(document, "targets");
	for (size_t i = 0; i < 3; i++)
		assert_true(fabs(number_of(targets, i, "effect") - number_of(targets, i, same[i])) <
			    1e-9);
	json_decref(document);
}

static void json_has_all_of_it(void **state)
{
	_cleanup_made_ struct made made = made_of_all_shapes();
	json_t *document, *targets, *first, *result;
	struct causal_run *run = &made.profile.runs.data[0];

	made.profile.skipped = 2;
	assert_int_equal(array__push(&run->places, ((struct causal_place){"/a.c", 1, "f", 5})), 0);
	assert_int_equal(array__push(&run->places, ((struct causal_place){"/b.c", 2, "g", 9})), 0);
	document = json_of(&made);
	targets = json_object_get(document, "targets");
	assert_int_equal(json_array_size(targets), 5);
	first = json_array_get(targets, 0);
	assert_string_equal(json_string_value(json_object_get(first, "target")), "heavy");
	assert_string_equal(json_string_value(json_object_get(first, "kind")), "function");
	assert_string_equal(json_string_value(json_object_get(first, "point")), "iteration");
	assert_string_equal(json_string_value(json_object_get(first, "point_kind")), "throughput");
	assert_string_equal(json_string_value(json_object_get(first, "shape")), "plateau");
	assert_true(fabs(json_real_value(json_object_get(first, "best")) - 0.4) < 0.01);
	assert_true(fabs(json_real_value(json_object_get(first, "plateau_at")) - 0.5) < 0.05);
	assert_true(fabs(json_real_value(json_object_get(first, "best_times")) - 1.67) < 0.05);
	assert_true(json_is_real(json_object_get(first, "slope")));
	assert_true(json_is_real(json_object_get(first, "phase_factor")));
	assert_int_equal(json_array_size(json_object_get(first, "results")), 4);
	result = json_array_get(json_object_get(first, "results"), 0);
	assert_true(fabs(json_real_value(json_object_get(result, "speedup")) - 0.25) < 1e-9);
	assert_true(fabs(json_real_value(json_object_get(result, "program_speedup")) - 0.2) < 0.01);
	assert_true(json_real_value(json_object_get(result, "low")) <
		    json_real_value(json_object_get(result, "high")));
	assert_int_equal(json_integer_value(json_object_get(result, "experiments")), 8);
	assert_true(json_integer_value(json_object_get(result, "visits")) > 1000);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(document, "points"), 0), "name")),
		"iteration");
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(document, "problems"), 0), "kind")),
		"damaged");
	assert_int_equal(
		json_integer_value(json_object_get(
			json_array_get(json_object_get(document, "runs"), 0), "experiments")),
		130);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(document, "places"), 0), "file")),
		"/b.c");
	assert_int_equal(json_array_size(json_object_get(document, "verdict")), 2);
	json_decref(document);
}

/* One experiment with a point of each kind, in both of Coz's formats. */
static void coz_formats(void **state)
{
	static const char legacy[] =
		"startup\ttime=77\n"
		"experiment\tselected=/src/a.c:7\tspeedup=0\tduration=1000\tselected-samples=3\n"
		"throughput-point\tname=it er\tdelta=10\n"
		"latency-point\tname=request\tarrivals=4\tdepartures=5\tdifference=2\n"
		"throughput-point\tname=hot.c:3\tdelta=2\n"
		"experiment\tselected=/src/a.c:7\tspeedup=0.35\tduration=900\tselected-samples=4\n"
		"throughput-point\tname=it er\tdelta=12\n"
		"latency-point\tname=request\tarrivals=0\tdepartures=0\tdifference=0\n"
		"throughput-point\tname=hot.c:3\tdelta=0\n"
		"experiment\tselected=/src/a.c:7\tspeedup=1\tduration=5000\tselected-samples=0\n"
		"throughput-point\tname=end\tdelta=1\n"
		"runtime\ttime=99\n"
		"samples\tlocation=/b.c:2\tcount=9\n";
	static const char lines[] =
		"{\"type\":\"startup\",\"time\":77}\n"
		"{\"type\":\"experiment\",\"selected\":\"/src/"
		"a.c:7\",\"speedup\":0.0,\"duration\":1000,"
		"\"selected_samples\":3}\n"
		"{\"type\":\"throughput-point\",\"name\":\"it\\ter\",\"delta\":10}\n"
		"{\"type\":\"latency-point\",\"name\":\"request\",\"arrivals\":4,\"departures\":5,"
		"\"difference\":1.6}\n"
		"{\"type\":\"throughput-point\",\"name\":\"hot.c:3\",\"delta\":2}\n"
		"{\"type\":\"experiment\",\"selected\":\"/src/"
		"a.c:7\",\"speedup\":0.35,\"duration\":900,"
		"\"selected_samples\":4}\n"
		"{\"type\":\"throughput-point\",\"name\":\"it\\ter\",\"delta\":12}\n"
		"{\"type\":\"latency-point\",\"name\":\"request\",\"arrivals\":0,\"departures\":0,"
		"\"difference\":0.0}\n"
		"{\"type\":\"throughput-point\",\"name\":\"hot.c:3\",\"delta\":0}\n"
		"{\"type\":\"experiment\",\"selected\":\"/src/"
		"a.c:7\",\"speedup\":1.0,\"duration\":5000,"
		"\"selected_samples\":0}\n"
		"{\"type\":\"throughput-point\",\"name\":\"end\",\"delta\":1}\n"
		"{\"type\":\"runtime\",\"time\":99}\n"
		"{\"type\":\"samples\",\"location\":\"/b.c:2\",\"count\":9}\n";
	struct causal_visits base[] = {{0, 10, 0, 0, 0}, {1, 4, 5, 0, 1600}, {2, 2 * MS, 0, 0, 0}};
	struct causal_visits with[] = {{0, 12, 0, 0, 0}};
	_cleanup_made_ struct made made = made__begin();
	_cleanup_free_ char *text = NULL, *json = NULL;
	struct causal_target *target;
	size_t size;
	FILE *to;

	made.profile.points.data[0].name = "it\ter";
	made__point(&made, "request", CAUSAL_LATENCY);
	made__point(&made, "hot.c:3", CAUSAL_SAMPLED);
	made__point(&made, "end", CAUSAL_END_TO_END);
	made__target(&made, "a.c:7");
	target = &made.profile.targets.data[0];
	target->kind = CAUSAL_LINE;
	target->file = "/src/a.c";
	target->line = 7;
	made.profile.runs.data[0].start_realtime = 77;
	made.profile.runs.data[0].runtime_ns = 99;
	assert_int_equal(array__push(&made.profile.runs.data[0].places,
				     ((struct causal_place){"/b.c", 2, "g", 9 * MS})),
			 0);
	assert_int_equal(array__push(&made.profile.experiments,
				     ((struct causal_experiment){
					     .speedup = 0.35,
					     .also = "",
					     .base = {1000, 0, 3 * MS, base, 3, 0},
					     .with = {1100, 200, 4 * MS, with, 1, 0},
				     })),
			 0);
	assert_int_equal(
		array__push(&made.profile.experiments,
			    ((struct causal_experiment){.speedup = 1,
							.also = "",
							.whole_run = true,
							.with = {6000, 1000, 0, NULL, 0, 0}})),
		0);
	to = open_memstream(&text, &size);
	assert_int_equal(causal_coz__print(&made.profile, to), 0);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, legacy);
	to = open_memstream(&json, &size);
	assert_int_equal(causal_coz__print_jsonl(&made.profile, to), 0);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(json, lines);
}

/* How many are in progress is whole in the older format, and right in the mean. */
static void coz_latencies_are_right_in_the_mean(void **state)
{
	_cleanup_made_ struct made made = made__begin();
	_cleanup_free_ char *text = NULL;
	double sum = 0, n = 0;
	size_t size;
	FILE *to;

	made.profile.points.data[0].kind = CAUSAL_LATENCY;
	made__target(&made, "f");
	for (int i = 0; i < 100; i++) {
		struct causal_visits *visits = made__take(&made, sizeof(*visits));

		*visits = (struct causal_visits){.visits = 4, .ends = 4, .occupied_ns = 270};
		assert_int_equal(array__push(&made.profile.experiments,
					     ((struct causal_experiment){
						     .speedup = 0.5,
						     .also = "",
						     .base = {1000, 0, 0, visits, 1, 0},
						     .with = {1000, 0, 0, visits, 1, 0},
					     })),
				 0);
	}
	to = open_memstream(&text, &size);
	assert_int_equal(causal_coz__print(&made.profile, to), 0);
	assert_int_equal(fclose(to), 0);
	for (const char *at = text; (at = strstr(at, "difference=")); at++, n++)
		sum += strtod(at + strlen("difference="), NULL);
	assert_int_equal(n, 200);
	assert_true(fabs(sum / n - 0.27) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verdict_comes_first),
		cmocka_unit_test(charts_fit_and_line_up),
		cmocka_unit_test(as_many_curves_as_asked_for),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(latency_and_whole_runs_are_apart),
		cmocka_unit_test(names_do_no_harm),
		cmocka_unit_test(unsure_ones_by_interval),
		cmocka_unit_test(json_has_the_estimate),
		cmocka_unit_test(json_has_all_of_it),
		cmocka_unit_test(coz_formats),
		cmocka_unit_test(percentages_are_never_minus_zero),
		cmocka_unit_test(coz_latencies_are_right_in_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
