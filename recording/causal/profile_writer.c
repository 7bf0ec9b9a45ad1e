// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
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
#include "base/new_file.h"
#include "recording/causal/profile_lines.h"

/* 12 digits: 0.05 and not 0.050000000000000003. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* Bytes; longer commands are truncated. */
#define COMMAND_MAX (64u << 10)

/* Numbers of points or targets. */
struct id_table {
	struct intern members;
	ARRAY(bool) written; /* by number: its line is in the file */
};

struct causal_writer {
	int fd;
	char *path;
	char *id;
	struct id_table points;
	struct id_table targets;
	bool is_new;   /* there was nothing in the file */
	bool broken;   /* the file does not end with a newline */
	json_t *first; /* the line of the run, written with the next one; NULL: it is */
};

static void id_table_free(struct id_table *table)
{
	intern__free(&table->members);
	array__free(&table->written);
}

static void writer_free(struct causal_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	json_decref(writer->first);
	free(writer->path);
	free(writer->id);
	id_table_free(&writer->points);
	id_table_free(&writer->targets);
	free(writer);
}

DEFINE_CLEANUP(struct causal_writer *, writer_free)

/* Writes all bytes, with one write() unless the disk is full. */
static int write_bytes(struct causal_writer *writer, const char *bytes, size_t n)
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

/* Writes @line (NULL: out of memory) and frees it. 0 or -errno. */
static int put_line(struct causal_writer *writer, json_t *line)
{
	_cleanup_free_ char *text = NULL;
	size_t n = line ? json_dumpb(line, NULL, 0, DUMP_FLAGS) : 0;
	int err = -ENOMEM;

	/* With room for a newline before and after. */
	text = n ? malloc(n + 2) : NULL;
	if (text && json_dumpb(line, text + 1, n, DUMP_FLAGS) == n) {
		bool broken = writer->broken;

		text[0] = text[n + 1] = '\n';
		err = n > CAUSAL_LINE_MAX
			      ? error__set(-E2BIG, "a line of %zu bytes is too long for %s", n,
					   writer->path)
			      : write_bytes(writer, broken ? text : text + 1,
					    broken ? n + 2 : n + 1);
	}
	json_decref(line);
	return err;
}

/* The same, after the line of the run. */
static int write_line(struct causal_writer *writer, json_t *line)
{
	json_t *first = TAKE_PTR(writer->first);
	int err = first ? put_line(writer, first) : 0;

	if (!err)
		return put_line(writer, line);
	json_decref(line);
	return err;
}

/* The size of the UTF-8 character at @text in bytes, 0 if it is invalid. */
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

/* JSON must be UTF-8, and names need not be: escapes invalid bytes as \xNN. */
static json_t *json_utf8(const char *text)
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

static json_t *json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *json_finite(double value)
{
	return json_real(isfinite(value) ? value : 0);
}

/* A line of @type, for more members to be added. */
static json_t *new_line(const struct causal_writer *writer, const char *type)
{
	return json_pack("{ss so}", "type", type, "run", json_utf8(writer->id));
}

static json_t *run_line(const struct causal_writer *writer, const struct causal_run *run)
{
	_cleanup_free_ char *command = strndup(run->command ? run->command : "", COMMAND_MAX);

	if (!command)
		return NULL;
	return json_pack("{ss si so so so so}", "type", "run", "version", CAUSAL_FORMAT_VERSION,
			 "run", json_utf8(writer->id), "command", json_utf8(command),
			 "start_realtime", json_count(run->start_realtime), "period_ns",
			 json_count(run->period_ns));
}

static char *make_id(void)
{
	uint64_t number = 0;
	char *id = NULL;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	return asprintf(&id, "%016llx", (unsigned long long)number) < 0 ? NULL : id;
}

/* Checks that the existing file is a causal profile. */
static int check_existing(struct causal_writer *writer)
{
	struct stat st;
	char head[4096], last = '\n';
	ssize_t n;

	if (fstat(writer->fd, &st))
		return error__errno(-errno, "cannot write to %s", writer->path);
	writer->is_new = !S_ISREG(st.st_mode) || !st.st_size;
	if (writer->is_new)
		return 0;
	n = pread(writer->fd, head, sizeof(head), 0);
	if (n < 0 || pread(writer->fd, &last, 1, st.st_size - 1) < 0)
		return error__errno(-errno, "cannot read what is in %s already", writer->path);
	writer->broken = last != '\n';
	return causal_profile__recognize(writer->path, head, (size_t)n);
}

