// SPDX-License-Identifier: BSD-2-Clause
/* Causal profiles: what is written is read, and the file is intact whatever happens to the writer.
 */
#include "tests/unit/causal_files.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

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
		.base = {1000, 1, 2, base, 2, 0},
		.with = {1100, 100, 3, with, 3, 0},
	};
	const struct causal_experiment whole = {
		.target = 0, .speedup = 0, .whole_run = true, .with = {9000, 10, 20, NULL, 0, 0}};
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
	profile__assert_visits(&read->base, base, ARRAY_SIZE(base));
	profile__assert_visits(&read->with, with, ARRAY_SIZE(with));
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
	const struct causal_experiment experiment = {.also = "",
						     .base = {1000, 1, 2, visits, 1, 0},
						     .with = {1100, 100, 3, visits, 1, 0}};
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
	const struct causal_experiment experiment = {.speedup = 0.5,
						     .base = {100, 0, 0, &visits, 1, 0},
						     .with = {100, 0, 0, &visits, 1, 0}};
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

/* What the profiler says of itself. */
static void facts_are_kept(void **state)
{
	_cleanup_scratch_ struct scratch_file file = scratch__new();
	struct causal_run run = {.command = "./a", .period_ns = MS, .pauses = 6};
	const struct causal_point point = {"it", CAUSAL_THROUGHPUT};
	const struct causal_target target = {CAUSAL_FUNCTION, "f", "", 0, "f", "", false};
	struct causal_visits visits = {.visits = 9};
	double speedups[] = {0.5, 1};
	const struct causal_half half = {
		.duration_ns = 100, .points = &visits, .n_points = 1, .in_flight_ns = 7};
	const struct causal_experiment experiment = {
		.also = "", .speedup = 1, .base = half, .with = half};
	const struct causal_pause_test test = {
		.share = 0.25, .at_ns = 5, .outside_ns = {1, 2, 3}, .base = half, .with = half};
	const struct causal_probe probe = {.ns = 750};
	const struct causal_request request = {.speedups = speedups, .n_speedups = 2};
	const struct causal_build build = {"/bin/a", "0123abcd"};
	const struct causal_unpaused_count count = {"blocked", 4, 5};
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	struct causal_writer *writer;
	const struct causal_run *read;

	assert_int_equal(causal_writer__open(file.path, &run, &writer), 0);
	assert_int_equal(causal_writer__point(writer, &point), 0);
	assert_int_equal(causal_writer__target(writer, &target), 0);
	assert_int_equal(causal_writer__probe(writer, &probe), 0);
	assert_int_equal(causal_writer__request(writer, &request), 0);
	assert_int_equal(causal_writer__build(writer, &build), 0);
	assert_int_equal(causal_writer__pause_test(writer, &test), 0);
	assert_int_equal(causal_writer__experiment(writer, &experiment), 0);
	assert_int_equal(array__push(&run.unpaused, count), 0);
	assert_int_equal(causal_writer__end(writer, &run), 0);
	assert_int_equal(causal_writer__close(writer), 0);
	array__free(&run.unpaused);

	profile = scratch__read(&file);
	assert_int_equal(profile->skipped, 0);
	read = &profile->runs.data[0];
	assert_int_equal(read->probes.data[0].ns, 750);
	assert_int_equal(read->requests.data[0].n_speedups, 2);
	assert_true(read->requests.data[0].speedups[1] > 0.99);
	assert_string_equal(read->builds.data[0].path, "/bin/a");
	assert_string_equal(read->builds.data[0].id, "0123abcd");
	assert_string_equal(read->unpaused.data[0].reason, "blocked");
	assert_int_equal(read->unpaused.data[0].times, 5);
	assert_int_equal(read->pauses, 6);
	assert_int_equal(profile->pause_tests.n, 1);
	assert_int_equal(profile->pause_tests.data[0].outside_ns[CAUSAL_OUTSIDE_TIMERS], 3);
	assert_int_equal(profile->pause_tests.data[0].with.points[0].visits, 9);
	assert_int_equal(profile->experiments.n, 1);
	assert_int_equal(profile->experiments.data[0].with.in_flight_ns, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_members_are_kept),
		cmocka_unit_test(operations_that_end_twice),
		cmocka_unit_test(a_writer_adds_to_profiles_only),
		cmocka_unit_test(a_run_that_does_not_begin_adds_nothing),
		cmocka_unit_test(adding_to_a_cut_profile),
		cmocka_unit_test(a_full_disk_loses_a_line),
		cmocka_unit_test(writers_do_not_mix),
		cmocka_unit_test(facts_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
