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
#include "arch/syscalls.h"
#include "collect/causal/point_copy.h"
#include "collect/probes/breakpoint.h"

/* ns of CPU time to count a visit, as measured in a virtual machine. */
#define UPROBE_NS		 750 /* where it cannot be measured */
#define UPROBE_SINGLE_STEPPED_NS 16000
#define BREAKPOINT_NS		 14000
#define NO_BREAKPOINTS_TEXT	 "breakpoints do not fire on this (virtual) machine"
#define COST_DIVISOR		 20 /* a cost of at least 1 / this of the run time is reported */

#define SYSCALL "syscall:"

/* A point named on the command line. */
struct named_point {
	const char *text;
	struct causal_location location;
	bool sampled;
	bool found;
	int number;	     /* of virtual time's point; -1: none yet. Sampled: 0 once added */
	int sample;	     /* index of virtual time's target, if sampled */
	int count_error;     /* -errno of the last failed attempt to count its visits */
	bool single_stepped; /* the kernel single-steps one of its uprobes */
	/* Where breakpoints count its visits, in each process; empty: uprobes count them. */
	struct causal_entries break_entries;
	size_t n_mappings; /* number of points->mappings processed */
	uint64_t cost_ns;  /* of a visit, of a CPU */
	bool is_counted;   /* at least in a part of the processes */
	bool by_kernel;	   /* requests or system calls: counted without a probe in the program */
};

/* Code that a process has mapped, kept until all points have been found and set there. */
struct pending_mapping {
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
	struct span_sources requests;
	struct experiment_points measured;
	ARRAY(struct pending_mapping) mappings;
	uint32_t n_known;	      /* of virtual time's points, */
	ARRAY(uint32_t) postponed;    /* and of these, those without a name or an end as yet */
	struct map64 breakpoints_set; /* by hash of process, address and point */
};

static bool is_syscall(const char *text)
{
	return !strncmp(text, SYSCALL, strlen(SYSCALL));
}

static int claim(struct causal_points *points, struct named_point *point)
{
	point->number =
		virtual_time__claim_point(points->vtime, DWELL_POINT_THROUGHPUT, point->text);
	return point->number < 0 ? error__set(-EINVAL, "there are too many progress points") : 0;
}

static int set_syscall(struct causal_points *points, const struct named_point *point)
{
	const char *name = point->text + strlen(SYSCALL);
	int nr = syscalls__number(name);

	if (nr < 0) {
		error__set(-EINVAL, "there is no system call '%s'", name);
		error__hint("give its name as strace prints it: syscall:fsync");
		return -EINVAL;
	}
	return virtual_time__count_syscall(points->vtime, (uint32_t)nr, (uint32_t)point->number);
}

/*
 * Adds requests to servers and system calls, which the kernel side counts. Requests first, before
 * any other point: the number of each is that of its source, which begin with 1, - 1.
 */
static int add_counted_by_kernel(struct causal_points *points, const struct causal_texts *texts,
				 bool requests)
{
	int err = 0;

	for (size_t i = 0; i < texts->texts.n && !err; i++) {
		struct named_point point = {.text = texts->texts.data[i],
					    .found = true,
					    .is_counted = true,
					    .by_kernel = true};

		if (requests ? !span_sources__is_connection(point.text) : !is_syscall(point.text))
			continue;
		err = claim(points, &point);
		if (!err && requests)
			err = span_sources__add(&points->requests, point.text);
		else if (!err)
			err = set_syscall(points, &point);
		err = err ? err : array__push(&points->named, point);
	}
	return err;
}

