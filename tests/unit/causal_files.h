/* SPDX-License-Identifier: BSD-2-Clause */
/* Causal profiles as files, for tests of their reader and writer. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "tests/unit/causal_support.h"

/* Lines of profiles. */
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

/* A file of this test's own; its path is good until it is closed. */
struct scratch_file {
	char path[64];
};

static inline void scratch__remove(struct scratch_file *file)
{
	if (*file->path)
		unlink(file->path);
}
#define _cleanup_scratch_ _cleanup_(scratch__remove)

static inline struct scratch_file scratch__new(void)
{
	struct scratch_file file = {"/tmp/dwell-causal-XXXXXX"};
	int fd = mkstemp(file.path);

	assert_true(fd >= 0);
	close(fd);
	return file;
}

static inline void scratch__put(const struct scratch_file *file, const void *bytes, size_t n)
{
	int fd = open(file->path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static inline void scratch__put_text(const struct scratch_file *file, const char *text)
{
	scratch__put(file, text, strlen(text));
}

/* What is in the file, with a NUL behind it. */
static inline char *scratch__get(const struct scratch_file *file, size_t *n)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	if (n)
		*n = (size_t)st.st_size;
	return bytes;
}

/* Reads it; it has to be readable. */
static inline struct causal_profile *scratch__read(const struct scratch_file *file)
{
	struct causal_profile *profile = NULL;
	int err = causal_profile__read(file->path, &profile);

	if (err)
		fail_msg("%s", error__message(err));
	return profile;
}

/* Writes all of @profile as one run. */
static inline void scratch__write_profile(const struct scratch_file *file,
					  const struct causal_profile *profile, const char *id)
{
	struct causal_run run = profile->runs.data[0];
	struct causal_writer *writer;

	run.id = id;
	assert_int_equal(causal_writer__open(file->path, &run, &writer), 0);
	for (size_t i = 0; i < profile->points.n; i++)
		assert_int_equal(causal_writer__point(writer, &profile->points.data[i]), i);
	for (size_t i = 0; i < profile->targets.n; i++)
		assert_int_equal(causal_writer__target(writer, &profile->targets.data[i]), i);
	for (size_t i = 0; i < profile->experiments.n; i++)
		assert_int_equal(causal_writer__experiment(writer, &profile->experiments.data[i]),
				 0);
	assert_int_equal(causal_writer__end(writer, &run), 0);
	assert_int_equal(causal_writer__close(writer), 0);
}

/* The promises that causal_profile.h makes of what was read. */
static inline void profile__check(const struct causal_profile *profile)
{
	for (size_t i = 0; i < profile->points.n; i++) {
		assert_non_null(profile->points.data[i].name);
		assert_true(profile->points.data[i].kind <= CAUSAL_END_TO_END);
	}
	for (size_t i = 0; i < profile->targets.n; i++) {
		const struct causal_target *target = &profile->targets.data[i];

		assert_true(target->kind <= CAUSAL_CLASS);
		assert_true(target->name && target->file && target->function && target->caller);
	}
	for (size_t i = 0; i < profile->runs.n; i++) {
		const struct causal_run *run = &profile->runs.data[i];

		assert_true(run->id && run->command);
		for (size_t k = 0; k < run->seen.n; k++)
			assert_true(run->seen.data[k].target < profile->targets.n);
		for (size_t k = 0; k < run->places.n; k++)
			assert_true(run->places.data[k].file && run->places.data[k].function);
		for (size_t k = 0; k < run->diagnostics.n; k++)
			assert_non_null(run->diagnostics.data[k]);
	}
	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];
		const struct causal_half *halves[] = {&experiment->with, &experiment->base};

		assert_true(experiment->run < profile->runs.n);
		assert_true(experiment->target < profile->targets.n);
		assert_true(experiment->speedup >= 0 && experiment->speedup <= 1);
		assert_non_null(experiment->also);
		for (int h = 0; h < 2 - experiment->whole_run; h++) {
			assert_true(halves[h]->duration_ns > 0);
			for (uint32_t k = 0; k < halves[h]->n_points; k++) {
				assert_true(halves[h]->points[k].point < profile->points.n);
				assert_true(halves[h]->points[k].occupied_ns >= 0);
			}
		}
	}
}

static inline void profile__assert_visits(const struct causal_half *half,
					  const struct causal_visits *visits, size_t n)
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
