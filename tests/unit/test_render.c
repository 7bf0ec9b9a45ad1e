// SPDX-License-Identifier: BSD-2-Clause
#include <jansson.h>

#include "base/duration.h"
#include "tests/unit/workload.h"

#include "render/fields.h"
#include "render/format.h"
#include "render/report/report.h"
#include "render/export/folded.h"
#include "render/script/script.h"

static struct model *model;
static struct kinds *kinds;
static const struct sample_filter all;

static int load(void **state)
{
	model = workload__load(false);
	return kinds__new(model, &kinds);
}

static int unload(void **state)
{
	kinds__free(kinds);
	model__free(model);
	return 0;
}

/* A report, and what it is made of. */
struct made_report {
	struct report view;
	struct profile profile;
	struct thread_summary threads;
	struct idle_summary idle;
};

static void made_report_init(struct made_report *made, const struct sample_filter *filter)
{
	static const enum profile_key usual[] = {PROFILE_COMM, PROFILE_DSO, PROFILE_SYMBOL};

	if (!made->view.n_keys) {
		memcpy(made->view.keys, usual, sizeof(usual));
		made->view.n_keys = ARRAY_SIZE(usual);
	}
	made->view.model = model;
	made->view.filter = filter;
	made->view.profile = &made->profile;
	made->view.threads = &made->threads;
	made->view.idle = &made->idle;
}

static void made_report_make(struct made_report *made, const struct sample_filter *filter)
{
	struct profile_options options = {
		.children = made->view.children,
		.kernel = made->view.kernel,
		.tree = made->view.tree,
		.idle = made->view.idle_shown,
	};

	made_report_init(made, filter);
	for (size_t i = 0; i < made->view.n_keys; i++)
		options.keys |= 1U << made->view.keys[i];
	assert_int_equal(profile__make(model, kinds, filter, &options, &made->profile), 0);
	assert_int_equal(thread_summary__make(model, filter, &made->threads), 0);
	assert_int_equal(idle_summary__make(model, kinds, &made->profile.groups, &made->idle), 0);
}

static void made_report_free(struct made_report *made)
{
	profile__free(&made->profile);
	thread_summary__free(&made->threads);
	idle_summary__free(&made->idle);
}

/* As assert_string_equal(), which shows only the beginning of a long text. */
static void assert_same(const char *text, const char *expected)
{
	if (strcmp(text, expected))
		fprintf(stderr, "--- got:\n%s--- expected:\n%s", text, expected);
	assert_true(!strcmp(text, expected));
}

/* The text of @report; to be freed. */
static char *text_of(const struct report *report)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(report__text(report, to), 0);
	fclose(to);
	return text;
}

static void assert_text(struct made_report *made, const struct sample_filter *filter,
			const char *expected)
{
	char *text;

	made_report_make(made, filter);
	text = text_of(&made->view);
	assert_same(text, expected);
	free(text);
	made_report_free(made);
}

#define HEADER(points, suffix)                                                                     \
	"# command    : ./prog --with args\n"                                                      \
	"# duration   : 110.000 ms\n"                                                              \
	"# mode       : sampling, a sampling point every 1.000 ms\n"                               \
	"# samples    : 32 on the CPU, 5 off it; together " points suffix "\n"                     \
	"# calibrated : cpu of kworker/0:1/7: 0 sampled, 100.000 ms exact\n"                       \
	"# lost       : 3 ring buffer full\n"                                                      \
	"# truncated  : none of 37 stacks\n"                                                       \
	"#\n"

