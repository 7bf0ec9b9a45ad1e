// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/call_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/thread.h"
#include "collect/probes/probe_set.h"
#include "collect/capture/process_times.h"
#include "collect/probes/uprobes.h"
#include "collect/record/pattern_result.h"
#include "collect/record/probe_limit.h"

#define STEP_NS 100000000ULL
/* Calls of functions that are thinned out may take so much longer than their probes are set. */
#define GRACE_NS 1000000000ULL

struct probed_function {
	char *name;
	size_t pattern; /* that names it first */
	bool thinned;	/* its probes are in that group */
	struct function_places places;
	uint64_t since;	  /* its probes are set, and state.set_ns is as of then; 0: they are not */
	uint64_t entries; /* counts of the kernel side, as they were last read */
	uint64_t ns;
	struct call_probe state;
};

/*
 * The functions of a file have numbers in a row. They are divided, as setting and removing probes
 * takes up to 1 ms each: a function that is thinned out concerns few others. Of those together, the
 * thinned ones are a group.
 */
#define FILE_FUNCTIONS 64

enum probe_group { GROUP_ALWAYS = 0, GROUP_THINNED = 1, GROUPS = 2 };

struct probed_file {
	int fd;
	uint32_t first;
	uint32_t n;
	struct probe_set sets[GROUPS];
};

struct found_file {
	int fd;
	char *path;
};

struct call_probes {
	struct call_probes_config config;
	pthread_t thread;
	bool started;
	struct map64 searched;	    /* files, by device and inode; of add_file() */
	struct code_reader *reader; /* of the thread, once it is started */

	/* Of the thread, once it is started: */
	ARRAY(struct probed_file) files;
	ARRAY(struct function_cost) costs; /* of the functions, in the last step */
	struct pattern_result *results;	   /* of each pattern */
	struct probe_costs cost;
	bool thinned_are_set;
	bool closing;	  /* and they are still there, for the returns of calls that have begun */
	uint64_t step_at; /* begin of the current step */
	uint64_t step_cpu_ns; /* of the programs in it */
	struct probe_means means;
	uint64_t paused_at;

	/* Of both, under the lock: */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	ARRAY(struct found_file) found;
	struct process_times times; /* of the programs */
	ARRAY(struct probed_function) functions;
};

/* Whether a function of the file that is being added has its probe there: by another pattern. */
static bool is_known(const struct call_probes *probes, const struct probed_file *file,
		     uint64_t offset)
{
	for (uint32_t i = file->first; i < probes->functions.n; i++)
		if (probes->functions.data[i].places.entry == offset)
			return true;
	return false;
}

static const struct probe_cost_each *cost_of(const struct call_probes *probes,
					     const struct probed_function *function)
{
	int kind = (function->places.single_stepped ? CALL_PROBE_STEPPED : 0) |
		   (function->places.return_probe ? 0 : CALL_PROBE_EXITS);

	return &probes->cost.kinds[kind];
}

/* Appends @function, whose places stay the caller's on failure. */
static int append_function(struct call_probes *probes, const struct probed_function *function)
{
	int err = array__push(&probes->costs, (struct function_cost){});

	if (err)
		return err;
	pthread_mutex_lock(&probes->lock);
	err = array__push(&probes->functions, *function);
	pthread_mutex_unlock(&probes->lock);
	if (!err) {
		const struct probe_cost_each *cost = cost_of(probes, function);
		volatile struct call_probe_state *state =
			&probes->config.programs.states[probes->functions.n];

		state->overhead = cost->overhead_ns;
		state->each = cost->all_ns;
	}
	return err;
}

static int add_function(struct call_probes *probes, size_t pattern, struct probed_file *file,
			const struct found_function *found)
{
	struct probed_function function = {.pattern = pattern};
	int err = function_places__set(found, &function.places);

	if (!err && is_known(probes, file, function.places.entry)) {
		function_places__free(&function.places);
		return 0;
	}
	if (!err && probes->functions.n >= CALL_PROBE_FUNCTIONS)
		err = -E2BIG;
	if (!err) {
		function.name = strdup(found->name);
		function.state.single_stepped = function.places.single_stepped;
		err = function.name ? append_function(probes, &function) : -ENOMEM;
	}
	if (err) {
		function_places__free(&function.places);
		free(function.name);
	}
	return err == -ENOENT ? 0 : err;
}

