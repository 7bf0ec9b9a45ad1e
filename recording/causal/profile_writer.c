// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/owner.h"
#include "recording/causal/profile_lines.h"

/* Times to a millionth, and 0.05 not 0.050000000000000003. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* A longer command is cut. */
#define COMMAND_MAX (64u << 10)

/* What has a number. */
struct numbered {
	struct intern members;
	ARRAY(bool) written; /* by number: its line is in the file */
};

struct causal_writer {
	int fd;
	char *path;
	char *id;
	struct numbered points;
	struct numbered targets;
	bool broken; /* what is in the file before the next line does not end with one */
};

static void numbered__free(struct numbered *table)
{
	intern__free(&table->members);
	array__free(&table->written);
}

static void writer__free(struct causal_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->path);
	free(writer->id);
	numbered__free(&writer->points);
	numbered__free(&writer->targets);
	free(writer);
}

DEFINE_CLEANUP(struct causal_writer *, writer__free)

/* Writes all of it, in one go but for a full disk. */
static int writer__write(struct causal_writer *writer, const char *bytes, size_t n)
{
	int err;

	while (n) {
		ssize_t done = write(writer->fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			err = done ? -errno : -EIO;
			error__errno(err, "cannot write to %s", writer->path);
			if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
				error__hint("Make room, or name a file elsewhere: -o FILE. The "
					    "experiments in there so far can be read.");
			return err;
		}
		writer->broken = true;
		bytes += done;
		n -= (size_t)done;
	}
	writer->broken = false;
	return 0;
}

/* Writes @line, and releases it; NULL stands for out of memory. */
static int writer__line(struct causal_writer *writer, json_t *line)
{
	_cleanup_free_ char *text = NULL;
	size_t n = line ? json_dumpb(line, NULL, 0, DUMP_FLAGS) : 0;
	int err = -ENOMEM;

	/* With room for the end of a line before and behind it. */
	text = n ? malloc(n + 2) : NULL;
	if (text && json_dumpb(line, text + 1, n, DUMP_FLAGS) == n) {
		bool broken = writer->broken;

		text[0] = text[n + 1] = '\n';
		err = n > CAUSAL_LINE_MAX
			      ? error__set(-E2BIG, "a line of %zu bytes is too long for %s", n,
					   writer->path)
			      : writer__write(writer, broken ? text : text + 1,
					      broken ? n + 2 : n + 1);
	}
	json_decref(line);
	return err;
}

/* Bytes of the UTF-8 character at @text, 0: it is none. */
static size_t character(const char *text)
{
	char with_end[5] = {};

	for (size_t n = 1; n < sizeof(with_end); n++) {
		json_t *value;

		with_end[n - 1] = text[n - 1];
		if (!with_end[n - 1])
			return 0;
		value = json_string(with_end);
		json_decref(value);
		if (value)
			return n;
	}
	return 0;
}

/* Names of a program can be anything, JSON is UTF-8: other bytes become \xNN. */
static json_t *json__text(const char *text)
{
	_cleanup_(buffer__free) struct buffer safe = {};
	json_t *value;
	char escape[5];

	if (!text)
		text = "";
	value = json_string(text);
	if (value)
		return value;
	while (*text) {
		size_t n = character(text);

		snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)*text);
		buffer__put(&safe, n ? text : escape, n ? n : 4);
		text += n ? n : 1;
	}
	return safe.failed ? NULL : json_stringn((const char *)safe.data, safe.n);
}

static json_t *json__count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *json__real(double value)
{
	return json_real(isfinite(value) ? value : 0);
}

/* A line's beginning. */
static json_t *line__new(const struct causal_writer *writer, const char *type)
{
	return json_pack("{ss so}", "type", type, "run", json__text(writer->id));
}

static json_t *line__of_run(const struct causal_writer *writer, const struct causal_run *run)
{
	_cleanup_free_ char *command = strndup(run->command ? run->command : "", COMMAND_MAX);

	if (!command)
		return NULL;
	return json_pack("{ss si so so so so}", "type", "run", "version", CAUSAL_FORMAT_VERSION,
			 "run", json__text(writer->id), "command", json__text(command),
			 "start_realtime", json__count(run->start_realtime), "period_ns",
			 json__count(run->period_ns));
}