#define THREADS(prefix)                                                                            \
	prefix "    pid     tid thread                on-CPU          I/O         lock    run "    \
	       "queue"                                                                             \
	       "        other         idle          lifetime\n" prefix                             \
	       "      7       7 kworker/0:1       100.000 "                                        \
	       "ms*           0            0            0"                                         \
	       "    10.000 ms            0   0%   110.000 ms\n" prefix                             \
	       "    100     101 late               45.000 "                                        \
	       "ms    18.000 ms    30.000 ms     7.000 ms"                                         \
	       "    10.000 ms            0   0%   110.000 ms\n" prefix                             \
	       "all threads, exact                145.000 "                                        \
	       "ms*   18.000 ms    30.000 ms     7.000 ms"                                         \
	       "    20.000 ms            0   0%   220.000 ms\n"

#define SAMPLED(prefix)                                                                            \
	prefix "all threads, sampled               45.000 ms*   18.000 ms    30.000 ms     7.000 " \
	       "ms"                                                                                \
	       "    20.000 ms            0   0%   120.000 ms\n" prefix                             \
	       "  standard error, at most          16.000 ms     4.359 ms     5.568 ms     2.828 " \
	       "ms     6.633 ms\n" NOTE(prefix)

#define NOTE(prefix)                                                                               \
	prefix "* differs from what was sampled by more than chance: samples are scaled to the "   \
	       "exact time\n"

static void report_is_the_table_of_perf(void **state)
{
	struct made_report made = {};

	assert_text(&made, &all,
		    HEADER("120 points, calibrated to 120.000 ms", "") THREADS("# ") SAMPLED(
			    "# ") "#\n"
				  "# Overhead  Command      Shared Object  Symbol\n"
				  "# ........  ...........  .............  .....................\n"
				  "#\n"
				  "    25.00%  worker       prog           [.] compute\n"
				  "    25.00%  worker       libc.so.6      [L] pthread_cond_wait\n"
				  "    15.00%  worker       libc.so.6      [I] __libc_pread64\n"
				  "     8.33%  worker       prog           [.] work\n"
				  "     8.33%  late         libc.so.6      [B] clock_nanosleep\n"
				  "     8.33%  kworker/0:1  [kernel]       [B] worker_thread\n"
				  "     4.17%  worker       prog           [S] compute\n"
				  "     4.17%  worker       [kernel]       [k] copy_page\n"
				  "     1.67%  worker       libc.so.6      [S] __libc_pread64\n");
}

static void limit_hides_and_says_so(void **state)
{
	struct made_report made = {
		.view = {.keys = {PROFILE_OBJECT}, .n_keys = 1, .percent_limit = 5}};

	assert_text(&made, &all,
		    HEADER("120 points, calibrated to 120.000 ms", "") THREADS("# ")
			    SAMPLED("# ") "#\n"
					  "# Overhead  Wait\n"
					  "# ........  ........................\n"
					  "#\n"
					  "    37.50%  running\n"
					  "    25.00%  futex\n"
					  "    15.00%  disk read /var/lib/x.sst\n"
					  "     8.33%  sleep\n"
					  "     8.33%  kernel thread idle\n"
					  "#\n"
					  "# 2 rows below 5% not shown (--percent-limit)\n");
}

static void children_have_two_columns(void **state)
{
	struct made_report made = {.view = {.keys = {PROFILE_SYMBOL},
					    .n_keys = 1,
					    .children = true,
					    .percent_limit = 20}};

	assert_text(&made, &all,
		    HEADER("120 points, calibrated to 120.000 ms", "") THREADS("# ")
			    SAMPLED("# ") "#\n"
					  "# Children        Self  Symbol\n"
					  "# ........  ..........  .....................\n"
					  "#\n"
					  "    91.67%       0.00%  [.] main\n"
					  "    58.33%       8.33%  [.] work\n"
					  "    25.00%      25.00%  [.] compute\n"
					  "    25.00%      25.00%  [L] pthread_cond_wait\n"
					  "#\n"
					  "# 9 rows below 20% not shown (--percent-limit)\n");
}

