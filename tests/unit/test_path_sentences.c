// SPDX-License-Identifier: BSD-2-Clause
/* No sentence of a verdict says what the rows of its tree deny, of paths of random programs. */
#include "tests/unit/path_support.h"

#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "render/path/path_views.h"
#include "tests/unit/dice.h"

#define THREADS	 6
#define LENGTH	 (20 * MS)
#define PROGRAMS 300

/* What programs wait for: each program has much of one of these, at several places. */
enum sort {
	SORT_SLEEP,
	SORT_THREAD,	   /* of these */
	SORT_NOT_RECORDED, /* a thread */
	SORT_DISK,
	SORT_PEER,
	SORT_TCP,
	SORT_STOPPED,
	SORT_TIMEOUT,
	SORT_INTERRUPT,
	SORT_UNKNOWN,
	SORT_QUEUE,
	SORT_COUNT,
};

#define PLACES	  8 /* files, sockets */
#define NOT_THERE (THREADS + 1)

/* A program, and the objects that it waits for. */
struct scene {
	struct program program;
	struct dice dice;
	enum sort sort;
	uint64_t often; /* so many of 8 waits are of its sort, besides others */
	uint32_t files[PLACES];
	uint32_t sockets[PLACES];
	uint32_t limits[PLACES];
	uint32_t n_limits;
};

static uint64_t roll(struct scene *scene, uint64_t n)
{
	return dice__roll(&scene->dice) % n;
}

static void put_objects(struct scene *scene)
{
	static const enum stop_cause stops[] = {STOP_QUOTA,  STOP_DEADLINE, STOP_REALTIME,
						STOP_SIGNAL, STOP_FREEZER,  STOP_MEMORY};
	struct recording_writer *writer = scene->program.made.writer;

	for (uint32_t i = 0; i < PLACES; i++) {
		struct record_object file = {.type = OBJECT_FILE, .id = i + 1};
		struct record_object socket = {.type = OBJECT_SOCKET,
					       .id = 100 + i,
					       .family = AF_INET,
					       .protocol = IPPROTO_TCP,
					       .side = SOCKET_SIDE_CLIENT};
		char name[32];

		snprintf(name, sizeof(name), "/file%u", i);
		file.name = record_stream__string(recording_writer__stream(writer), name);
		scene->files[i] = record_stream__object(recording_writer__stream(writer), &file);
		snprintf(name, sizeof(name), "10.0.0.%u:80", i);
		socket.name = record_stream__string(recording_writer__stream(writer), name);
		scene->sockets[i] =
			record_stream__object(recording_writer__stream(writer), &socket);
	}
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++) {
		struct record_object limit = {.type = OBJECT_LIMIT, .id = i + 1, .mode = stops[i]};

		scene->limits[scene->n_limits++] =
			record_stream__object(recording_writer__stream(writer), &limit);
	}
}

/* @interval is a wait of @sort: what it is for, and how it ends. */
static void put_wait(struct scene *scene, enum sort sort, struct record_interval interval)
{
	struct program *program = &scene->program;
	const char *wake = NULL;
	uint32_t place = (uint32_t)roll(scene, PLACES);

	interval.class = CLASS_OTHER;
	interval.syscall = SYS_read;
	interval.object = scene->files[place];
	interval.waker_context = WAKER_TASK;
	switch (sort) {
	case SORT_SLEEP:
		interval.syscall = SYS_clock_nanosleep;
		interval.object = 0;
		interval.waker_context = WAKER_HARDIRQ;
		break;
	case SORT_THREAD:
		interval.waker = 1 + (uint32_t)roll(scene, THREADS);
		break;
	case SORT_NOT_RECORDED:
		interval.waker = NOT_THERE;
		break;
	case SORT_DISK:
		interval.class = CLASS_IO;
		interval.device = 1;
		interval.waker_context = WAKER_SOFTIRQ;
		wake = "blk_update_request";
		break;
	case SORT_PEER:
	case SORT_TCP:
		interval.syscall = SYS_recvfrom;
		interval.object = scene->sockets[place];
		interval.waker_context = WAKER_SOFTIRQ;
		wake = "net_rx_action";
		break;
	case SORT_STOPPED:
		interval.class = CLASS_STOPPED;
		interval.syscall = -1;
		interval.object = scene->limits[place % scene->n_limits];
		interval.waker_context = WAKER_UNKNOWN;
		break;
	case SORT_TIMEOUT:
		interval.waker_context = WAKER_HARDIRQ;
		wake = "hrtimer_wakeup";
		break;
	case SORT_INTERRUPT:
		interval.waker_context = WAKER_HARDIRQ;
		break;
	default:
		interval.waker_context = WAKER_UNKNOWN;
		break;
	}
	synthetic__interval(&program->made, interval);
	if (wake)
		put_wake(program, &interval, wake);
	if (sort == SORT_TCP)
		synthetic__put(&program->made,
			       (struct record){.type = RECORD_SEGMENT,
					       .segment = {.thread = interval.thread,
							   .writer = interval.thread,
							   .time = START + interval.t_out +
								   interval.blocked_ns,
							   .written = (uint32_t)interval.blocked_ns,
							   .reasons = {HOLD_NAGLE},
							   .role = SEGMENT_DATA,
							   .object = interval.object}});
}