static int add_named(struct causal_points *points, const struct causal_texts *texts, bool sampled)
{
	for (size_t i = 0; i < texts->texts.n; i++) {
		struct named_point point = {
			.text = texts->texts.data[i],
			.sampled = sampled,
			.number = -1,
		};
		bool in_kernel = span_sources__is_connection(point.text) || is_syscall(point.text);
		int err;

		if (in_kernel && !sampled)
			continue;
		if (in_kernel)
			return error__set(-EINVAL,
					  "'%s' cannot be sampled: name it with --progress",
					  point.text);
		err = causal_location__parse(point.text, &point.location);
		if (!err && sampled && point.location.probe)
			err = error__set(-EINVAL,
					 "'%s' is a probe, which cannot be sampled: name a line or "
					 "a function",
					 point.text);
		if (!err && sampled) {
			point.sample = causal_targets__reserve(points->targets);
			if (point.sample < 0)
				err = error__set(-EINVAL, "there are too many sampled progress "
							  "points and --also targets");
		}
		if (!err)
			err = array__push(&points->named, point);
		if (err)
			return causal_location__free(&point.location), err;
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
	if (config->breakpoints && !breakpoint__is_delivered()) {
		error__set(-EOPNOTSUPP, "cannot count visits by breakpoints: %s",
			   NO_BREAKPOINTS_TEXT);
		error__hint("Leave out --breakpoints: uprobes count visits, too.");
		return -EOPNOTSUPP;
	}
	points->config = config;
	points->vtime = vtime;
	points->files = files;
	points->targets = targets;
	err = add_counted_by_kernel(points, &config->progress, true);
	if (!err)
		err = add_counted_by_kernel(points, &config->progress, false);
	if (!err)
		err = add_named(points, &config->progress, false);
	if (!err)
		err = add_named(points, &config->progress_sampled, true);
	if (err)
		return err;
	*out = TAKE_PTR(points);
	return 0;
}

static int find_sampled(struct causal_points *points, struct named_point *point)
{
	struct causal_ranges ranges = {}, callers = {};
	struct virtual_time_target target = {.name = point->text, .match = CAUSAL_MATCH_STACK};
	struct code_place place;
	int err = causal_files__find(points->files, &point->location, &ranges, &callers, &place);

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

static int set_breakpoint(struct causal_points *points, pid_t pid, uint64_t address,
			  uint32_t number);

/* Sets the breakpoint in the children that the thread @task (in the directory @tasks) forked
 * before. */
static void set_breakpoints_in_children(struct causal_points *points, int tasks, const char *task,
					uint64_t address, uint32_t number)
{
	_cleanup_fclose_ FILE *children = NULL;
	char name[NAME_MAX + sizeof("/children")];
	int fd, child;

	snprintf(name, sizeof(name), "%s/children", task);
	fd = openat(tasks, name, O_RDONLY | O_CLOEXEC);
	children = fd < 0 ? NULL : fdopen(fd, "r");
	while (children && fscanf(children, "%d", &child) == 1)
		(void)set_breakpoint(points, child, address, number);
}

/*
 * Sets a breakpoint in all present threads of @pid and of its children. Threads and processes that
 * they create from now on inherit it. -ESRCH: the process is gone.
 */
static int set_breakpoint(struct causal_points *points, pid_t pid, uint64_t address,
			  uint32_t number)
{
	const uint64_t key = hash__add(hash__add(hash__mix((uint64_t)pid), address), number);
	const struct dirent *task;
	int err = -ESRCH;
	bool any = false;
	char name[64];
	DIR *tasks;

	/* Breakpoints survive execve(). */
	if (map64__get(&points->breakpoints_set, key))
		return 0;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	tasks = opendir(name);
	if (!tasks)
		return -ESRCH;
	while ((task = readdir(tasks)) && (!err || err == -ESRCH)) {
		if (task->d_name[0] == '.')
			continue;
		set_breakpoints_in_children(points, dirfd(tasks), task->d_name, address, number);
		err = virtual_time__count_by_breakpoint(
			points->vtime, (pid_t)strtol(task->d_name, NULL, 10), address, number);
		any |= !err;
	}
	closedir(tasks);
	if (any)
		map64__put(&points->breakpoints_set, key, 1);
	return any && err == -ESRCH ? 0 : err;
}

/* Sets breakpoints at the code of @point in @mapping. */
static void set_breakpoints_in_mapping(struct causal_points *points, struct named_point *point,
				       const struct pending_mapping *mapping)
{
	for (size_t i = 0; i < point->break_entries.entries.n; i++) {
		const struct causal_entry *entry = &point->break_entries.entries.data[i];
		uint64_t in = entry->at.offset - mapping->offset;
		int err;

		if (entry->origin != mapping->origin || in >= mapping->size)
			continue;
		err = set_breakpoint(points, (pid_t)mapping->pid, mapping->start + in,
				     (uint32_t)point->number);
		if (!err)
			point->is_counted = true;
		else if (err != -ESRCH) /* else the process is gone */
			point->count_error = err;
	}
}

void causal_points__add_mapping(struct causal_points *points, const struct code_mapping *mapping)
{
	const struct pending_mapping added = {
		.pid = mapping->pid,
		.origin = mapping->origin->number,
		.start = mapping->start,
		.size = mapping->size,
		.offset = mapping->offset,
	};

	if (points->named.n && mapping->origin->kind == CODE_FILE)
		(void)array__push(&points->mappings, added);
}

bool causal_points__set_breakpoints(struct causal_points *points)
{
	bool by_breakpoints = false, all_found = true;

	for (size_t i = 0; i < points->named.n; i++) {
		struct named_point *point = &points->named.data[i];

		all_found &= point->found;
		if (!point->break_entries.entries.n)
			continue;
		by_breakpoints = true;
		for (; point->n_mappings < points->mappings.n; point->n_mappings++)
			set_breakpoints_in_mapping(points, point,
						   &points->mappings.data[point->n_mappings]);
	}
	if (!all_found) /* points found later need all mappings */
		return by_breakpoints;
	points->mappings.n = 0;
	for (size_t i = 0; i < points->named.n; i++)
		points->named.data[i].n_mappings = 0;
	return by_breakpoints;
}

static int count_by_uprobe(struct causal_points *points, struct named_point *point,
			   const struct causal_entry *entry)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", entry->fd);
	err = virtual_time__count_by_uprobe(points->vtime, path, entry->at.offset + entry->at.skip,
					    entry->at.semaphore, (uint32_t)point->number);
	if (err)
		return err;
	point->is_counted = true;
	point->single_stepped |= entry->at.single_stepped;
	return 0;
}

/*
 * Counts visits by a uprobe. If that fails or breakpoints are requested, remembers the entry for
 * breakpoints, which are set when a process maps the code.
 */
static int count_visits(struct causal_points *points, struct named_point *point,
			const struct causal_entry *entry)
{
	int err = points->config->breakpoints ? -ENOTSUP : count_by_uprobe(points, point, entry);

	if (!err)
		return 0;
	/* A probe with a semaphore is skipped while the semaphore is 0. */
	if (entry->at.semaphore)
		point->count_error = err;
	else if (array__push(&point->break_entries.entries, *entry))
		return -ENOMEM;
	return 0;
}

/* Finds out what a visit of @point costs, where its visits are counted by probes. */
static void find_cost(struct causal_points *points, struct named_point *point)
{
	point->cost_ns = BREAKPOINT_NS;
	if (point->break_entries.entries.n)
		return;
	point->cost_ns = virtual_time__uprobe_cost(points->vtime, point->single_stepped);
	if (!point->cost_ns)
		point->cost_ns = point->single_stepped ? UPROBE_SINGLE_STEPPED_NS : UPROBE_NS;
}

static int find_counted(struct causal_points *points, struct named_point *point)
{
	struct causal_entries entries = {};
	int err = causal_files__entries(points->files, &point->location, &entries);

	if (!err && point->number < 0)
		err = claim(points, point);
	for (size_t i = 0; i < entries.entries.n && !err; i++)
		err = count_visits(points, point, &entries.entries.data[i]);
	if (!err)
		find_cost(points, point);
	array__free(&entries.entries);
	return err;
}

int causal_points__check_expected(struct causal_points *points)
{
	int err = 0;

	for (size_t i = 0; i < points->named.n && !err; i++)
		if (!points->named.data[i].by_kernel)
			err = causal_files__expect(points->files, &points->named.data[i].location,
						   "the progress point ",
						   points->named.data[i].text);
	return err;
}

int causal_points__find_named(struct causal_points *points)
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
	/* Of several points with one name only the first is used. */
	for (size_t i = 0; i < points->measured.points.n; i++)
		if (points->measured.points.data[i].number == (uint32_t)number)
			return 0;
	added.number = (uint32_t)number;
	return array__push(&points->measured.points, added);
}