/* Of a pattern, functions that cannot have probes are left out, unless it names no others. */
static int add_functions(struct call_probes *probes, size_t index, struct code_file *code,
			 struct probed_file *file)
{
	const struct function_pattern *pattern = &probes->config.patterns->patterns.data[index];
	struct found_functions found = {};
	size_t unsupported = 0;
	int err = code_file__functions(code, pattern->name, pattern->is_pattern, &found);

	for (size_t i = 0; i < found.functions.n && !err; i++) {
		err = add_function(probes, index, file, &found.functions.data[i]);
		if (err == -ENOTSUP && pattern->is_pattern && ++unsupported < found.functions.n)
			err = 0;
	}
	found_functions__free(&found);
	return err;
}

/* What probes at @function have cost since the last call. */
static uint64_t take_cost(struct call_probes *probes, uint32_t index)
{
	struct probed_function *function = &probes->functions.data[index];
	const volatile struct call_probe_state *kernel = &probes->config.programs.states[index + 1];
	uint64_t entries = kernel->entries - function->entries, ns = kernel->ns - function->ns;
	uint64_t cost = ns + entries * cost_of(probes, function)->trap_ns;

	function->entries += entries;
	function->ns += ns;
	function->state.entries += entries;
	function->state.cost_ns += cost;
	return cost;
}

/* Adds the time that has passed, and what the kernel side has counted. The lock is held. */
static void account(struct call_probes *probes)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), cpu_ns = process_times__take(&probes->times),
		 cost_ns = 0;

	for (uint32_t i = 0; i < probes->functions.n; i++) {
		uint64_t cost = take_cost(probes, i);

		probes->costs.data[i].ns += cost;
		cost_ns += cost;
	}
	probes->step_cpu_ns += cpu_ns;
	cpu_ns -= cost_ns < cpu_ns ? cost_ns : cpu_ns;
	for (uint32_t i = 0; i < probes->functions.n; i++) {
		struct probed_function *function = &probes->functions.data[i];

		function->state.cpu_ns += function->state.times ? cpu_ns : 0;
		if (!function->since)
			continue;
		function->state.set_cpu_ns += cpu_ns;
		function->state.set_ns += now - function->since;
		function->since = now;
	}
}

/* From now on, calls of the functions in a group of @file are measured, or not. */
static void open_group(struct call_probes *probes, const struct probed_file *file,
		       enum probe_group group, bool open)
{
	pthread_mutex_lock(&probes->lock);
	account(probes);
	for (uint32_t i = file->first; i < file->first + file->n; i++) {
		struct probed_function *function = &probes->functions.data[i];

		if (probes->costs.data[i].thinned != (group == GROUP_THINNED) ||
		    open == !!function->since)
			continue;
		if (open) {
			probes->config.programs.states[i + 1].pending = 0;
			probes->config.programs.states[i + 1].window++;
		}
		probes->config.programs.states[i + 1].open = open;
		function->state.times += open;
		function->since = open ? now_ns(CLOCK_MONOTONIC) : 0;
	}
	pthread_mutex_unlock(&probes->lock);
}

static void clear_probes(struct call_probes *probes, struct probed_file *file,
			 enum probe_group group)
{
	open_group(probes, file, group, false);
	probe_set__free(&file->sets[group]);
}

/* Sets the probes of a group of @file, in place of those that it has. On failure it has none. */
static int set_probes(struct call_probes *probes, struct probed_file *file, enum probe_group group)
{
	struct probe_places places = {};
	int err = 0;

	for (uint32_t i = file->first; i < file->first + file->n && !err; i++)
		if (probes->costs.data[i].thinned == (group == GROUP_THINNED))
			err = probe_places__add(&places, &probes->functions.data[i].places, i + 1);
	err = err ? err
		  : probe_set__replace(&file->sets[group], &probes->config.programs, file->fd,
				       &places);
	probe_places__free(&places);
	if (err)
		clear_probes(probes, file, group);
	else
		open_group(probes, file, group, true);
	return err;
}