static char *make_id(void)
{
	uint64_t number = 0;
	char *id = NULL;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	return asprintf(&id, "%016llx", (unsigned long long)number) < 0 ? NULL : id;
}

/* Sees whether what is there can be added to. */
static int writer__check(struct causal_writer *writer)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char head[4096], last = '\n';
	ssize_t n;

	if (fstat(writer->fd, &st))
		return error__errno(-errno, "cannot write to %s", writer->path);
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	fd = open(writer->path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (n < 0 || pread(fd, &last, 1, st.st_size - 1) < 0)
		return error__errno(-errno, "cannot read what is in %s already", writer->path);
	writer->broken = last != '\n';
	return causal_profile__recognize(writer->path, head, (size_t)n);
}

static int writer__open_file(struct causal_writer *writer)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
	int err;

	writer->fd = open(writer->path, flags | O_CREAT | O_EXCL, 0666);
	if (writer->fd >= 0)
		(void)owner__give(writer->fd); /* root can write to it in any case */
	else if (errno == EEXIST)	       /* which keeps its owner */
		writer->fd = open(writer->path, flags);
	if (writer->fd >= 0)
		return 0;
	err = error__errno(-errno, "cannot write to %s", writer->path);
	error__hint(err == -EISDIR ? "It is a directory. Name a file in it: -o FILE"
				   : "Name a file elsewhere: -o FILE");
	return err;
}

int causal_writer__open(const char *path, const struct causal_run *run, struct causal_writer **out)
{
	_cleanup_(writer__freep) struct causal_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return -ENOMEM;
	writer->fd = -1;
	writer->path = strdup(path);
	writer->id = run->id ? strdup(run->id) : make_id();
	if (!writer->path || !writer->id)
		return -ENOMEM;
	err = writer__open_file(writer);
	err = err ? err : writer__check(writer);
	err = err ? err : writer__line(writer, line__of_run(writer, run));
	if (err)
		return err;
	*out = TAKE_PTR(writer);
	return 0;
}

/* The number of what @members gives, or -ENOMEM. */
static int64_t numbered__find(struct numbered *table, const json_t *members)
{
	_cleanup_free_ char *key = members ? json_dumps(members, JSON_COMPACT) : NULL;
	int64_t number = key ? intern__id(&table->members, key, strlen(key), NULL) : -ENOMEM;

	if (number >= (int64_t)table->written.n && array__push(&table->written, false))
		return -ENOMEM;
	return number;
}

/* Gives @members a number, and writes a line of @type about it unless there is one. */
static int writer__define(struct causal_writer *writer, struct numbered *table, const char *type,
			  const json_t *members)
{
	int64_t number = numbered__find(table, members);
	json_t *line;
	int err;

	if (number < 0 || table->written.data[number])
		return (int)number;
	line = line__new(writer, type);
	json_object_set_new(line, "id", json_integer(number));
	json_object_update(line, (json_t *)members);
	err = writer__line(writer, line);
	if (err)
		return err;
	table->written.data[number] = true;
	return (int)number;
}

int causal_writer__point(struct causal_writer *writer, const struct causal_point *point)
{
	_cleanup_(json_decrefp) json_t *members =
		json_pack("{so ss}", "name", json__text(point->name), "kind",
			  causal_point_kind__name(point->kind));

	return writer__define(writer, &writer->points, "point", members);
}

int causal_writer__target(struct causal_writer *writer, const struct causal_target *target)
{
	_cleanup_(json_decrefp) json_t *members = json_pack(
		"{ss so so so so so sb}", "kind", causal_target_kind__name(target->kind), "name",
		json__text(target->name), "file", json__text(target->file), "line",
		json__count(target->line), "function", json__text(target->function), "caller",
		json__text(target->caller), "inclusive", target->inclusive);

	return writer__define(writer, &writer->targets, "target", members);
}