/* What a thread does, one way or another: runs, and waits of all sorts. */
static void put_life(struct scene *scene, uint32_t thread)
{
	static const char *const places[] = {"f", "g", "h", "i", "j", "k", "l", "m"};
	struct program *program = &scene->program;
	uint64_t longest_run = 1 + roll(scene, 2 * MS);
	size_t n_places = roll(scene, 2) ? 2 : ARRAY_SIZE(places);
	uint64_t at = roll(scene, MS);

	while (at < LENGTH) {
		uint32_t place = USER(program, places[roll(scene, n_places)], "main");
		uint64_t length = 1 + roll(scene, MS);
		enum sort sort = roll(scene, 8) < scene->often ? scene->sort
							       : (enum sort)roll(scene, SORT_COUNT);
		struct record_interval interval = {
			.thread = thread, .t_out = at, .user_stack = place, .cpu = 1};

		if (sort == SORT_QUEUE) {
			interval.class = CLASS_SCHED;
			interval.flags =
				INTERVAL_PREEMPTED | (roll(scene, 2) ? INTERVAL_CPU_SEEN : 0);
			interval.runq_ns = length;
			interval.syscall = roll(scene, 2) ? -1 : SYS_write;
			synthetic__interval(&program->made, interval);
		} else {
			interval.blocked_ns = length;
			interval.runq_ns = roll(scene, 100000);
			put_wait(scene, sort, interval);
		}
		at += length + interval.runq_ns * (interval.blocked_ns > 0);
		length = 1 + roll(scene, longest_run);
		if (roll(scene, 2))
			synthetic__sample(&program->made, thread, at + roll(scene, length), 1, 0,
					  place);
		at += length;
	}
}

/* Of a sentence: "N% of it is WHAT", and perhaps ", N waits away". */
struct claim {
	double percent;
	char what[300];
};

static const char *next_claim(const char *text, struct claim *claim)
{
	const char *is = strstr(text, "% of it is "), *end;
	size_t n;

	if (!is)
		return NULL;
	assert_int_equal(sscanf(text, "%lf", &claim->percent), 1);
	is += strlen("% of it is ");
	end = strstr(is, ". ");
	n = end ? (size_t)(end - is) : strlen(is) - 1;
	assert_true(n < sizeof(claim->what));
	memcpy(claim->what, is, n);
	claim->what[n] = '\0';
	if (strstr(claim->what, " away"))
		*strrchr(claim->what, ',') = '\0';
	return end ? end + 2 : "";
}

/* What sentences say of all that threads do of a sort, by category. */
static const char *const words_of[PATH_CATEGORY_COUNT] = {
	[PATH_RUNNING] = "running",
	[PATH_ESTIMATED] = "running",
	[PATH_NOT_SAMPLED] = "running",
	[PATH_MEMORY] = "running",
	[PATH_MEMORY_ESTIMATED] = "running",
	[PATH_DISK_ACTIVE] = "waiting for disks",
	[PATH_DISK_QUEUED] = "waiting for disks",
	[PATH_STOPPED] = "not allowed to run",
	[PATH_TCP] = "waiting for what TCP held back or sent again",
	[PATH_RUN_QUEUE] = "waiting for a CPU",
	[PATH_PREEMPTED] = "waiting for a CPU",
	[PATH_CPU_IDLE] = "waiting for an idle CPU to wake up",
	[PATH_SLEEP] = "sleeping",
	[PATH_TIMEOUT] = "in waits that timed out",
	[PATH_PEER] = "waiting for network peers",
	[PATH_INTERRUPT] = "waiting for interrupts",
	[PATH_DELIVERY] = "waiting for wakeups under way",
	[PATH_IDLE] = "waiting for work",
	[PATH_OTHER_PATH] = "waiting for threads further out, which wait, too",
	[PATH_NOT_RECORDED] = "waiting for threads that were not recorded",
	[PATH_GAP] = "in gaps, where events were lost",
	[PATH_UNKNOWN] = "in states that are not known",
};