static void trees_hang_below_their_rows(void **state)
{
	struct made_report made = {
		.view = {.keys = {PROFILE_PID}, .n_keys = 1, .tree = CALLTREE_CALLER}};

	assert_text(
		&made, &all,
		HEADER("120 points, calibrated to 120.000 ms", "") THREADS("# ") SAMPLED(
			"# ") "#\n"
			      "# Overhead  Pid\n"
			      "# ........  ...\n"
			      "#\n"
			      "    91.67%  100\n"
			      "            |\n"
			      "             --91.67%-- main\n"
			      "                        |\n"
			      "                        |--58.33%-- work\n"
			      "                        |           |\n"
			      "                        |           |--29.17%-- compute\n"
			      "                        |           |           |\n"
			      "                        |           |            -- 4.17%-- "
			      "irqentry_exit [S]\n"
			      "                        |           |\n"
			      "                        |            --20.83%-- __libc_pread64\n"
			      "                        |                       entry [k]\n"
			      "                        |                       |\n"
			      "                        |                       |--15.00%-- "
			      "filemap_read [I]\n"
			      "                        |                       |\n"
			      "                        |                       |-- 4.17%-- "
			      "filemap_read [k]\n"
			      "                        |                       |           "
			      "copy_page [k]\n"
			      "                        |                       |\n"
			      "                        |                        -- 1.67%-- "
			      "filemap_read [S]\n"
			      "                        |\n"
			      "                        |--25.00%-- pthread_cond_wait\n"
			      "                        |           __futex_abstimed_wait_common64\n"
			      "                        |           entry [k]\n"
			      "                        |           futex_do_wait [L]\n"
			      "                        |\n"
			      "                         -- 8.33%-- clock_nanosleep\n"
			      "                                    entry [k]\n"
			      "                                    do_nanosleep [B]\n"
			      "\n"
			      "     8.33%  7\n"
			      "            |\n"
			      "             -- 8.33%-- worker_thread [B]\n"
			      "\n");
}

static void threads_are_the_report(void **state)
{
	struct made_report made = {.view = {.keys = {PROFILE_THREAD},
					    .n_keys = 1,
					    .threads_only = true,
					    .max_threads = 1}};

	assert_text(
		&made, &all,
		HEADER("120 points, calibrated to 120.000 ms",
		       "") "    pid     tid thread                on-CPU          I/O         "
			   "lock    "
			   "run queue        other         idle          lifetime\n"
			   "      7       7 kworker/0:1       100.000 ms*           0          "
			   "  0    "
			   "        0    10.000 ms            0   0%   110.000 ms\n"
			   "                1 more             45.000 ms    18.000 ms    "
			   "30.000 ms    "
			   " 7.000 ms    10.000 ms            0   0%   110.000 ms\n"
			   "all threads, exact                145.000 ms*   18.000 ms    "
			   "30.000 ms    "
			   " 7.000 ms    20.000 ms            0   0%   220.000 ms\n" SAMPLED(""));
}

static void nothing_explains_itself(void **state)
{
	struct sample_filter filter = {};
	struct made_report made = {};

	array__push(&filter.comms, "nobody");
	assert_text(&made, &filter,
		    HEADER("0 points, calibrated to 0",
			   " after filters") "# Nothing passes the filters.\n"
					     "# `dwell report` without filters "
					     "shows what there is: threads, names, "
					     "classes.\n");
	sample_filter__free(&filter);
}

static void no_samples_explain_themselves(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *full = model;
	struct made_report report = {};
	const char *advice, *reason;

	model = synthetic__load(&made, MS);
	made_report_make(&report, &all);
	reason = report__why_empty(&report.view, &advice);
	assert_non_null(strstr(reason, "no thread of the target was seen"));
	assert_non_null(strstr(advice, "-p PID"));
	made_report_free(&report);
	model__free(model);

	made = synthetic__begin();
	synthetic__thread(&made, 1, 100, 100, 0, 0, "short");
	model = synthetic__load(&made, MS);
	made_report_make(&report, &all);
	reason = report__why_empty(&report.view, &advice);
	assert_non_null(strstr(reason, "shorter than the time between two"));
	made_report_free(&report);
	model__free(model);
	model = full;
}