/* Number of the end point of the latency point @name; -1: none yet. */
static int end_of(const struct causal_points *points, const char *name)
{
	for (uint32_t i = 0; i < virtual_time__points(points->vtime); i++) {
		struct point_copy point;

		if (point_copy__take(virtual_time__point(points->vtime, i), &point) &&
		    point.type == DWELL_POINT_END && !strcmp(point.name, name))
			return (int)i;
	}
	return -1;
}

/* Writes what counting a visit of virtual time's point @number costs, if a probe does it. */
static int write_probe(const struct causal_points *points, struct causal_writer *writer,
		       uint32_t number, uint32_t in_profile)
{
	for (size_t i = 0; i < points->named.n; i++) {
		const struct named_point *point = &points->named.data[i];
		const struct causal_probe probe = {.point = in_profile, .ns = point->cost_ns};

		if (!point->sampled && point->number == (int)number && point->cost_ns)
			return causal_writer__probe(writer, &probe);
	}
	return 0;
}

/* Adds virtual time's point @number. *@later: its name, or its end point, is missing as yet. */
static int add_counted(struct causal_points *points, struct causal_writer *writer, uint32_t number,
		       bool *later)
{
	struct experiment_point at = {.begin = (int)number, .end = -1};
	struct point_copy point;

	*later = !point_copy__take(virtual_time__point(points->vtime, number), &point);
	if (*later || point.type == DWELL_POINT_END)
		return 0;
	if (point.type != DWELL_POINT_BEGIN) {
		size_t n = points->measured.points.n;
		int err = add(points, writer, &at, CAUSAL_THROUGHPUT, point.name);

		return err || points->measured.points.n == n
			       ? err
			       : write_probe(points, writer, number,
					     points->measured.points.data[n].number);
	}
	at.end = end_of(points, point.name);
	*later = at.end < 0;
	return *later ? 0 : add(points, writer, &at, CAUSAL_LATENCY, point.name);
}