/* The time that the rows have for what a sentence says. */
struct row {
	char function[300]; /* in the words of a sentence about a function or a wait */
	const char *words;  /* about all that threads do of a sort */
	uint32_t thread;
	bool several;
	uint64_t ns;
};

static struct row row_of(const struct path_view *view, uint32_t node)
{
	const struct path_node *nodes = view->path->tree.nodes.data, *what = &nodes[node];
	struct row row = {.ns = what->self_ns};
	char name[128], text[128];
	uint32_t thread;

	for (uint32_t at = node; at; at = nodes[at].parent)
		if (nodes[at].had_cpu)
			what = &nodes[nodes[at].parent];
	for (thread = (uint32_t)(what - nodes); nodes[thread].type != PATH_NODE_THREAD;)
		thread = nodes[thread].parent;
	row.thread = nodes[thread].thread;
	row.several = nodes[thread].several;
	row.words = words_of[what->type == PATH_NODE_LEAF ? what->category : PATH_RUNNING];
	if (what->type == PATH_NODE_LEAF && nodes[what->parent].type == PATH_NODE_WAIT)
		what = &nodes[what->parent];
	path_node__thread(view, &nodes[thread], name, sizeof(name));
	path_node__text(view, what, text, sizeof(text));
	snprintf(row.function, sizeof(row.function), "%s%s%s", name,
		 what->type == PATH_NODE_FRAME	? " running in "
		 : what->type == PATH_NODE_WAIT ? " in "
						: ": ",
		 text);
	return row;
}

static bool says(const struct row *row, const struct row *other, bool words)
{
	return words ? row->words == other->words : strcmp(row->function, other->function) == 0;
}

/* The time of all rows that say the same as the row that has most so; with @words, of its sort. */
static uint64_t most_of(const struct row *rows, size_t n, bool words)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < n && rows[i].ns; k++)
			sum += says(&rows[i], &rows[k], words) ? rows[k].ns : 0;
		most = sum > most ? sum : most;
	}
	return most;
}

/* The category whose words the claim ends with. */
static enum path_category claimed_category(const char *what)
{
	size_t n = strlen(what);

	for (int i = 0; i < PATH_CATEGORY_COUNT; i++) {
		size_t length = strlen(words_of[i]);

		if (n > length && what[n - length - 1] == ' ' &&
		    strcmp(what + n - length, words_of[i]) == 0)
			return (enum path_category)i;
	}
	fail_msg("no row says '%s'", what);
	return PATH_CATEGORY_COUNT;
}

/* Of all that threads do of a sort: the sum of its rows, which nothing alone has a fifth of. */
static uint64_t check_group(const struct row *rows, size_t n, const struct claim *claim,
			    enum path_category category)
{
	uint32_t thread = 0;
	bool several = false;
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].ns || strcmp(rows[i].words, words_of[category]) != 0)
			continue;
		several |= rows[i].several || (thread && thread != rows[i].thread);
		thread = rows[i].thread;
		ns += rows[i].ns;
	}
	assert_int_equal(strstr(claim->what, "(threads) ") != NULL, several);
	return ns;
}