/* The report as JSON, parsed again. */
static json_t *document_of(struct made_report *made, const struct sample_filter *filter)
{
	char *text = NULL;
	json_t *document;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	made_report_make(made, filter);
	assert_int_equal(report__json(&made->view, to), 0);
	fclose(to);
	document = json_loads(text, 0, NULL);
	assert_non_null(document);
	free(text);
	made_report_free(made);
	return document;
}

static json_int_t number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static const char *string(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_string(value));
	return json_string_value(value);
}

static void json_has_every_field(void **state)
{
	struct made_report made = {};
	json_t *document = document_of(&made, &all), *row, *thread;
	json_int_t weight = 0;
	double percent = 0;
	size_t i;

	assert_int_equal(number(document, "period_ns"), MS);
	assert_int_equal(number(document, "duration_ns"), 110 * MS);
	assert_string_equal(string(document, "command"), "./prog --with args");
	assert_string_equal(string(document, "mode"), "sampling");
	assert_int_equal(number(json_object_get(document, "lost"), "ring buffer full"), 3);
	assert_int_equal(number(json_object_get(document, "truncated"), "no_table"), 0);
	assert_null(json_object_get(document, "empty"));
	assert_int_equal(number(json_object_get(document, "exact"), "lock_ns"), 30 * MS);
	assert_int_equal(number(json_object_get(document, "sampled"), "lock_ns"), 30 * MS);
	json_array_foreach(json_object_get(document, "rows"), i, row)
	{
		weight += number(row, "weight");
		percent += json_real_value(json_object_get(row, "percent"));
		assert_int_equal(number(row, "self_ns"), number(row, "weight") * MS);
		assert_int_equal(number(row, "self_ns"), number(row, "total_ns"));
	}
	assert_int_equal(weight, 120);
	assert_true(percent > 99.999 && percent < 100.001);
	row = json_array_get(json_object_get(document, "rows"), 2);
	assert_string_equal(string(row, "comm"), "worker");
	assert_string_equal(string(row, "dso"), "libc.so.6");
	assert_string_equal(string(row, "symbol"), "__libc_pread64");
	assert_string_equal(string(row, "class"), "io");
	assert_string_equal(string(row, "kind"), "disk read");
	assert_string_equal(string(row, "kernel"), "filemap_read");
	thread = json_array_get(json_object_get(document, "threads"), 1);
	assert_int_equal(number(thread, "pid"), 100);
	assert_int_equal(number(thread, "tid"), 101);
	assert_string_equal(string(thread, "comm"), "late");
	assert_int_equal(number(thread, "lifetime_ns"), 110 * MS);
	assert_int_equal(number(thread, "cpu_ns") + number(thread, "io_ns") +
				 number(thread, "lock_ns") + number(thread, "sched_ns") +
				 number(thread, "other_ns"),
			 110 * MS);
	json_decref(document);
}

/* The kernel thread has no work, and no thread in the recording wakes the one that waits for a
 * futex.
 */