/* Sets the probes of all functions of @whole, in parts. */
static int divide(struct call_probes *probes, const struct probed_file *whole)
{
	uint32_t end = whole->first + whole->n;
	int err = 0;

	for (uint32_t i = whole->first; i < end && !err; i += FILE_FUNCTIONS) {
		struct probed_file part = {.fd = fcntl(whole->fd, F_DUPFD_CLOEXEC, 0),
					   .first = i,
					   .n = end - i < FILE_FUNCTIONS ? end - i
									 : FILE_FUNCTIONS};

		err = part.fd < 0 ? -errno : array__push(&probes->files, part);
		if (err && part.fd >= 0)
			close(part.fd);
		err = err ? err
			  : set_probes(probes, &probes->files.data[probes->files.n - 1],
				       GROUP_ALWAYS);
	}
	return err;
}

/* Finds the functions in a file, and sets their probes. */
static void search_file(struct call_probes *probes, int fd, const char *path)
{
	struct probed_file file = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
				   .first = (uint32_t)probes->functions.n};
	struct code_file *code = NULL;
	int err = file.fd < 0 ? -errno : code_reader__file(probes->reader, file.fd, path, &code);

	for (size_t i = 0; i < probes->config.patterns->patterns.n && !err; i++) {
		if (function_pattern__is_in(&probes->config.patterns->patterns.data[i], path))
			pattern_result__note(&probes->results[i],
					     add_functions(probes, i, code, &file));
	}
	file.n = (uint32_t)probes->functions.n - file.first;
	err = err ? err : divide(probes, &file);
	if (code)
		code_file__free(code);
	if (file.fd >= 0)
		close(file.fd);
	for (size_t i = 0; i < probes->config.patterns->patterns.n && err; i++)
		if (function_pattern__is_in(&probes->config.patterns->patterns.data[i], path))
			pattern_result__note(&probes->results[i], err);
}

/* Sets them again. */
static void reset_probes(struct call_probes *probes, struct probed_file *file,
			 enum probe_group group)
{
	int err = set_probes(probes, file, group);

	for (uint32_t i = file->first; i < file->first + file->n && err; i++)
		if (probes->costs.data[i].thinned == (group == GROUP_THINNED))
			pattern_result__note(&probes->results[probes->functions.data[i].pattern],
					     err);
}

static void set_thinned(struct call_probes *probes)
{
	for (size_t i = 0; i < probes->files.n; i++)
		reset_probes(probes, &probes->files.data[i], GROUP_THINNED);
	probes->thinned_are_set = true;
}

/* No more calls are measured, but those that have begun. */
static void close_thinned(struct call_probes *probes)
{
	for (size_t i = 0; i < probes->files.n; i++)
		open_group(probes, &probes->files.data[i], GROUP_THINNED, false);
	probes->thinned_are_set = false;
	probes->closing = true;
}

static void clear_thinned(struct call_probes *probes)
{
	for (size_t i = 0; i < probes->files.n; i++)
		clear_probes(probes, &probes->files.data[i], GROUP_THINNED);
	probes->thinned_are_set = false;
	probes->closing = false;
}

/* Whether calls of functions that are thinned out have begun, and not returned. */
static bool any_pending(const struct call_probes *probes)
{
	for (size_t i = 0; i < probes->costs.n; i++)
		if (probes->costs.data[i].thinned && probes->config.programs.states[i + 1].pending)
			return true;
	return false;
}

/* Whether functions of @file were just thinned out: their probes are still in the other group. */
static bool is_thinner(const struct call_probes *probes, const struct probed_file *file)
{
	for (uint32_t i = file->first; i < file->first + file->n; i++)
		if (probes->costs.data[i].thinned && !probes->functions.data[i].thinned)
			return true;
	return false;
}