static int open_file(struct causal_writer *writer)
{
	struct new_file file;
	struct stat there;
	int err = new_file__find(writer->path, &file, &there);

	if (err)
		return err;
	err = new_file__open_own(&file, writer->path, &writer->fd);
	new_file__free(&file);
	return err;
}

int causal_writer__open(const char *path, const struct causal_run *run, struct causal_writer **out)
{
	_cleanup_(writer_freep) struct causal_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return -ENOMEM;
	writer->fd = -1;
	writer->path = strdup(path);
	writer->id = run->id ? strdup(run->id) : make_id();
	if (!writer->path || !writer->id)
		return -ENOMEM;
	err = open_file(writer);
	err = err ? err : check_existing(writer);
	if (err)
		return err;
	writer->first = run_line(writer, run);
	if (!writer->first)
		return -ENOMEM;
	*out = TAKE_PTR(writer);
	return 0;
}

bool causal_writer__is_new(const struct causal_writer *writer)
{
	return writer->is_new;
}

/* The number of the point or target with @members, added if it is new; or -ENOMEM. */
static int64_t id_table_find(struct id_table *table, const json_t *members)
{
	_cleanup_free_ char *key = members ? json_dumps(members, JSON_COMPACT) : NULL;
	int64_t number = key ? intern__id(&table->members, key, strlen(key), NULL) : -ENOMEM;

	if (number >= (int64_t)table->written.n && array__push(&table->written, false))
		return -ENOMEM;
	return number;
}

/* The number of @members; writes a line of @type that defines it if there is none yet. */
static int write_definition(struct causal_writer *writer, struct id_table *table, const char *type,
			    const json_t *members)
{
	int64_t number = id_table_find(table, members);
	json_t *line;
	int err;

	if (number < 0 || table->written.data[number])
		return (int)number;
	line = new_line(writer, type);
	json_object_set_new(line, "id", json_integer(number));
	json_object_update(line, (json_t *)members);
	err = write_line(writer, line);
	if (err)
		return err;
	table->written.data[number] = true;
	return (int)number;
}

int causal_writer__point(struct causal_writer *writer, const struct causal_point *point)
{
	_cleanup_(json_decrefp) json_t *members =
		json_pack("{so ss}", "name", json_utf8(point->name), "kind",
			  causal_point_kind__name(point->kind));

	return write_definition(writer, &writer->points, "point", members);
}

int causal_writer__target(struct causal_writer *writer, const struct causal_target *target)
{
	_cleanup_(json_decrefp) json_t *members =
		json_pack("{ss so so so so so sb}", "kind", causal_target_kind__name(target->kind),
			  "name", json_utf8(target->name), "file", json_utf8(target->file), "line",
			  json_count(target->line), "function", json_utf8(target->function),
			  "caller", json_utf8(target->caller), "inclusive", target->inclusive);

	return write_definition(writer, &writer->targets, "target", members);
}

static json_t *visits_to_json(const struct causal_visits *visits)
{
	json_t *entry = json_pack("[oo]", json_count(visits->point), json_count(visits->visits));
	/* Pauses may exceed the time that they are in (then it is negative). 0 means unknown. */
	uint64_t span_ns = visits->span_ns > INT64_MAX ? 1 : visits->span_ns;

	if (!span_ns && !visits->ends && !(visits->occupied_ns > 0))
		return entry;
	json_array_append_new(entry, json_count(span_ns));
	if (!visits->ends && !(visits->occupied_ns > 0))
		return entry;
	json_array_append_new(entry, json_count(visits->ends));
	json_array_append_new(entry, json_finite(fmax(visits->occupied_ns, 0)));
	return entry;
}

static json_t *half_to_json(const struct causal_half *half)
{
	json_t *points = json_array(), *value;

	for (uint32_t i = 0; i < half->n_points; i++) {
		const struct causal_visits *visits = &half->points[i];

		if (visits->visits || visits->ends || visits->occupied_ns > 0)
			json_array_append_new(points, visits_to_json(visits));
	}
	value = json_pack("{so so so}", "duration_ns", json_count(half->duration_ns), "delay_ns",
			  json_count(half->delay_ns), "hit_ns", json_count(half->hit_ns));
	if (half->in_flight_ns)
		json_object_set_new(value, "in_flight_ns", json_count(half->in_flight_ns));
	json_object_set_new(value, "points", points);
	return value;
}