static void idle_waits_are_left_out_and_told(void **state)
{
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	struct made_report hidden = {}, shown = {.view = {.idle_shown = true}},
			   why = {.view = {.idle_explained = true}};
	struct sample_filter filter = {};
	json_t *document, *row;
	char *text;

	assert_int_equal(idle_waits__new(model, kinds, &idle), 0);
	filter.idle = idle;
	made_report_make(&hidden, &filter);
	text = text_of(&hidden.view);
	assert_non_null(strstr(text, "# idle       : 40.000 ms of 2 threads, 33.3% of all time, "
				     "waited for work: worker 30.000 ms, kworker/0:1 10.000 ms; "
				     "left out"));
	assert_null(strstr(text, "worker_thread"));
	assert_non_null(strstr(text, "    37.50%  worker   prog           [.] compute"));
	assert_non_null(strstr(text, "0            0    10.000 ms   9%   110.000 ms\n"));
	free(text);
	made_report_free(&hidden);
	hidden = (struct made_report){};
	document = document_of(&hidden, &filter);
	assert_int_equal(number(document, "total_ns"), 80 * MS);
	assert_int_equal(number(document, "idle_ns"), 40 * MS);
	row = json_array_get(json_object_get(document, "threads"), 0);
	assert_int_equal(number(row, "idle_ns"), 10 * MS);
	assert_int_equal(number(row, "other_ns"), 10 * MS); /* idle time is part of it */
	json_decref(document);

	made_report_make(&shown, &filter);
	text = text_of(&shown.view);
	assert_non_null(strstr(text, "     8.33%  kworker/0:1  [kernel]       [B] worker_thread "
				     "(idle)\n"));
	assert_non_null(strstr(text, "percentages include it"));
	free(text);
	made_report_free(&shown);

	made_report_make(&why, &filter);
	text = text_of(&why.view);
	assert_non_null(strstr(text, "10.000 ms  kworker/0:1: kernel thread without work (kernel "
				     "thread idle)\n                  worker_thread\n"));
	free(text);
	made_report_free(&why);
}

static void json_rows_carry_their_keys(void **state)
{
	struct sample_filter io = {.classes = 1U << CLASS_IO};
	struct made_report made = {
		.view = {.keys = {PROFILE_THREAD, PROFILE_OBJECT, PROFILE_LINE}, .n_keys = 3}};
	json_t *document = document_of(&made, &io);
	json_t *row = json_array_get(json_object_get(document, "rows"), 0);

	assert_int_equal(json_array_size(json_object_get(document, "rows")), 1);
	assert_int_equal(number(row, "pid"), 100);
	assert_int_equal(number(row, "tid"), 101);
	assert_string_equal(string(row, "object"), "/var/lib/x.sst");
	assert_string_equal(string(row, "file"), "prog.c");
	assert_int_equal(number(row, "line"), 20);
	json_decref(document);
}

/* The output of one script, to be freed. */
static char *script_of(const struct script *script)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(script__write(script, to), 0);
	fclose(to);
	return text;
}

static void script_has_every_field(void **state)
{
	const struct sample_filter io = {.classes = 1U << CLASS_IO};
	const struct script script = {.model = model, .kinds = kinds, .filter = &io};
	char *text = script_of(&script);

	assert_same(text,
		    "thread time=0.000000000 pid=100 tid=101 comm=\"worker\" created=0 kernel=0 "
		    "target=1 parent_tid=0\n"
		    "thread time=0.000000000 pid=7 tid=7 comm=\"kworker/0:1\" created=0 kernel=0 "
		    "target=1 parent_tid=0\n"
		    "interval time=0.040000000 pid=100 tid=101 comm=\"worker\" class=io "
		    "t_out=0.040000000 t_wake=0.058000000 t_in=0.060000000 blocked_points=18 "
		    "runq_points=2 stolen_before_ns=0 spacing=1 flags=none syscall=pread64 "
		    "kind=\"disk read\" "
		    "object=\"/var/lib/x.sst\" waker_context=unknown waker_pid=0 waker_tid=0 "
		    "waker_comm=\"\" stack_end=complete\n"
		    "\tffffffff81000008 __schedule ([kernel])\n"
		    "\tffffffff81000017 schedule ([kernel])\n"
		    "\tffffffff81000027 io_schedule ([kernel])\n"
		    "\tffffffff81000037 filemap_read ([kernel])\n"
		    "\tffffffff81000047 entry ([kernel])\n"
		    "\t7 __libc_pread64 (/usr/lib/libc.so.6)\n"
		    "\t17 work (/usr/bin/prog) prog.c:20\n"
		    "\t7 main (/usr/bin/prog) prog.c:10\n"
		    "comm time=0.100000000 pid=100 tid=101 comm=\"late\"\n"
		    "exit time=0.110000000 pid=100 tid=101 comm=\"late\" exited=1 "
		    "lifetime_ns=110000000 cpu_ns=45000000 io_ns=18000000 lock_ns=30000000 "
		    "sched_ns=7000000 other_ns=10000000 stopped_ns=0 stolen_ns=0 last_stolen_ns=0 "
		    "not_seen_ns=0 "
		    "voluntary=0 involuntary=0\n"
		    "exit time=0.110000000 pid=7 tid=7 comm=\"kworker/0:1\" exited=0 "
		    "lifetime_ns=110000000 cpu_ns=100000000 io_ns=0 lock_ns=0 sched_ns=0 "
		    "other_ns=10000000 stopped_ns=0 stolen_ns=0 last_stolen_ns=0 not_seen_ns=0 "
		    "voluntary=0 "
		    "involuntary=0\n");
	free(text);
}

