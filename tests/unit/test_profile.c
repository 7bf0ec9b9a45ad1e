// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/workload.h"

#include "analysis/profile/profile.h"
#include "analysis/profile/threads.h"
#include "recording/wait_class.h"

#define KEY(name) (1U << PROFILE_##name)
#define USUAL	  (KEY(COMM) | KEY(DSO) | KEY(SYMBOL))

static struct model *model;
static struct kinds *kinds;

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

static struct profile make(const struct sample_filter *filter, struct profile_options options)
{
	static const struct sample_filter all;
	struct profile profile;

	assert_int_equal(profile__make(model, kinds, filter ? filter : &all, &options, &profile),
			 0);
	return profile;
}

static const char *text_of(uint32_t id)
{
	return model__string(model, id);
}

/* The row of @symbol and class letter; rows are told apart by no more here. */
static const struct profile_row *find(const struct profile *profile, const char *symbol,
				      char letter)
{
	for (size_t i = 0; i < profile->rows.n; i++) {
		const struct profile_row *row = &profile->rows.data[i];

		if (!strcmp(text_of(row->symbol), symbol) &&
		    wait_class__letter(row->class, row->level_kernel) == letter)
			return row;
	}
	return NULL;
}

static uint64_t points(const struct profile *profile, const char *symbol, char letter)
{
	const struct profile_row *row = find(profile, symbol, letter);

	return row ? row->points : 0;
}

static uint64_t sum(const struct profile *profile)
{
	uint64_t all = 0;

	for (size_t i = 0; i < profile->rows.n; i++)
		all += profile->rows.data[i].points;
	return all;
}

static void running_and_waiting_on_one_scale(void **state)
{
	struct profile profile = make(NULL, (struct profile_options){.keys = USUAL});

	assert_int_equal(profile.points, 120);
	assert_int_equal(profile.ns, 120 * MS);
	assert_int_equal(sum(&profile), 120);
	assert_int_equal(points(&profile, "compute", '.'), 30);
	assert_int_equal(points(&profile, "work", '.'), 10);
	assert_int_equal(points(&profile, "__libc_pread64", 'I'), 18);
	assert_int_equal(points(&profile, "__libc_pread64", 'S'), 2);
	assert_int_equal(points(&profile, "pthread_cond_wait", 'L'), 30);
	assert_int_equal(points(&profile, "compute", 'S'), 5);
	assert_int_equal(points(&profile, "copy_page", 'k'), 5);
	assert_int_equal(points(&profile, "clock_nanosleep", 'B'), 10);
	assert_int_equal(points(&profile, "worker_thread", 'B'), 10);
	assert_int_equal(profile.rows.n, 9);
	assert_int_equal(profile.groups.sampled_ns[CLASS_CPU], 45 * MS);
	assert_int_equal(profile.groups.sampled_ns[CLASS_SCHED], 7 * MS);
	/* Most first. */
	for (size_t i = 1; i < profile.rows.n; i++)
		assert_true(profile.rows.data[i - 1].total_ns >= profile.rows.data[i].total_ns);
	profile__free(&profile);
}

static void rows_say_kind_and_kernel_function(void **state)
{
	struct profile profile = make(NULL, (struct profile_options){.keys = USUAL});
	const struct profile_row *row = find(&profile, "__libc_pread64", 'I');

	assert_string_equal(text_of(row->comm), "worker");
	assert_string_equal(text_of(model->dsos.data[row->dso].name), "libc.so.6");
	assert_int_equal(row->kind, KIND_DISK_READ);
	assert_string_equal(text_of(row->kernel), "filemap_read");
	row = find(&profile, "compute", 'S');
	assert_int_equal(row->kind, KIND_PREEMPTED);
	row = find(&profile, "clock_nanosleep", 'B');
	assert_string_equal(text_of(row->comm), "late");
	row = find(&profile, "compute", '.');
	assert_int_equal(row->kind, KIND_RUNNING);
	assert_int_equal(row->kernel, 0);
	profile__free(&profile);
	/* Of several kinds in one row, that with the most time: 30 of 60 in libc. */
	profile = make(NULL, (struct profile_options){.keys = KEY(DSO)});
	assert_int_equal(profile.rows.data[0].points, 60);
	assert_int_equal(profile.rows.data[0].kind, KIND_FUTEX);
	assert_string_equal(text_of(profile.rows.data[0].kernel), "futex_do_wait");
	profile__free(&profile);
}

