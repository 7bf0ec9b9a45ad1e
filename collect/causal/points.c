// SPDX-License-Identifier: BSD-2-Clause
#include "collect/causal/points.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "collect/core/uprobe.h"

/* What a visit takes to count, as measured in a virtual machine. */
#define UPROBE_NS	  750
#define UPROBE_STEPPED_NS 16000
#define BREAKPOINT_NS	  14000
#define COSTLY_PART	  20 /* of the run is worth telling */

/* A point given by name. */
struct named_point {
	const char *text;
	struct causal_aim aim;
	bool sampled;
	bool found;
	int number;   /* of virtual time's point; -1: sampled */
	int sample;   /* of virtual time's target */
	int refused;  /* what the kernel said to counting its visits */
	bool stepped; /* a uprobe of it is one that the kernel has to step over */
	/* By breakpoints, in each process that maps the file. */
	struct causal_entries breaks;
	size_t followed; /* mappings looked at */
	bool counted;	 /* in one of them, at least */
};

/* Code that a process has mapped, until the points in it are set there. */
struct followed_mapping {
	uint32_t pid;
	uint32_t origin;
	uint64_t start;
	uint64_t size;
	uint64_t offset;
};

struct causal_points {
	const struct causal_config *config;
	struct virtual_time *vtime;
	struct causal_files *files;
	struct causal_targets *targets;
	ARRAY(struct named_point) named;
	struct experiment_points experimented;
	ARRAY(struct followed_mapping) mappings;
	uint32_t known;	     /* of virtual time's points */
	struct map64 broken; /* by process, place and point */
};

static int add_named(struct causal_points *points, const struct causal_texts *texts, bool sampled)
{
	for (size_t i = 0; i < texts->texts.n; i++) {
		struct named_point point = {
			.text = texts->texts.data[i],
			.sampled = sampled,
			.number = -1,
		};
		int err = causal_aim__parse(point.text, &point.aim);

		if (!err && sampled && point.aim.probe)
			err = error__set(-EINVAL, "'%s' is no code that could be sampled",
					 point.text);
		if (!err && sampled) {
			point.sample = causal_targets__reserve(points->targets);
			if (point.sample < 0)
				err = error__set(-EINVAL, "there are too many sampled progress "
							  "points and targets sped up besides");
		}
		if (!err)
			err = array__push(&points->named, point);
		if (err)
			return causal_aim__free(&point.aim), err;
	}
	return 0;
}

int causal_points__new(const struct causal_config *config, struct virtual_time *vtime,
		       struct causal_files *files, struct causal_targets *targets,
		       struct causal_points **out)
{
	_cleanup_(causal_points__freep) struct causal_points *points = calloc(1, sizeof(*points));
	int err;

	if (!points)
		return -ENOMEM;
	points->config = config;
	points->vtime = vtime;
	points->files = files;
	points->targets = targets;
	err = add_named(points, &config->progress, false);
	if (!err)
		err = add_named(points, &config->progress_seen, true);
	if (err)
		return err;
	*out = TAKE_PTR(points);
	return 0;
}

static int find_sampled(struct causal_points *points, struct named_point *point)
{
	struct causal_ranges ranges = {}, callers = {};
	struct virtual_time_target target = {.match = CAUSAL_MATCH_STACK};
	struct code_place place;
	int err = causal_files__find(points->files, &point->aim, &ranges, &callers, &place);

	if (!err) {
		target.ranges = ranges.ranges.data;
		target.n_ranges = ranges.ranges.n;
		target.callers = callers.ranges.data;
		target.n_callers = callers.ranges.n;
		err = virtual_time__set_target(points->vtime, (uint32_t)point->sample, &target);
	}
	array__free(&ranges.ranges);
	array__free(&callers.ranges);
	return err;
}

static int break_at(struct causal_points *points, pid_t pid, uint64_t address, uint32_t number);

