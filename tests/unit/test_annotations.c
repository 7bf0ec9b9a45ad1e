// SPDX-License-Identifier: BSD-2-Clause
/* The annotations of include/dwell.h, as a program makes them, and their reader. */
#include <pwd.h>

#include "tests/unit/annotations_support.h"

#define THREADS 4

static int lowest_free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void events_say_what_was_said(void **state)
{
	struct annotations *annotations = begin();
	uint64_t from = now_ns(CLOCK_MONOTONIC);
	int fd = lowest_free_fd();
	annotation_array events;
	volatile int lock = 0;

	errno = 77;
	DWELL_SPIN_BEGIN(&lock);
	DWELL_SPIN_BEGIN_FOR(&lock, 4711);
	DWELL_SPIN_END(&lock);
	DWELL_SPIN_RELEASE(&lock);
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(errno, 77);
	assert_int_equal(lowest_free_fd(), fd);

	events = drain(annotations, false);
	assert_int_equal(events.n, 5);
	for (size_t i = 0; i < 5; i++) {
		static const uint32_t types[] = {
			DWELL_EVENT_SPIN_BEGIN,	       DWELL_EVENT_SPIN_BEGIN,
			DWELL_EVENT_SPIN_END,	       DWELL_EVENT_SPIN_RELEASE,
			DWELL_EVENT_WOKEN_FOR_NOTHING,
		};
		const struct annotation *event = &events.data[i];

		assert_int_equal(event->type, types[i]);
		assert_int_equal(event->value, i == 1 ? 4711 : 0);
		assert_int_equal(event->address, i == 4 ? 0 : (uintptr_t)&lock);
		assert_int_equal(event->tid, gettid());
		assert_true(event->time >= from && event->time <= now_ns(CLOCK_MONOTONIC));
		from = event->time;
	}
	assert_int_equal(drain_count(annotations, true), 0);
	assert_int_equal(annotations__lost(annotations), 0);
	array__free(&events);
	end(annotations);
}

static void the_file_is_private_and_goes_away(void **state)
{
	struct annotations *annotations = begin();
	char *path = strdup(annotations__path(annotations));
	struct stat st;

	assert_int_equal(path[0], '/');
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_size, sizeof(struct dwell_area));
	assert_true(st.st_blocks < 64);
	end(annotations);
	assert_int_equal(access(path, F_OK), -1);
	free(path);
}

/*
 * A recorder that is killed cannot remove its file, whose owner is @user if not NULL: the next one
 * does, and only that.
 */
static void check_removal(const char *user)
{
	struct annotations *alive = begin(), *next;
	char path[PATH_MAX] = "";
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		struct annotations *killed = NULL;

		if (!annotations__new(&killed) && (!user || !annotations__allow(killed, user)) &&
		    !access(annotations__path(killed), F_OK))
			(void)!write(fds[1], annotations__path(killed),
				     strlen(annotations__path(killed)));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	close(fds[1]);
	assert_true(read(fds[0], path, sizeof(path) - 1) > 0);
	/* Any recorder of the machine may have removed it by now. */
	assert_int_equal(annotations__new(&next), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(annotations__path(alive), F_OK), 0);
	annotations__free(next);
	end(alive);
	close(fds[0]);
}

static void what_a_killed_recorder_left_is_removed(void **state)
{
	check_removal(NULL);
}

static void the_files_of_other_users_are_removed(void **state)
{
	if (geteuid() || !getpwnam("nobody"))
		skip();
	check_removal("nobody");
}

static void a_program_not_recorded_writes_nothing(void **state)
{
	struct annotations *annotations = begin();

	unsetenv(DWELL_ENVIRONMENT);
	errno = 77;
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(errno, 77);
	assert_ptr_equal(dwell_v1_state, DWELL_OFF);
	/* It looks once. */
	setenv(DWELL_ENVIRONMENT, annotations__path(annotations), 1);
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, true), 0);
	end(annotations);
}

static void expect_off(const char *path)
{
	int fd = lowest_free_fd();

	forget();
	setenv(DWELL_ENVIRONMENT, path, 1);
	errno = 77;
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(errno, 77);
	assert_ptr_equal(dwell_v1_state, DWELL_OFF);
	assert_int_equal(lowest_free_fd(), fd);
}