static void kernel_functions_instead(void **state)
{
	struct profile profile =
		make(NULL, (struct profile_options){.keys = USUAL, .kernel = true});

	assert_int_equal(sum(&profile), 120);
	assert_int_equal(points(&profile, "filemap_read", 'I'), 18);
	assert_int_equal(points(&profile, "futex_do_wait", 'L'), 30);
	assert_int_equal(points(&profile, "do_nanosleep", 'B'), 10);
	assert_int_equal(points(&profile, "compute", '.'), 30);
	assert_null(find(&profile, "__schedule", 'I'));
	profile__free(&profile);
}

static void totals_of_callers(void **state)
{
	struct profile profile =
		make(NULL, (struct profile_options){.keys = KEY(SYMBOL), .children = true});
	const struct profile_row *row;

	assert_int_equal(sum(&profile), 120);
	row = find(&profile, "main", '.');
	assert_int_equal(row->points, 0);
	assert_int_equal(row->total_ns, 110 * MS);
	row = find(&profile, "work", '.');
	assert_int_equal(row->points, 10);
	/* compute 30 and 5 preempted, itself 10, pread 18 + 2, the kernel below it 5 */
	assert_int_equal(row->total_ns, 70 * MS);
	row = find(&profile, "pthread_cond_wait", 'L');
	assert_int_equal(row->total_ns, 30 * MS);
	row = find(&profile, "entry", 'k');
	assert_int_equal(row->total_ns, 5 * MS);
	profile__free(&profile);
}