int causal_writer__experiment(struct causal_writer *writer,
			      const struct causal_experiment *experiment)
{
	json_t *line = new_line(writer, "experiment");

	json_object_set_new(line, "target", json_count(experiment->target));
	json_object_set_new(line, "speedup", json_finite(experiment->speedup));
	if (experiment->also && *experiment->also)
		json_object_set_new(line, "also", json_utf8(experiment->also));
	json_object_set_new(line, "at_ns", json_count(experiment->at_ns));
	if (!experiment->whole_run)
		json_object_set_new(line, "base", half_to_json(&experiment->base));
	json_object_set_new(line, "with", half_to_json(&experiment->with));
	return write_line(writer, line);
}

int causal_writer__pause_test(struct causal_writer *writer, const struct causal_pause_test *test)
{
	json_t *line = new_line(writer, "pause-test"), *outside = json_array();

	for (int i = 0; i < CAUSAL_OUTSIDES; i++)
		json_array_append_new(outside, json_count(test->outside_ns[i]));
	json_object_set_new(line, "share", json_finite(test->share));
	json_object_set_new(line, "at_ns", json_count(test->at_ns));
	json_object_set_new(line, "outside_ns", outside);
	json_object_set_new(line, "base", half_to_json(&test->base));
	json_object_set_new(line, "with", half_to_json(&test->with));
	return write_line(writer, line);
}

int causal_writer__probe(struct causal_writer *writer, const struct causal_probe *probe)
{
	json_t *line = new_line(writer, "probe");

	json_object_set_new(line, "point", json_count(probe->point));
	json_object_set_new(line, "ns", json_count(probe->ns));
	return write_line(writer, line);
}

int causal_writer__request(struct causal_writer *writer, const struct causal_request *request)
{
	json_t *line = new_line(writer, "request"), *speedups = json_array();

	for (uint32_t i = 0; i < request->n_speedups; i++)
		json_array_append_new(speedups, json_finite(request->speedups[i]));
	json_object_set_new(line, "target", json_count(request->target));
	json_object_set_new(line, "speedups", speedups);
	return write_line(writer, line);
}

int causal_writer__build(struct causal_writer *writer, const struct causal_build *build)
{
	json_t *line = new_line(writer, "build");

	json_object_set_new(line, "path", json_utf8(build->path));
	json_object_set_new(line, "id", json_utf8(build->id));
	return write_line(writer, line);
}

static int write_unpaused(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->unpaused.n && !err; i++) {
		const struct causal_unpaused_count *count = &run->unpaused.data[i];
		json_t *line = new_line(writer, "unpaused");

		json_object_set_new(line, "reason", json_utf8(count->reason));
		json_object_set_new(line, "tid", json_count(count->tid));
		json_object_set_new(line, "times", json_count(count->times));
		err = write_line(writer, line);
	}
	return err;
}

static int write_seen(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->seen.n && !err; i++) {
		json_t *line = new_line(writer, "seen");

		json_object_set_new(line, "target", json_count(run->seen.data[i].target));
		json_object_set_new(line, "ns", json_count(run->seen.data[i].ns));
		err = write_line(writer, line);
	}
	return err;
}

static int write_places(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->places.n && !err; i++) {
		const struct causal_place *place = &run->places.data[i];
		json_t *line = new_line(writer, "place");

		json_object_set_new(line, "file", json_utf8(place->file));
		json_object_set_new(line, "line", json_count(place->line));
		json_object_set_new(line, "function", json_utf8(place->function));
		json_object_set_new(line, "ns", json_count(place->ns));
		err = write_line(writer, line);
	}
	return err;
}

static int write_diagnostics(struct causal_writer *writer, const struct causal_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->diagnostics.n && !err; i++) {
		json_t *line = new_line(writer, "trouble");

		json_object_set_new(line, "text", json_utf8(run->diagnostics.data[i]));
		err = write_line(writer, line);
	}
	return err;
}

int causal_writer__end(struct causal_writer *writer, const struct causal_run *run)
{
	int err = write_seen(writer, run);
	json_t *line;

	err = err ? err : write_places(writer, run);
	err = err ? err : write_diagnostics(writer, run);
	err = err ? err : write_unpaused(writer, run);
	if (err)
		return err;
	line = new_line(writer, "end");
	json_object_set_new(line, "runtime_ns", json_count(run->runtime_ns));
	json_object_set_new(line, "delay_ns", json_count(run->delay_ns));
	json_object_set_new(line, "pauses", json_count(run->pauses));
	json_object_set_new(line, "sampled_ns", json_count(run->sampled_ns));
	json_object_set_new(line, "status", json_integer(run->status));
	return write_line(writer, line);
}

int causal_writer__close(struct causal_writer *writer)
{
	int fd = writer->fd, err;

	writer->fd = -1;
	err = close(fd) ? error__errno(-errno, "cannot write to %s", writer->path) : 0;
	writer_free(writer);
	return err;
}