/* In copies of a process that @task, one of its threads (in @tasks), made before. */
static void break_in_children(struct causal_points *points, int tasks, const char *task,
			      uint64_t address, uint32_t number)
{
	_cleanup_fclose_ FILE *children = NULL;
	char name[NAME_MAX + sizeof("/children")];
	int fd, child;

	snprintf(name, sizeof(name), "%s/children", task);
	fd = openat(tasks, name, O_RDONLY | O_CLOEXEC);
	children = fd < 0 ? NULL : fdopen(fd, "r");
	while (children && fscanf(children, "%d", &child) == 1)
		(void)break_at(points, child, address, number);
}

/*
 * In all threads of @pid that there are, and of its copies; those that they create from now on
 * inherit it.
 */
static int break_at(struct causal_points *points, pid_t pid, uint64_t address, uint32_t number)
{
	const uint64_t key = hash__add(hash__add(hash__mix((uint64_t)pid), address), number);
	const struct dirent *task;
	int err = -ESRCH;
	bool any = false;
	char name[64];
	DIR *tasks;

	/* A program that begins anew in the same process has kept it. */
	if (map64__get(&points->broken, key))
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	tasks = opendir(name);
	if (!tasks)
		return -ESRCH;
	while ((task = readdir(tasks)) && (!err || err == -ESRCH)) {
		if (task->d_name[0] == '.')
			continue;
		break_in_children(points, dirfd(tasks), task->d_name, address, number);
		err = virtual_time__count_by_breakpoint(
			points->vtime, (pid_t)strtol(task->d_name, NULL, 10), address, number);
		any |= !err;
	}
	closedir(tasks);
	if (any)
		map64__put(&points->broken, key, 1);
	return any && err == -ESRCH ? 0 : err;
}

/* A process has made @mapping: stops at what it has of @point's code. */
static void break_in(struct causal_points *points, struct named_point *point,
		     const struct followed_mapping *mapping)
{
	for (size_t i = 0; i < point->breaks.entries.n; i++) {
		const struct causal_entry *entry = &point->breaks.entries.data[i];
		uint64_t in = entry->offset - mapping->offset;
		int err;

		if (entry->origin != mapping->origin || in >= mapping->size)
			continue;
		err = break_at(points, (pid_t)mapping->pid, mapping->start + in,
			       (uint32_t)point->number);
		if (!err)
			point->counted = true;
		else if (err != -ESRCH) /* else it is gone */
			point->refused = err;
	}
}

void causal_points__mapping(struct causal_points *points, const struct code_mapping *mapping)
{
	const struct followed_mapping added = {
		.pid = mapping->pid,
		.origin = mapping->origin->number,
		.start = mapping->start,
		.size = mapping->size,
		.offset = mapping->offset,
	};

	if (points->named.n && mapping->origin->kind == CODE_FILE)
		(void)array__push(&points->mappings, added);
}

bool causal_points__follow(struct causal_points *points)
{
	bool follows = false, all_found = true;

	for (size_t i = 0; i < points->named.n; i++) {
		struct named_point *point = &points->named.data[i];

		all_found &= point->found;
		if (!point->breaks.entries.n)
			continue;
		follows = true;
		for (; point->followed < points->mappings.n; point->followed++)
			break_in(points, point, &points->mappings.data[point->followed]);
	}
	if (!all_found) /* one that is, later, has to look at all of them */
		return follows;
	points->mappings.n = 0;
	for (size_t i = 0; i < points->named.n; i++)
		points->named.data[i].followed = 0;
	return follows;
}

static int count_by_uprobe(struct causal_points *points, struct named_point *point,
			   const struct causal_entry *entry)
{
	uint8_t code[UPROBE_CODE];
	ssize_t n = pread(entry->fd, code, sizeof(code), (off_t)entry->offset);
	const struct uprobe_place place = uprobe__place(code, n > 0 ? (size_t)n : 0);
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", entry->fd);
	err = virtual_time__count_by_uprobe(points->vtime, path, entry->offset + place.skip,
					    entry->semaphore, (uint32_t)point->number);
	if (err)
		return err;
	point->counted = true;
	point->stepped |= place.stepped;
	return 0;
}