static json_t *json__visits(const struct causal_visits *visits)
{
	json_t *entry = json_pack("[oo]", json__count(visits->point), json__count(visits->visits));
	/* Pauses can be a little longer than the time they are in; 0 would say "unknown". */
	uint64_t span_ns = visits->span_ns > INT64_MAX ? 1 : visits->span_ns;

	if (!span_ns && !visits->ends && !(visits->occupied_ns > 0))
		return entry;
	json_array_append_new(entry, json__count(span_ns));
	if (!visits->ends && !(visits->occupied_ns > 0))
		return entry;
	json_array_append_new(entry, json__count(visits->ends));
	json_array_append_new(entry, json__real(visits->occupied_ns));
	return entry;
}

static json_t *json__half(const struct causal_half *half)
{
	json_t *points = json_array();

	for (uint32_t i = 0; i < half->n_points; i++) {
		const struct causal_visits *visits = &half->points[i];

		if (visits->visits || visits->ends || visits->occupied_ns > 0)
			json_array_append_new(points, json__visits(visits));
	}
	return json_pack("{so so so so}", "duration_ns", json__count(half->duration_ns), "delay_ns",
			 json__count(half->delay_ns), "hit_ns", json__count(half->hit_ns), "points",
			 points);
}

int causal_writer__experiment(struct causal_writer *writer,
			      const struct causal_experiment *experiment)
{
	json_t *line = line__new(writer, "experiment");

	json_object_set_new(line, "target", json__count(experiment->target));
	json_object_set_new(line, "speedup", json__real(experiment->speedup));
	if (experiment->also && *experiment->also)
		json_object_set_new(line, "also", json__text(experiment->also));
	json_object_set_new(line, "at_ns", json__count(experiment->at_ns));
	if (!experiment->whole_run)
		json_object_set_new(line, "base", json__half(&experiment->base));
	json_object_set_new(line, "with", json__half(&experiment->with));
	return writer__line(writer, line);
}

static int writer__tell_seen(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->seen.n && !err; i++) {
		json_t *line = line__new(writer, "seen");

		json_object_set_new(line, "target", json__count(run->seen.data[i].target));
		json_object_set_new(line, "ns", json__count(run->seen.data[i].ns));
		err = writer__line(writer, line);
	}
	return err;
}

static int writer__tell_places(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->places.n && !err; i++) {
		const struct causal_place *place = &run->places.data[i];
		json_t *line = line__new(writer, "place");

		json_object_set_new(line, "file", json__text(place->file));
		json_object_set_new(line, "line", json__count(place->line));
		json_object_set_new(line, "function", json__text(place->function));
		json_object_set_new(line, "ns", json__count(place->ns));
		err = writer__line(writer, line);
	}
	return err;
}

static int writer__tell_troubles(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->troubles.n && !err; i++) {
		json_t *line = line__new(writer, "trouble");

		json_object_set_new(line, "text", json__text(run->troubles.data[i]));
		err = writer__line(writer, line);
	}
	return err;
}

int causal_writer__end(struct causal_writer *writer, const struct causal_run *run)
{
	int err = writer__tell_seen(writer, run);
	json_t *line;

	err = err ? err : writer__tell_places(writer, run);
	err = err ? err : writer__tell_troubles(writer, run);
	if (err)
		return err;
	line = line__new(writer, "end");
	json_object_set_new(line, "runtime_ns", json__count(run->runtime_ns));
	json_object_set_new(line, "delay_ns", json__count(run->delay_ns));
	json_object_set_new(line, "sampled_ns", json__count(run->sampled_ns));
	json_object_set_new(line, "status", json_integer(run->status));
	return writer__line(writer, line);
}

int causal_writer__close(struct causal_writer *writer)
{
	int fd = writer->fd, err;

	writer->fd = -1;
	err = close(fd) ? error__errno(-errno, "cannot write to %s", writer->path) : 0;
	writer__free(writer);
	return err;
}