static void script_is_in_time_order(void **state)
{
	const struct script script = {
		.model = model, .kinds = kinds, .filter = &all, .no_stacks = true};
	char *text = script_of(&script), *rest = text, *line;
	size_t samples = 0, intervals = 0;
	double last = -1;

	while ((line = strsep(&rest, "\n")) && *line) {
		double time;

		assert_int_equal(sscanf(line, "%*s time=%lf", &time), 1);
		assert_true(time >= last);
		last = time;
		samples += !strncmp(line, "sample ", 7);
		intervals += !strncmp(line, "interval ", 9);
	}
	assert_int_equal(samples, 32);
	assert_int_equal(intervals, 5);
	free(text);
}

static void script_lines_are_json(void **state)
{
	const struct script script = {.model = model, .kinds = kinds, .filter = &all, .json = true};
	char *text = script_of(&script), *rest = text, *line;
	json_int_t points = 0;
	size_t lines = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *event = json_loads(line, 0, NULL);
		const char *name;

		assert_non_null(event);
		name = string(event, "event");
		assert_true(number(event, "time_ns") >= 0);
		if (!strcmp(name, "sample"))
			points += number(event, "points");
		if (!strcmp(name, "interval")) {
			points += number(event, "blocked_points") + number(event, "runq_points");
			assert_true(json_array_size(json_object_get(event, "stack")) > 2);
		}
		json_decref(event);
		lines++;
	}
	assert_int_equal(points, 120);
	assert_int_equal(lines, 2 + 1 + 32 + 5 + 2);
	free(text);
}

static void script_window_takes_what_reaches_in(void **state)
{
	const struct sample_filter window = {.from = 59 * MS, .until = 60 * MS};
	const struct script script = {
		.model = model, .kinds = kinds, .filter = &window, .no_stacks = true};
	char *text = script_of(&script);

	assert_non_null(strstr(text, "interval time=0.040000000"));
	assert_null(strstr(text, "interval time=0.060000000"));
	assert_null(strstr(text, "sample"));
	free(text);
}

static char *folded_of(const struct sample_filter *filter, enum folded_unit unit)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(folded__write(model, filter, unit, NULL, to), 0);
	fclose(to);
	return text;
}

static void folded_stacks(void **state)
{
	char *text = folded_of(&all, FOLDED_POINTS);

	assert_same(text,
		    "kworker/0:1;worker_thread_[B] 10\n"
		    "late;main;clock_nanosleep;entry_[k];do_nanosleep_[B] 10\n"
		    "worker;main;pthread_cond_wait;__futex_abstimed_wait_common64;entry_[k];"
		    "futex_do_wait_[L] 30\n"
		    "worker;main;work 10\n"
		    "worker;main;work;__libc_pread64;entry_[k];filemap_read_[I] 18\n"
		    "worker;main;work;__libc_pread64;entry_[k];filemap_read_[S] 2\n"
		    "worker;main;work;__libc_pread64;entry_[k];filemap_read_[k];copy_page_[k] 5\n"
		    "worker;main;work;compute 30\n"
		    "worker;main;work;compute;irqentry_exit_[S] 5\n");
	free(text);
}

