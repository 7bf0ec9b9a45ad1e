// SPDX-License-Identifier: BSD-2-Clause
/* Records reach all sinks of a stream: a model that takes them is the one that is loaded from the
 * file. */
#include "tests/unit/random_recording.h"

#include <errno.h>

#include "base/error.h"
#include "model/model_builder.h"
#include "tests/unit/rounds.h"

static void assert_same_samples(const struct model_thread *a, const struct model_thread *b)
{
	assert_int_equal(a->samples.n, b->samples.n);
	for (size_t i = 0; i < a->samples.n; i++) {
		assert_true(a->samples.data[i].time == b->samples.data[i].time);
		assert_int_equal(a->samples.data[i].weight, b->samples.data[i].weight);
		assert_int_equal(a->samples.data[i].user, b->samples.data[i].user);
	}
}

static void assert_same_intervals(const struct model_thread *a, const struct model_thread *b)
{
	assert_int_equal(a->intervals.n, b->intervals.n);
	for (size_t i = 0; i < a->intervals.n; i++) {
		const struct model_interval *x = &a->intervals.data[i], *y = &b->intervals.data[i];

		assert_true(x->t_out == y->t_out && x->blocked_ns == y->blocked_ns);
		assert_int_equal(x->kernel, y->kernel);
		assert_int_equal(x->object, y->object);
		assert_int_equal(x->waker, y->waker);
		assert_int_equal(x->wake, y->wake);
	}
}

static void assert_same_models(const struct model *a, const struct model *b)
{
	assert_true(a->start == b->start && a->end == b->end);
	assert_int_equal(a->threads.n, b->threads.n);
	assert_int_equal(a->processes.n, b->processes.n);
	assert_int_equal(a->dsos.n, b->dsos.n);
	assert_int_equal(a->objects.n, b->objects.n);
	assert_int_equal(a->stacks.n, b->stacks.n);
	assert_int_equal(a->locations.n, b->locations.n);
	for (size_t i = 0; i < a->threads.n; i++) {
		assert_int_equal(a->threads.data[i].tid, b->threads.data[i].tid);
		assert_int_equal(a->threads.data[i].process, b->threads.data[i].process);
		assert_same_samples(&a->threads.data[i], &b->threads.data[i]);
		assert_same_intervals(&a->threads.data[i], &b->threads.data[i]);
	}
}

static void a_model_is_that_of_the_file(void **state)
{
	for (unsigned int seed = 1; seed <= rounds(200); seed++) {
		struct dice dice = {.state = seed};
		char path[] = "/tmp/dwell-stream-XXXXXX";
		_cleanup_(model_builder__freep) struct model_builder *builder = NULL;
		_cleanup_model_ struct model *loaded = NULL, *built = NULL;
		struct recording_writer *writer;
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(model_builder__new(&builder), 0);
		assert_int_equal(recording_writer__create(path, &writer), 0);
		record_stream__add_sink(recording_writer__stream(writer),
					&(struct record_sink){model_builder__add, builder});
		put_facts(writer, &dice);
		for (int i = 0; i < 300; i++) {
			struct record record = dice__record(&dice, writer);

			tame(&record);
			assert_int_equal(
				record_stream__put(recording_writer__stream(writer), &record), 0);
		}
		assert_int_equal(recording_writer__close(writer), 0);
		assert_int_equal(model__load(path, &loaded), 0);
		assert_int_equal(model_builder__finish(builder, NULL, &built), 0);
		assert_same_models(loaded, built);
		unlink(path);
	}
}

static int refuse(void *arg, const struct record *record)
{
	return error__set(-EIO, "refused");
}

static int count(void *arg, const struct record *record)
{
	++*(unsigned int *)arg;
	return 0;
}

/* One that fails does not keep records from the others. */
static void a_sink_that_fails_is_told(void **state)
{
	unsigned int taken = 0;
	const struct record_sink sinks[] = {{refuse, NULL}, {count, &taken}};
	const struct record record = {.type = RECORD_COMM, .comm = {.thread = 1}};
	struct record_stream *stream;

	assert_int_equal(record_stream__new(&stream), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sinks); i++)
		record_stream__add_sink(stream, &sinks[i]);
	assert_int_equal(record_stream__string(stream, "a"), 1);
	assert_int_equal(record_stream__string(stream, "a"), 1);
	assert_int_equal(record_stream__put(stream, &record), -EIO);
	assert_int_equal(taken, 2);
	assert_int_equal(record_stream__error(stream), 0);
	record_stream__free(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_is_that_of_the_file),
		cmocka_unit_test(a_sink_that_fails_is_told),
	};

	return cmocka_run_group_tests_name("record_stream", tests, NULL, NULL);
}