/* Waits have the name a program knows, not that of a helper of the C library. */
static void waits_have_the_name_of_the_api(void **state)
{
	static const struct {
		const char *file;
		const char *innermost;
		bool inlined;
		const char *outer;
		const char *expected;
	} cases[] = {
		{"libc.so.6", "lll_mutex_lock_optimized", true, "pthread_mutex_lock",
		 "pthread_mutex_lock"},
		{"libc.so.6", "__libc_recv", true, "recv", "recv"},
		{"libc.so.6", "__pthread_clockjoin_ex", false, "main", "pthread_join"},
		{"libc.so.6", "__new_sem_wait_slow64.constprop.0", false, "main", "sem_wait"},
		{"libc.so.6", "__GI___pause", false, "main", "__pause"},
		{"libc.so.6", "futex_wait", false, "pthread_cond_wait", "pthread_cond_wait"},
		{"static", "__lll_lock_wait", false, "pthread_mutex_lock", "pthread_mutex_lock"},
		/* A program's own functions are what it wants to see. */
		{"own", "futex_wait", false, "own_lock", "futex_wait"},
		{"own", "tiny", true, "outer", "tiny"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct synthetic made = synthetic__begin();
		uint32_t dso = synthetic__dso(&made, cases[i].file);
		uint32_t other = synthetic__dso(&made, "prog");
		struct record symbol = {.type = RECORD_SYMBOL,
					.symbol = {.dso = dso, .address = 7}};
		bool elsewhere = !strcmp(cases[i].outer, "main");
		struct callchain chain = {};
		struct model *waits;
		ssize_t at;

		symbol.symbol.name = synthetic__string(&made, cases[i].innermost);
		symbol.symbol.inlined = cases[i].inlined;
		synthetic__put(&made, symbol);
		symbol.symbol.name = synthetic__string(&made, cases[i].outer);
		symbol.symbol.inlined = 0;
		if (cases[i].inlined)
			synthetic__put(&made, symbol);
		synthetic__symbol(&made, elsewhere ? other : dso, 16, cases[i].outer, NULL, 0);
		synthetic__thread(&made, 1, 100, 100, 0, 0, "a");
		synthetic__map(&made, 100, dso, 0, 0x1000, 0x1000, 0);
		synthetic__map(&made, 100, other, 0, 0x5000, 0x1000, 0);
		synthetic__interval(&made,
				    (struct record_interval){
					    .thread = 1,
					    .user_stack = USER_STACK(&made, 0x1008,
								     elsewhere ? 0x5018 : 0x1018)});
		waits = synthetic__load(&made, MS);
		assert_int_equal(callchain__set(&chain, waits, 0,
						find_thread(waits, 100)->intervals.data[0].user,
						true),
				 0);
		at = callchain__row(&chain, waits, true, false);
		assert_string_equal(model__string(waits, chain.frames.data[at].name),
				    cases[i].expected);
		callchain__free(&chain);
		model__free(waits);
	}
}

/* f calls itself: it is charged once. */
static void recursion_counts_once(void **state)
{
	struct synthetic made = synthetic__begin();
	uint32_t dso = synthetic__dso(&made, "/bin/r");
	static const struct sample_filter all;
	const struct profile_options options = {.keys = KEY(SYMBOL), .children = true};
	struct model *recursive;
	struct kinds *its_kinds = NULL;
	struct profile profile;

	synthetic__symbol(&made, dso, 0, "f", NULL, 0);
	synthetic__thread(&made, 1, 100, 100, 0, 0, "r");
	synthetic__map(&made, 100, dso, 0, 0x1000, 0x1000, 0);
	synthetic__sample(&made, 1, MS, 4, 0, USER_STACK(&made, 0x1004, 0x1008, 0x100a));
	recursive = synthetic__load(&made, 10 * MS);
	assert_int_equal(kinds__new(recursive, &its_kinds), 0);
	assert_int_equal(profile__make(recursive, its_kinds, &all, &options, &profile), 0);
	assert_int_equal(profile.rows.n, 1);
	assert_int_equal(profile.rows.data[0].total_ns, 4 * MS);
	assert_int_equal(profile.rows.data[0].self_ns, 4 * MS);
	profile__free(&profile);
	kinds__free(its_kinds);
	model__free(recursive);
}

static void every_key_keeps_the_sum(void **state)
{
	for (int key = 0; key < PROFILE_KEY_COUNT; key++) {
		struct profile profile = make(NULL, (struct profile_options){.keys = 1U << key});

		assert_int_equal(sum(&profile), 120);
		assert_true(profile.rows.n > 1 || key == PROFILE_KEY_COUNT);
		profile__free(&profile);
	}
}

static void class_and_kind_as_keys(void **state)
{
	struct profile profile = make(NULL, (struct profile_options){.keys = KEY(CLASS)});

	assert_int_equal(profile.rows.n, CLASS_COUNT - 1); /* no thread is stopped */
	assert_int_equal(profile.rows.data[0].class, CLASS_CPU);
	assert_int_equal(profile.rows.data[0].points, 45);
	assert_int_equal(profile.rows.data[4].class, CLASS_SCHED);
	assert_int_equal(profile.rows.data[4].points, 7);
	profile__free(&profile);
	profile = make(NULL, (struct profile_options){.keys = KEY(KIND)});
	assert_int_equal(profile.rows.n, 7);
	assert_int_equal(profile.rows.data[0].kind, KIND_RUNNING);
	assert_int_equal(profile.rows.data[1].kind, KIND_FUTEX);
	profile__free(&profile);
}

/* The line of a wait in the C library is where the program called it. */
static void lines_of_the_program(void **state)
{
	struct profile profile = make(NULL, (struct profile_options){.keys = KEY(LINE)});
	uint64_t by_line[100] = {};

	for (size_t i = 0; i < profile.rows.n; i++) {
		assert_true(profile.rows.data[i].line < 100);
		by_line[profile.rows.data[i].line] += profile.rows.data[i].points;
	}
	assert_int_equal(by_line[10], 30 + 10);	    /* main: cond wait and sleep */
	assert_int_equal(by_line[20], 10 + 18 + 2); /* work: itself, and pread */
	assert_int_equal(by_line[30], 30 + 5);
	assert_int_equal(by_line[0], 5 + 10); /* the kernel has no lines here */
	profile__free(&profile);
}

static void filters_by_class_name_and_thread(void **state)
{
	struct sample_filter filter = {.classes = 1U << CLASS_IO | 1U << CLASS_LOCK};
	struct profile profile = make(&filter, (struct profile_options){.keys = USUAL});

	assert_int_equal(sum(&profile), 48);
	assert_int_equal(profile.points, 48);
	profile__free(&profile);

	filter = (struct sample_filter){};
	array__push(&filter.comms, "late");
	profile = make(&filter, (struct profile_options){.keys = USUAL});
	assert_int_equal(sum(&profile), 10);
	profile__free(&profile);
	sample_filter__free(&filter);

	array__push(&filter.tids, 7);
	profile = make(&filter, (struct profile_options){.keys = USUAL});
	assert_int_equal(sum(&profile), 10);
	assert_int_equal(profile.rows.n, 1);
	profile__free(&profile);
	sample_filter__free(&filter);

	array__push(&filter.pids, 100);
	profile = make(&filter, (struct profile_options){.keys = USUAL});
	assert_int_equal(sum(&profile), 110);
	profile__free(&profile);
	sample_filter__free(&filter);
	assert_false(sample_filter__active(&filter));
}

static uint64_t points_in(uint64_t from, uint64_t until)
{
	const struct sample_filter filter = {.from = from, .until = until};
	struct profile profile = make(&filter, (struct profile_options){.keys = USUAL});
	uint64_t all = sum(&profile);

	assert_int_equal(all, profile.points);
	profile__free(&profile);
	return all;
}

/* Windows that adjoin add up to the whole, wherever they cut. */
static void windows_of_time_add_up(void **state)
{
	assert_int_equal(points_in(0, 0), 120);
	assert_int_equal(points_in(0, 10 * MS), 10 + 10);
	assert_int_equal(points_in(10 * MS, 30 * MS), 20);
	assert_int_equal(points_in(60 * MS, 90 * MS), 30);
	assert_int_equal(points_in(65 * MS, 70 * MS), 5);
	assert_int_equal(points_in(110 * MS, 0), 0);
	assert_int_equal(points_in(58 * MS, 60 * MS), 2);
	/* A sample at its very time belongs to the window that begins there. */
	assert_int_equal(points_in(30 * MS, 30 * MS + 1), 10 + 0);
	for (uint64_t cut = 1; cut < 110 * MS; cut += 777777)
		assert_int_equal(points_in(0, cut) + points_in(cut, 0), 120);
}

static void trace_mode_is_exact_off_the_cpu(void **state)
{
	static const struct sample_filter all;
	const struct sample_filter part = {.from = 40 * MS + 1, .until = 59 * MS};
	struct model *trace = workload__load(true);
	struct sample_groups groups;

	assert_int_equal(sample_groups__collect(trace, &all, &groups), 0);
	assert_int_equal(groups.class_ns[CLASS_IO], 18 * MS);
	assert_int_equal(groups.class_ns[CLASS_CPU], 45 * MS);
	sample_groups__free(&groups);
	assert_int_equal(sample_groups__collect(trace, &part, &groups), 0);
	assert_int_equal(groups.class_ns[CLASS_IO], 18 * MS - 1);
	assert_int_equal(groups.class_ns[CLASS_SCHED], 1 * MS);
	sample_groups__free(&groups);
	model__free(trace);
}

/* The node of @name among the children of @parent. */
static uint32_t child_of(const struct profile *profile, uint32_t parent, const char *name)
{
	const struct calltree_node *nodes = profile->trees.nodes.data;

	for (uint32_t node = nodes[parent].child; node; node = nodes[node].next)
		if (!strcmp(text_of(nodes[node].name), name))
			return node;
	fail_msg("no '%s' there", name);
	return 0;
}

static void trees_from_the_outside(void **state)
{
	struct profile profile =
		make(NULL, (struct profile_options){.keys = KEY(PID), .tree = CALLTREE_CALLER});
	const struct calltree_node *nodes = profile.trees.nodes.data;
	uint32_t root = profile.rows.data[0].tree, main_node, work, read;

	assert_int_equal(nodes[root].total_ns, 110 * MS);
	main_node = child_of(&profile, root, "main");
	assert_int_equal(nodes[main_node].total_ns, 110 * MS);
	work = child_of(&profile, main_node, "work");
	assert_int_equal(nodes[work].total_ns, 70 * MS);
	assert_int_equal(nodes[work].self_ns, 10 * MS);
	read = child_of(&profile, work, "__libc_pread64");
	assert_int_equal(nodes[read].total_ns, 25 * MS);
	read = child_of(&profile, child_of(&profile, read, "entry"), "filemap_read");
	/* Its own innermost frames: waiting for the disk, and for a CPU after that. */
	assert_int_equal(nodes[read].letter, 'I');
	assert_int_equal(nodes[read].self_ns, 18 * MS);
	profile__free(&profile);
}

static void trees_from_the_inside(void **state)
{
	struct profile profile =
		make(NULL, (struct profile_options){.keys = KEY(SYMBOL), .tree = CALLTREE_CALLEE});
	const struct calltree_node *nodes = profile.trees.nodes.data;
	uint32_t root = find(&profile, "pthread_cond_wait", 'L')->tree, node;

	/* The C library's helper below the row's function is left out. */
	node = child_of(&profile, root, "pthread_cond_wait");
	assert_int_equal(nodes[node].total_ns, 30 * MS);
	node = child_of(&profile, node, "main");
	assert_int_equal(nodes[node].self_ns, 30 * MS);
	assert_int_equal(nodes[node].child, 0);
	profile__free(&profile);
}

static void threads_have_exact_times(void **state)
{
	static const struct sample_filter all;
	struct sample_filter only = {};
	struct thread_summary summary;

	assert_int_equal(thread_summary__make(model, &all, &summary), 0);
	assert_int_equal(summary.threads.n, 2);
	assert_int_equal(model->threads.data[summary.threads.data[0].thread].tid, 7);
	assert_int_equal(summary.threads.data[1].ns[CLASS_LOCK], 30 * MS);
	assert_int_equal(summary.threads.data[1].lifetime_ns, 110 * MS);
	assert_string_equal(text_of(summary.threads.data[1].comm), "late");
	assert_int_equal(summary.ns[CLASS_CPU], 145 * MS);
	thread_summary__free(&summary);
	/* Any name it had will do. */
	array__push(&only.comms, "worker");
	assert_int_equal(thread_summary__make(model, &only, &summary), 0);
	assert_int_equal(summary.threads.n, 1);
	thread_summary__free(&summary);
	sample_filter__free(&only);
}

static void names_of_keys_and_classes(void **state)
{
	assert_int_equal(profile_key__parse("commx", 4), PROFILE_COMM);
	assert_int_equal(profile_key__parse("com", 3), -1);
	assert_int_equal(profile_key__parse("kind", 4), PROFILE_KIND);
	assert_int_equal(profile_key__parse("srcline", 7), PROFILE_LINE);
	for (int class = 0; class < CLASS_COUNT; class ++)
		assert_int_equal(wait_class__parse(wait_class__name(class)), class);
	assert_int_equal(wait_class__parse("L"), CLASS_LOCK);
	assert_int_equal(wait_class__parse("disk"), -1);
}

static void nothing_is_no_rows(void **state)
{
	struct synthetic made = synthetic__begin();
	struct model *empty = synthetic__load(&made, MS);
	static const struct sample_filter all;
	const struct profile_options options = {.keys = USUAL, .tree = CALLTREE_CALLER};
	struct kinds *no_kinds = NULL;
	struct profile profile;

	assert_int_equal(kinds__new(empty, &no_kinds), 0);
	assert_int_equal(profile__make(empty, no_kinds, &all, &options, &profile), 0);
	assert_int_equal(profile.rows.n, 0);
	assert_int_equal(profile.ns, 0);
	profile__free(&profile);
	kinds__free(no_kinds);
	model__free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_and_waiting_on_one_scale),
		cmocka_unit_test(rows_say_kind_and_kernel_function),
		cmocka_unit_test(kernel_functions_instead),
		cmocka_unit_test(totals_of_callers),
		cmocka_unit_test(waits_have_the_name_of_the_api),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(every_key_keeps_the_sum),
		cmocka_unit_test(class_and_kind_as_keys),
		cmocka_unit_test(lines_of_the_program),
		cmocka_unit_test(filters_by_class_name_and_thread),
		cmocka_unit_test(windows_of_time_add_up),
		cmocka_unit_test(trace_mode_is_exact_off_the_cpu),
		cmocka_unit_test(trees_from_the_outside),
		cmocka_unit_test(trees_from_the_inside),
		cmocka_unit_test(threads_have_exact_times),
		cmocka_unit_test(names_of_keys_and_classes),
		cmocka_unit_test(nothing_is_no_rows),
	};

	return cmocka_run_group_tests_name("profile", tests, load, unload);
}