/*
 * Counts visits by the cheapest means there is: that is a uprobe, of a probe or of other code.
 * Where there are none, by breakpoints, once somebody maps it.
 */
static int count_visits(struct causal_points *points, struct named_point *point,
			const struct causal_entry *entry)
{
	int err = points->config->breakpoints ? -ENOTSUP : count_by_uprobe(points, point, entry);

	if (!err)
		return 0;
	/* A probe with a semaphore is skipped while the semaphore is 0. */
	if (entry->semaphore)
		point->refused = err;
	else if (array__push(&point->breaks.entries, *entry))
		return -ENOMEM;
	return 0;
}

static int find_counted(struct causal_points *points, struct named_point *point)
{
	struct causal_entries entries = {};
	int err = causal_files__entries(points->files, &point->aim, &entries);

	if (!err && point->number < 0) {
		point->number = virtual_time__claim_point(points->vtime, DWELL_POINT_THROUGHPUT,
							  point->text);
		if (point->number < 0)
			err = error__set(-EINVAL, "there are too many progress points");
	}
	for (size_t i = 0; i < entries.entries.n && !err; i++)
		err = count_visits(points, point, &entries.entries.data[i]);
	array__free(&entries.entries);
	return err;
}

int causal_points__find(struct causal_points *points)
{
	for (size_t i = 0; i < points->named.n; i++) {
		struct named_point *point = &points->named.data[i];
		int err;

		if (point->found)
			continue;
		err = point->sampled ? find_sampled(points, point) : find_counted(points, point);
		if (err == -ENOENT || err == -ENODATA)
			continue;
		if (err)
			return err;
		point->found = true;
	}
	return 0;
}

static int add(struct causal_points *points, struct causal_writer *writer,
	       const struct experiment_point *at, enum causal_point_kind kind, const char *name)
{
	const struct causal_point point = {.name = name, .kind = kind};
	int number = causal_writer__point(writer, &point);
	struct experiment_point added = *at;

	if (number < 0)
		return number;
	/* Two of one name are one: the first counts. */
	for (size_t i = 0; i < points->experimented.points.n; i++)
		if (points->experimented.points.data[i].number == (uint32_t)number)
			return 0;
	added.number = (uint32_t)number;
	return array__push(&points->experimented.points, added);
}

/* Virtual time's point that ends what @name begins; -1: there is none yet. */
static int end_of(const struct causal_points *points, const char *name)
{
	for (uint32_t i = 0; i < virtual_time__points(points->vtime); i++) {
		const struct dwell_point *point = virtual_time__point(points->vtime, i);

		if (point->named && point->type == DWELL_POINT_END && !strcmp(point->name, name))
			return (int)i;
	}
	return -1;
}

/* A point of the program. *@later: its other half is not there yet. */
static int add_counted(struct causal_points *points, struct causal_writer *writer, uint32_t number,
		       bool *later)
{
	const struct dwell_point *point = virtual_time__point(points->vtime, number);
	struct experiment_point at = {.begin = (int)number, .end = -1};

	*later = !__atomic_load_n(&point->named, __ATOMIC_ACQUIRE);
	if (*later || point->type == DWELL_POINT_END)
		return 0;
	if (point->type != DWELL_POINT_BEGIN)
		return add(points, writer, &at, CAUSAL_THROUGHPUT, point->name);
	at.end = end_of(points, point->name);
	*later = at.end < 0;
	return *later ? 0 : add(points, writer, &at, CAUSAL_LATENCY, point->name);
}