/* Notes in @groups which categories were claimed as a whole. */
static void check_claim(const struct path_view *view, const struct claim *claim, bool is_first,
			bool groups[PATH_CATEGORY_COUNT])
{
	const struct path *path = view->path;
	size_t n = path->tree.nodes.n - 1;
	_cleanup_free_ struct row *rows = calloc(n + 1, sizeof(*rows));
	uint64_t claimed = 0, most;

	assert_non_null(rows);
	for (uint32_t i = 0; i < n; i++) {
		rows[i] = row_of(view, i + 1);
		claimed += strcmp(rows[i].function, claim->what) == 0 ? rows[i].ns : 0;
	}
	most = most_of(rows, n, false);
	if (claimed) {
		assert_true(100 * claimed > 20 * path->wall_ns || !is_first);
		assert_true(!is_first || claimed == most);
	} else {
		enum path_category category = claimed_category(claim->what);

		assert_true(100 * most <= 20 * path->wall_ns);
		claimed = check_group(rows, n, claim, category);
		assert_true(!is_first || claimed == most_of(rows, n, true));
		groups[category] = true;
	}
	assert_true(fabs(claim->percent - 100.0 * (double)claimed / (double)path->wall_ns) <= 0.51);
}

/* The program of number @seed. Threads of one name and process: their times are said together. */
static struct program make_program(uint64_t seed)
{
	struct scene scene = {.program = program__begin(true),
			      .dice = {.state = seed},
			      .sort = (enum sort)(seed % SORT_COUNT)};

	scene.often = roll(&scene, 9);
	put_objects(&scene);
	program__device(&scene.program, 1, "sda", 1, 1);
	for (uint32_t t = 1; t <= THREADS; t++)
		program__thread(&scene.program, t, "t");
	synthetic__put(
		&scene.program.made,
		(struct record){.type = RECORD_THREAD,
				.thread = {.thread = NOT_THERE,
					   .tid = 1000,
					   .tgid = 1000,
					   .comm = synthetic__string(&scene.program.made, "other"),
					   .time = START}});
	for (uint32_t t = 1; t <= THREADS; t++)
		put_life(&scene, t);
	return scene.program;
}

static void sentences_are_as_their_rows(void **state)
{
	static const enum path_category expected[] = {
		PATH_RUNNING, PATH_DISK_ACTIVE, PATH_STOPPED,	PATH_TCP,	   PATH_RUN_QUEUE,
		PATH_TIMEOUT, PATH_PEER,	PATH_INTERRUPT, PATH_NOT_RECORDED, PATH_UNKNOWN,
	};
	bool groups[PATH_CATEGORY_COUNT] = {};
	size_t sentences = 0;

	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct program program = make_program(seed);
		_cleanup_found_ struct found found = program__path(&program, LENGTH);
		struct path_view view = {.model = found.model, .path = &found.path};
		struct claim claim;
		char text[1024];
		const char *at = text;

		assert_int_equal(found.err, 0);
		check_conservation(&found.path);
		assert_int_equal(path_view__verdict(&view, text, sizeof(text)), 0);
		assert_non_null(strstr(text, "% of it is "));
		for (size_t n = 0; (at = next_claim(at, &claim)); n++) {
			check_claim(&view, &claim, !n, groups);
			sentences++;
		}
	}
	assert_true(sentences >= PROGRAMS);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		if (!groups[expected[i]])
			fail_msg("no sentence said '%s'", words_of[expected[i]]);
}

/* Many functions with little time each, of many threads: what they do is said together. */
static void what_is_scattered_is_said_together(void **state)
{
	static const char *const names[] = {"f", "g", "h", "i", "j", "k", "l", "m"};
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	struct path_view view = {};
	char text[1024];

	program__thread(&program, 1, "make");
	for (uint32_t t = 2; t < 10; t++) {
		uint64_t begin = (t - 2) * 10 * MS;

		synthetic__thread(&program.made, t, PID + t, PID + t, 1, begin + 1, "cc1");
		program__wait(&program, 1, t, begin + MS, begin + 9 * MS);
		synthetic__sample(&program.made, t, begin + 5 * MS, 1, 0,
				  USER(&program, names[t - 2], "main"));
	}
	found = program__path(&program, 80 * MS);
	assert_int_equal(found.err, 0);
	view.model = found.model;
	view.path = &found.path;
	assert_int_equal(path_view__verdict(&view, text, sizeof(text)), 0);
	assert_true(strstr(text, "80% of it is cc1 (several) running, one wait away. ") == text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences_are_as_their_rows),
		cmocka_unit_test(what_is_scattered_is_said_together),
	};

	return cmocka_run_group_tests_name("path_sentences", tests, NULL, NULL);
}