/* Some functions have moved to the group of those that are thinned out. */
static void thin(struct call_probes *probes)
{
	clear_thinned(probes);
	for (size_t i = 0; i < probes->files.n; i++)
		if (is_thinner(probes, &probes->files.data[i]))
			reset_probes(probes, &probes->files.data[i], GROUP_ALWAYS);
	for (size_t i = 0; i < probes->functions.n; i++)
		probes->functions.data[i].thinned = probes->costs.data[i].thinned;
}

static void clear_costs(struct call_probes *probes)
{
	for (size_t i = 0; i < probes->costs.n; i++)
		probes->costs.data[i].ns = 0;
}

/* Keeps to the limit in the step that begins, by what the last one cost. */
static void limit(struct call_probes *probes, uint64_t now)
{
	uint64_t step_ns = now - probes->step_at;
	double budget = probe_limit__budget(probes->config.limit, step_ns, probes->step_cpu_ns);
	struct function_cost *costs = probes->costs.data;
	size_t n = probes->costs.n;

	bool thins = probe_limit__thin(costs, n, budget);

	if (thins)
		probes->means = (struct probe_means){};
	probe_means__add(&probes->means, costs, n, budget, thins || probes->thinned_are_set);
	clear_costs(probes);
	if (thins) {
		probes->paused_at = now;
		thin(probes);
	} else if (probes->thinned_are_set) {
		probes->paused_at = now;
		if (probe_means__pause(&probes->means, step_ns))
			close_thinned(probes);
	} else if (probes->closing) {
		if (!any_pending(probes) || now - probes->paused_at >= GRACE_NS)
			clear_thinned(probes);
	} else if (probes->means.set_steps &&
		   now - probes->paused_at >= probe_means__pause(&probes->means, step_ns)) {
		set_thinned(probes);
	}
}

static void step(struct call_probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	account(probes);
	pthread_mutex_unlock(&probes->lock);
	if (probes->config.limit > 0)
		limit(probes, now_ns(CLOCK_MONOTONIC));
	pthread_mutex_lock(&probes->lock);
	account(probes); /* what the changes took is no part of the next step */
	pthread_mutex_unlock(&probes->lock);
	if (probes->config.limit > 0)
		probe_means__add_change(&probes->means, probes->costs.data, probes->costs.n);
	clear_costs(probes);
	probes->step_cpu_ns = 0;
	probes->step_at = now_ns(CLOCK_MONOTONIC);
}

/* Takes over what the recorder found. The lock is held, and released meanwhile. */
static void take_found(struct call_probes *probes)
{
	while (probes->found.n) {
		struct found_file file = probes->found.data[0];

		/* In order: a program comes before its libraries. */
		memmove(probes->found.data, probes->found.data + 1,
			--probes->found.n * sizeof(file));
		pthread_mutex_unlock(&probes->lock);
		search_file(probes, file.fd, file.path);
		close(file.fd);
		free(file.path);
		pthread_mutex_lock(&probes->lock);
	}
}

static void wait_until(struct call_probes *probes, uint64_t time)
{
	struct timespec at = {.tv_sec = (time_t)(time / 1000000000),
			      .tv_nsec = (long)(time % 1000000000)};

	while (!probes->stop && !probes->found.n && now_ns(CLOCK_MONOTONIC) < time)
		pthread_cond_timedwait(&probes->wake, &probes->lock, &at);
}

static void *run(void *arg)
{
	struct call_probes *probes = arg;

	probes->step_at = now_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&probes->lock);
	while (!probes->stop) {
		take_found(probes);
		wait_until(probes, probes->step_at + STEP_NS);
		if (now_ns(CLOCK_MONOTONIC) < probes->step_at + STEP_NS)
			continue;
		pthread_mutex_unlock(&probes->lock);
		step(probes);
		pthread_mutex_lock(&probes->lock);
	}
	account(probes);
	pthread_mutex_unlock(&probes->lock);
	return NULL;
}