static void a_file_that_is_none_of_ours_is_left_alone(void **state)
{
	static const struct dwell_header good = {
		.magic = DWELL_AREA_MAGIC,
		.version = DWELL_AREA_VERSION,
		.size = sizeof(struct dwell_area),
	};
	struct dwell_header wrong[4] = {good, good, good, {}};
	char path[] = "/tmp/dwell-test-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	expect_off(path); /* empty */
	assert_int_equal(pwrite(fd, &good, sizeof(good), 0), sizeof(good));
	expect_off(path); /* short */
	assert_int_equal(ftruncate(fd, sizeof(struct dwell_area) - 1), 0);
	expect_off(path);
	assert_int_equal(ftruncate(fd, sizeof(struct dwell_area)), 0);
	wrong[0].magic++;
	wrong[1].version++;
	wrong[2].size++;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pwrite(fd, &wrong[i], sizeof(good), 0), sizeof(good));
		expect_off(path);
	}
	assert_int_equal(pwrite(fd, &good, sizeof(good), 0), sizeof(good));
	forget();
	setenv(DWELL_ENVIRONMENT, path, 1);
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(written(attached()), 1);
	close(fd);
	unlink(path);
	expect_off(path);
	expect_off("");
	expect_off("/tmp");
	expect_off("/dev/null");
	expect_off("/dev/zero");
	forget();
}

static size_t mappings_of(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, path) != NULL;
	fclose(maps);
	return n;
}

static void *first_annotation(void *barrier)
{
	pthread_barrier_wait(barrier);
	DWELL_WOKEN_FOR_NOTHING();
	return NULL;
}

static void threads_that_begin_at_once_share_one_mapping(void **state)
{
	for (int round = 0; round < 20; round++) {
		struct annotations *annotations = begin();
		pthread_t threads[THREADS];
		pthread_barrier_t barrier;

		pthread_barrier_init(&barrier, NULL, THREADS);
		for (size_t i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, first_annotation, &barrier);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&barrier);
		assert_int_equal(drain_count(annotations, false), THREADS);
		/* The reader's, and one of the program. */
		assert_int_equal(mappings_of(annotations__path(annotations)), 2);
		end(annotations);
	}
}

static void what_is_overwritten_is_counted(void **state)
{
	struct annotations *annotations = begin();
	annotation_array events;

	for (int64_t i = 0; i < DWELL_SLOTS + 100; i++)
		DWELL_SPIN_BEGIN_FOR(&events, i);
	events = drain(annotations, false);
	assert_int_equal(events.n, DWELL_SLOTS);
	for (size_t i = 0; i < events.n; i++)
		assert_int_equal(events.data[i].value, 100 + i);
	assert_int_equal(annotations__lost(annotations), 100);
	array__free(&events);

	for (int64_t i = 0; i < 3L * DWELL_SLOTS; i++)
		DWELL_SPIN_BEGIN_FOR(&events, i);
	assert_int_equal(drain_count(annotations, false), DWELL_SLOTS);
	assert_int_equal(annotations__lost(annotations), 100 + 2 * DWELL_SLOTS);
	end(annotations);
}

/* A writer that took an index and came no further. */
static void a_hole_holds_up_one_drain(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_stripe *stripe = own_stripe();

	DWELL_WOKEN_FOR_NOTHING();
	stripe->next += 3;
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, false), 1);
	assert_int_equal(annotations__lost(annotations), 0);
	stripe->next += 1; /* new: has not had its time */
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, false), 1);
	assert_int_equal(annotations__lost(annotations), 3);
	assert_int_equal(drain_count(annotations, true), 1);
	assert_int_equal(annotations__lost(annotations), 4);
	stripe->next += 1;
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, true), 1);
	assert_int_equal(annotations__lost(annotations), 5);
	end(annotations);
}

static void a_late_writer_keeps_its_event(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_stripe *stripe = own_stripe();

	stripe->slot[0].seq = DWELL_SEQ_CLAIMED(0);
	stripe->next = 1;
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, false), 0);
	stripe->slot[0].seq = DWELL_SEQ_PUBLISHED(0);
	assert_int_equal(drain_count(annotations, false), 2);
	assert_int_equal(annotations__lost(annotations), 0);
	end(annotations);
}

/* The slot of a writer that was killed in it costs one event each time round. */
static void a_claim_is_never_broken(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_stripe *stripe = own_stripe();

	stripe->slot[5].seq = DWELL_SEQ_CLAIMED(5);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < DWELL_SLOTS; i++)
			DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(stripe->slot[5].seq, DWELL_SEQ_CLAIMED(5));
	assert_int_equal(drain_count(annotations, true), DWELL_SLOTS - 1);
	assert_int_equal(annotations__lost(annotations), 2 * DWELL_SLOTS + 1);

	/* A writer that is a round late drops its event. */
	stripe->slot[5].seq = DWELL_SEQ_PUBLISHED(5 + 4 * DWELL_SLOTS);
	stripe->next = 5 + 3 * DWELL_SLOTS;
	DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(stripe->slot[5].seq, DWELL_SEQ_PUBLISHED(5 + 4 * DWELL_SLOTS));
	assert_int_equal(drain_count(annotations, true), 0);
	assert_int_equal(annotations__lost(annotations), 2 * DWELL_SLOTS + 1 + 6);
	end(annotations);
}

static void count(void *context, const struct annotation *event)
{
	++*(size_t *)context;
}