int causal_points__update(struct causal_points *points, struct causal_writer *writer)
{
	uint32_t n = virtual_time__points(points->vtime);

	for (; points->known < n; points->known++) {
		bool later;
		int err = add_counted(points, writer, points->known, &later);

		if (err)
			return err;
		if (later)
			break;
	}
	for (size_t i = 0; i < points->named.n; i++) {
		struct named_point *point = &points->named.data[i];
		struct experiment_point at = {.begin = -1, .end = -1, .sample = point->sample};
		int err;

		if (!point->sampled || !point->found || point->number >= 0)
			continue;
		err = add(points, writer, &at, CAUSAL_SAMPLED, point->text);
		if (err)
			return err;
		point->number = 0;
	}
	return 0;
}

bool causal_points__ready(const struct causal_points *points)
{
	return points->experimented.points.n > 0;
}

const struct experiment_points *causal_points__experimented(const struct causal_points *points)
{
	return &points->experimented;
}

/* Why visits of @point cannot be counted. */
static const char *refusal(const struct named_point *point)
{
	return point->refused == -ENOSPC ? "the processor has no breakpoint left, of four"
					 : strerror(-point->refused);
}

/* What is wrong with the counting of @point, which goes on; NULL: nothing. */
static char *refused_in_part(const struct named_point *point)
{
	char *text;

	if (!point->counted || !point->refused ||
	    asprintf(&text,
		     "visits of the progress point '%s' could not be counted in all processes: %s. "
		     "What it says of them is too little.",
		     point->text, refusal(point)) < 0)
		return NULL;
	return text;
}

/* What it took to count @visits of @point, in ns of a CPU. */
static uint64_t cost_of(const struct named_point *point, uint64_t visits)
{
	if (point->breaks.entries.n)
		return visits * BREAKPOINT_NS;
	return visits * (point->stepped ? UPROBE_STEPPED_NS : UPROBE_NS);
}

char *causal_points__trouble(const struct causal_points *points, uint64_t runtime_ns)
{
	const struct named_point *most = NULL;
	uint64_t visits = 0, cost = 0;
	char *text;

	for (size_t i = 0; i < points->named.n; i++) {
		const struct named_point *point = &points->named.data[i];
		uint64_t n = point->sampled || point->number < 0
				     ? 0
				     : virtual_time__visits(points->vtime, (uint32_t)point->number);

		text = refused_in_part(point);
		if (text)
			return text;
		if (cost_of(point, n) <= cost)
			continue;
		most = point;
		visits = n;
		cost = cost_of(point, n);
	}
	if (!most || cost < runtime_ns / COSTLY_PART)
		return NULL;
	if (asprintf(&text,
		     "the progress point '%s' was visited %.0f times a second, which took about "
		     "%.0f%% of a CPU to count. With --progress-sampled it costs nothing.",
		     most->text, (double)visits * 1e9 / (double)runtime_ns,
		     100.0 * (double)cost / (double)runtime_ns) < 0)
		return NULL;
	return text;
}

int causal_points__missing(struct causal_points *points)
{
	for (size_t i = 0; i < points->named.n; i++) {
		const struct named_point *point = &points->named.data[i];
		_cleanup_free_ char *hint = NULL;

		if (point->found && (point->counted || !point->refused))
			continue;
		if (point->found) {
			error__set(point->refused, "cannot count visits of '%s': %s", point->text,
				   refusal(point));
			if (point->refused == -ENOSPC)
				error__hint("Name fewer points, or leave out --breakpoints.");
			return point->refused;
		}
		hint = causal_files__hint(points->files, point->text);
		error__set(-EINVAL,
			   "there is no code of the progress point '%s' in what the "
			   "command ran",
			   point->text);
		if (hint)
			error__hint("%s", hint);
		return -EINVAL;
	}
	return 0;
}

void causal_points__free(struct causal_points *points)
{
	for (size_t i = 0; i < points->named.n; i++) {
		causal_aim__free(&points->named.data[i].aim);
		array__free(&points->named.data[i].breaks.entries);
	}
	array__free(&points->named);
	array__free(&points->experimented.points);
	array__free(&points->mappings);
	map64__free(&points->broken);
	free(points);
}