int call_probes__new(const struct call_probes_config *config, struct call_probes **out)
{
	static const struct code_scope everything = {};
	_cleanup_(call_probes__freep) struct call_probes *probes = calloc(1, sizeof(*probes));
	pthread_condattr_t monotonic;
	int err;

	if (!probes)
		return -ENOMEM;
	probes->config = *config;
	pthread_mutex_init(&probes->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&probes->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	probes->results = calloc(config->patterns->patterns.n + 1, sizeof(*probes->results));
	if (!probes->results)
		return -ENOMEM;
	err = code_reader__new(config->privsep, &everything, &probes->reader);
	if (err)
		return err;
	probe_costs__measure(&config->programs, &probes->cost);
	*out = TAKE_PTR(probes);
	return 0;
}

void call_probes__add_file(struct call_probes *probes, int fd, const char *path)
{
	struct found_file file = {.fd = -1};

	if (!function_patterns__concern(probes->config.patterns, path) ||
	    !function_places__is_new(&probes->searched, fd))
		return;
	if (!probes->started) {
		search_file(probes, fd, path);
		return;
	}
	file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file.path = strdup(path);
	pthread_mutex_lock(&probes->lock);
	if (file.fd >= 0 && file.path && !array__push(&probes->found, file))
		file = (struct found_file){.fd = -1};
	pthread_cond_signal(&probes->wake);
	pthread_mutex_unlock(&probes->lock);
	free(file.path);
	if (file.fd >= 0)
		close(file.fd);
}

void call_probes__add_process(struct call_probes *probes, uint32_t pid)
{
	pthread_mutex_lock(&probes->lock);
	process_times__add(&probes->times, pid);
	pthread_mutex_unlock(&probes->lock);
}

int call_probes__start(struct call_probes *probes)
{
	int err = thread__start(&probes->thread, run, probes);

	if (err)
		return error__set(err, "cannot create the thread that sets probes");
	probes->started = true;
	return 0;
}

void call_probes__stop(struct call_probes *probes)
{
	if (!probes->started || probes->stop)
		return;
	pthread_mutex_lock(&probes->lock);
	probes->stop = true;
	pthread_cond_signal(&probes->wake);
	pthread_mutex_unlock(&probes->lock);
	pthread_join(probes->thread, NULL);
}

bool call_probes__get(struct call_probes *probes, uint32_t number, struct call_probe *probe)
{
	bool exists;

	pthread_mutex_lock(&probes->lock);
	exists = number && number <= probes->functions.n;
	if (exists) {
		*probe = probes->functions.data[number - 1].state;
		probe->name = probes->functions.data[number - 1].name;
	}
	pthread_mutex_unlock(&probes->lock);
	return exists;
}

const char *call_probes__problem(const struct call_probes *probes, size_t index)
{
	return pattern_result__problem(&probes->results[index]);
}

void call_probes__free(struct call_probes *probes)
{
	if (!probes)
		return;
	call_probes__stop(probes);
	for (size_t i = 0; i < probes->files.n; i++) {
		clear_probes(probes, &probes->files.data[i], GROUP_ALWAYS);
		clear_probes(probes, &probes->files.data[i], GROUP_THINNED);
		close(probes->files.data[i].fd);
	}
	uprobes__free(probes->cost.entries);
	uprobes__free(probes->cost.returns);
	uprobes__free(probes->cost.exits);
	for (size_t i = 0; i < probes->found.n; i++) {
		close(probes->found.data[i].fd);
		free(probes->found.data[i].path);
	}
	for (size_t i = 0; i < probes->functions.n; i++) {
		free(probes->functions.data[i].name);
		function_places__free(&probes->functions.data[i].places);
	}
	if (probes->reader)
		code_reader__free(probes->reader);
	array__free(&probes->files);
	array__free(&probes->costs);
	array__free(&probes->found);
	process_times__free(&probes->times);
	array__free(&probes->functions);
	map64__free(&probes->searched);
	free(probes->results);
	pthread_cond_destroy(&probes->wake);
	pthread_mutex_destroy(&probes->lock);
	free(probes);
}