int causal_points__add_reached(struct causal_points *points, struct causal_writer *writer)
{
	uint32_t n = virtual_time__points(points->vtime);
	size_t kept = 0;

	for (; points->n_known < n; points->n_known++)
		if (array__push(&points->postponed, points->n_known))
			return -ENOMEM;
	for (size_t i = 0; i < points->postponed.n; i++) {
		bool later;
		int err = add_counted(points, writer, points->postponed.data[i], &later);

		if (err)
			return err;
		if (later)
			points->postponed.data[kept++] = points->postponed.data[i];
	}
	points->postponed.n = kept;
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

const struct span_sources *causal_points__requests(const struct causal_points *points)
{
	return points->requests.sources.n ? &points->requests : NULL;
}

bool causal_points__ready(const struct causal_points *points)
{
	return points->measured.points.n > 0;
}

const struct experiment_points *causal_points__measured(const struct causal_points *points)
{
	return &points->measured;
}

/* Why visits of @point cannot be counted: the text of count_error. */
static const char *error_text(const struct named_point *point)
{
	if (point->count_error == -ENOSPC)
		return "the processor has no breakpoint left, of four";
	if (point->count_error == -EOPNOTSUPP)
		return NO_BREAKPOINTS_TEXT;
	return strerror(-point->count_error);
}

/* A diagnostic if visits of @point are counted in a part of the processes only; else NULL. */
static char *diagnose_partial_count(const struct named_point *point)
{
	char *text;

	if (!point->is_counted || !point->count_error ||
	    asprintf(
		    &text,
		    "visits of the progress point '%s' could not be counted in some processes: %s. "
		    "Effects on visits there are not measured: name another point, or sample this "
		    "one with --progress-sampled.",
		    point->text, error_text(point)) < 0)
		return NULL;
	return text;
}

/* CPU time, in ns, that it took to count @visits of @point. */
static uint64_t cost_of(const struct named_point *point, uint64_t visits)
{
	return visits * point->cost_ns;
}

char *causal_points__diagnostic(const struct causal_points *points, uint64_t runtime_ns)
{
	const struct named_point *most = NULL;
	uint64_t visits = 0, cost = 0;
	char *text;

	for (size_t i = 0; i < points->named.n; i++) {
		const struct named_point *point = &points->named.data[i];
		uint64_t n = point->sampled || point->number < 0
				     ? 0
				     : virtual_time__visits(points->vtime, (uint32_t)point->number);

		text = diagnose_partial_count(point);
		if (text)
			return text;
		if (cost_of(point, n) <= cost)
			continue;
		most = point;
		visits = n;
		cost = cost_of(point, n);
	}
	if (!most || cost < runtime_ns / COST_DIVISOR)
		return NULL;
	if (asprintf(&text,
		     "the progress point '%s' was visited %.0f times a second, which took about "
		     "%.0f%% of a CPU to count. With --progress-sampled it costs nothing.",
		     most->text, (double)visits * 1e9 / (double)runtime_ns,
		     100.0 * (double)cost / (double)runtime_ns) < 0)
		return NULL;
	return text;
}

int causal_points__check_found(struct causal_points *points)
{
	for (size_t i = 0; i < points->named.n; i++) {
		const struct named_point *point = &points->named.data[i];
		_cleanup_free_ char *hint = NULL;

		if (point->found && (point->is_counted || !point->count_error))
			continue;
		if (point->found) {
			error__set(point->count_error, "cannot count visits of '%s': %s",
				   point->text, error_text(point));
			if (point->count_error == -ENOSPC)
				error__hint("Name fewer points, or leave out --breakpoints.");
			return point->count_error;
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
		causal_location__free(&points->named.data[i].location);
		array__free(&points->named.data[i].break_entries.entries);
	}
	array__free(&points->named);
	span_sources__free(&points->requests);
	array__free(&points->measured.points);
	array__free(&points->postponed);
	array__free(&points->mappings);
	map64__free(&points->breakpoints_set);
	free(points);
}