static void folded_takes_filters_and_units(void **state)
{
	const struct sample_filter lock = {.classes = 1U << CLASS_LOCK, .until = 70 * MS};
	char *text = folded_of(&lock, FOLDED_MICROSECONDS);

	assert_same(text, "worker;main;pthread_cond_wait;__futex_abstimed_wait_common64;entry_[k];"
			  "futex_do_wait_[L] 10000\n");
	free(text);
}

static char *quoted(const char *text, void (*put)(FILE *, const char *))
{
	char *out = NULL;
	size_t size;
	FILE *to = open_memstream(&out, &size);

	put(to, text);
	fclose(to);
	return out;
}

/* A program names its threads as it likes: escape sequences stay text. */
static void names_cannot_break_out(void **state)
{
	static const struct {
		void (*put)(FILE *, const char *);
		const char *text;
		const char *expected;
	} cases[] = {
		{format__safe, "plain \xc3\xa9", "plain \xc3\xa9"},
		{format__safe, "\033[2J\x7f\xff\xc3(", "\\x1b[2J\\x7f\\xff\\xc3("},
		/* A surrogate, a code that is too long, and one that is too high. */
		{format__safe, "\xed\xa0\x80 \xe0\x80\xaf \xf4\x90\x80\x80",
		 "\\xed\\xa0\\x80 \\xe0\\x80\\xaf \\xf4\\x90\\x80\\x80"},
		{format__safe, "\xed\x9f\xbf\xf4\x8f\xbf\xbf", "\xed\x9f\xbf\xf4\x8f\xbf\xbf"},
		{format__quoted, "a \"b\" \\ \n\t\001", "\"a \\\"b\\\" \\\\ \\n\\t\\x01\""},
		{json__put_string, "a \"b\" \\ \n\xff \xc3\xa9",
		 "\"a \\\"b\\\" \\\\ \\\\x0a\\\\xff \xc3\xa9\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = quoted(cases[i].text, cases[i].put);

		assert_string_equal(text, cases[i].expected);
		free(text);
	}
	assert_int_equal(format__width("ab\xc3\xa9\n"), 7);
}

static void times_have_units(void **state)
{
	char text[24];

	assert_string_equal(duration__text(0, text), "0");
	assert_string_equal(duration__text(999, text), "999 ns");
	assert_string_equal(duration__text(1500, text), "1.5 us");
	assert_string_equal(duration__text(2500000, text), "2.500 ms");
	assert_string_equal(duration__text(61000000000, text), "61.000 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_is_the_table_of_perf),
		cmocka_unit_test(limit_hides_and_says_so),
		cmocka_unit_test(children_have_two_columns),
		cmocka_unit_test(trees_hang_below_their_rows),
		cmocka_unit_test(threads_are_the_report),
		cmocka_unit_test(nothing_explains_itself),
		cmocka_unit_test(no_samples_explain_themselves),
		cmocka_unit_test(json_has_every_field),
		cmocka_unit_test(idle_waits_are_left_out_and_told),
		cmocka_unit_test(json_rows_carry_their_keys),
		cmocka_unit_test(script_has_every_field),
		cmocka_unit_test(script_is_in_time_order),
		cmocka_unit_test(script_lines_are_json),
		cmocka_unit_test(script_window_takes_what_reaches_in),
		cmocka_unit_test(folded_stacks),
		cmocka_unit_test(folded_takes_filters_and_units),
		cmocka_unit_test(names_cannot_break_out),
		cmocka_unit_test(times_have_units),
	};

	return cmocka_run_group_tests_name("render", tests, load, unload);
}