/* Whatever is in the file, a drain is bounded; and the program goes on as well. */
static void nonsense_in_the_file_does_no_harm(void **state)
{
	static const uint64_t nexts[] = {
		UINT64_MAX,  UINT64_MAX - 1,
		1ULL << 63,  (1ULL << 63) - 1,
		1ULL << 62,  DWELL_SLOTS - 1,
		DWELL_SLOTS, DWELL_SLOTS + 1,
		1,	     0,
	};
	struct annotations *annotations = begin();
	struct dwell_area *area = attached();

	srand(1);
	for (uint64_t round = 0; round < 100; round++) {
		size_t n = 0;

		for (size_t i = 0; i < DWELL_STRIPES; i++) {
			struct dwell_stripe *stripe = &area->stripe[i];

			stripe->next = round % 3 ? nexts[(size_t)rand() % ARRAY_SIZE(nexts)]
						 : hash__add(round, i);
			for (size_t j = 0; j < 20; j++) {
				uint64_t random = hash__add(round << 32 | i, j);

				stripe->slot[random % DWELL_SLOTS].seq =
					j % 2 ? random : stripe->next - random % 7;
			}
		}
		area->header.magic = round;
		DWELL_WOKEN_FOR_NOTHING();
		assert_int_equal(annotations__drain(annotations, round % 5 == 0, count, &n), 0);
		assert_true(n <= (size_t)DWELL_STRIPES * DWELL_SLOTS);
	}
	/* What was lost according to the file is more than there are numbers. */
	assert_true(annotations__lost(annotations) == UINT64_MAX);
	end(annotations);
}

/* What was read is not read again, and what comes behind it is. */
static void an_index_that_goes_back_is_waited_for(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_stripe *stripe = own_stripe();

	for (int i = 0; i < 10; i++)
		DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, false), 10);
	stripe->next = 3;
	assert_int_equal(drain_count(annotations, true), 0);
	for (int i = 0; i < 8; i++)
		DWELL_WOKEN_FOR_NOTHING();
	assert_int_equal(drain_count(annotations, true), 1);
	assert_int_equal(annotations__lost(annotations), 0);
	end(annotations);
}

static void a_file_cut_off_is_told(void **state)
{
	struct annotations *annotations = begin();

	assert_int_equal(truncate(annotations__path(annotations), 4096), 0);
	assert_int_equal(annotations__drain(annotations, true, keep, NULL), -EIO);
	end(annotations);
}

static void cut_off(void *context, const struct annotation *event)
{
	unsigned int *events = context;

	++*events;
	assert_int_equal(truncate(getenv(DWELL_ENVIRONMENT), 4096), 0);
}

static void a_file_cut_off_while_it_is_read_is_told(void **state)
{
	struct annotations *annotations = begin();
	struct sigaction before, after;
	unsigned int events = 0;

	for (int i = 0; i < 8; i++)
		DWELL_WOKEN_FOR_NOTHING();
	sigaction(SIGBUS, NULL, &before);
	assert_int_equal(annotations__drain(annotations, true, cut_off, &events), -EIO);
	assert_int_equal(events, 1);
	sigaction(SIGBUS, NULL, &after);
	assert_ptr_equal(after.sa_handler, before.sa_handler);
	end(annotations);
}

static void the_points_cannot_be_cut_off(void **state)
{
	struct annotations *annotations = begin();
	int fd = annotations__trace_points(annotations);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	end(annotations);
}

static void the_program_stops_when_nobody_reads(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_area *area = attached();

	DWELL_WOKEN_FOR_NOTHING();
	annotations__free(annotations);
	DWELL_WOKEN_FOR_NOTHING();
	assert_ptr_equal(dwell_v1_state, DWELL_OFF);
	assert_int_equal(written(area), 1);
	dwell_unmap(area);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_say_what_was_said),
		cmocka_unit_test(the_file_is_private_and_goes_away),
		cmocka_unit_test(what_a_killed_recorder_left_is_removed),
		cmocka_unit_test(the_files_of_other_users_are_removed),
		cmocka_unit_test(a_program_not_recorded_writes_nothing),
		cmocka_unit_test(a_file_that_is_none_of_ours_is_left_alone),
		cmocka_unit_test(threads_that_begin_at_once_share_one_mapping),
		cmocka_unit_test(what_is_overwritten_is_counted),
		cmocka_unit_test(a_hole_holds_up_one_drain),
		cmocka_unit_test(a_late_writer_keeps_its_event),
		cmocka_unit_test(a_claim_is_never_broken),
		cmocka_unit_test(nonsense_in_the_file_does_no_harm),
		cmocka_unit_test(an_index_that_goes_back_is_waited_for),
		cmocka_unit_test(a_file_cut_off_is_told),
		cmocka_unit_test(a_file_cut_off_while_it_is_read_is_told),
		cmocka_unit_test(the_points_cannot_be_cut_off),
		cmocka_unit_test(the_program_stops_when_nobody_reads),
	};

	return cmocka_run_group_tests_name("annotations", tests, NULL, NULL);
}
