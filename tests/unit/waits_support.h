/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of wait-for graphs share: programs that wait, and what is found in them. */
#pragma once

#include "tests/unit/synthetic.h"

#include "analysis/waits/bottleneck.h"
#include "abi/grid.h"

#define PROGRAM_AT 0x400000ULL
#define KERNEL_AT  0xffffffff81000000ULL
#define PID	   100
#define PERIOD	   1000000U

/* A recording whose stacks are told by the names of functions. */
struct program {
	struct synthetic made;
	uint32_t dso;
	const char *functions[64];
	size_t n;
};

static inline struct program program__begin(bool trace)
{
	struct program program = {.made = synthetic__begin()};

	record_stream__meta(recording_writer__stream(program.made.writer), "mode",
			    trace ? "trace" : "sampling");
	program.dso = synthetic__dso(&program.made, "/usr/bin/prog");
	synthetic__map(&program.made, PID, program.dso, 0, PROGRAM_AT, 0x1000, 0);
	return program;
}

/* An address in @function; "" is one that has no name. */
static inline uint64_t program__address(struct program *program, bool kernel, const char *function)
{
	uint64_t base = kernel ? KERNEL_AT : 0;
	size_t i = 0;

	while (i < program->n && strcmp(program->functions[i], function) != 0)
		i++;
	if (i == program->n) {
		assert_true(i < ARRAY_SIZE(program->functions));
		program->functions[program->n++] = function;
		if (*function)
			synthetic__symbol(&program->made,
					  kernel ? program->made.kernel_dso : program->dso,
					  base + 16 * i, function, NULL, 0);
	}
	return (kernel ? KERNEL_AT : PROGRAM_AT) + 16 * i + 8;
}

/* A stack of @functions, innermost first, up to a NULL; 0 without any. */
static inline uint32_t program__stack(struct program *program, bool kernel,
				      const char *const *functions)
{
	uint64_t frames[MAX_DEPTH + 1] = {};

	for (size_t i = 0; functions[i]; i++) {
		assert_true(i < MAX_DEPTH);
		frames[i] = program__address(program, kernel, functions[i]);
	}
	return frames[0] ? synthetic__stack(&program->made, kernel, STACK_COMPLETE, frames) : 0;
}

#define USER(program, ...)                                                                         \
	program__stack((program), false, (const char *const[]){__VA_ARGS__, NULL})
#define KERNEL(program, ...)                                                                       \
	program__stack((program), true, (const char *const[]){__VA_ARGS__, NULL})

/* Thread @number with the tid PID + @number, there from the start on. */
static inline void program__thread(struct program *program, uint32_t number, const char *comm)
{
	synthetic__thread(&program->made, number, PID, PID + number, 0, 0, comm);
}

/* Threads 1, 2, ... called "A", "B", ...: none is like another. */
static inline void program__threads(struct program *program, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		program__thread(program, i + 1, (char[]){(char)('A' + i), '\0'});
}

/* @thread is blocked in [@begin, @end), until @waker wakes it; what follows says more. */
#define BLOCKED(thread_, waker_, begin_, end_, ...)                                                \
	((struct record_interval){.thread = (thread_),                                             \
				  .waker = (waker_),                                               \
				  .waker_context = WAKER_TASK,                                     \
				  .t_out = (begin_),                                               \
				  .blocked_ns = (end_) - (begin_),                                 \
				  __VA_ARGS__})

/* The same, for a reason that is not known but by its stacks. */
#define WAIT(thread, waker, begin, end, ...)                                                       \
	BLOCKED(thread, waker, begin, end, .class = CLASS_OTHER, .syscall = -1, ##__VA_ARGS__)

static inline void program__wait(struct program *program, uint32_t thread, uint32_t waker,
				 uint64_t begin, uint64_t end)
{
	synthetic__interval(&program->made, WAIT(thread, waker, begin, end));
}

/* @waker woke @of at @time, from these stacks. */
static inline void program__wake(struct program *program, uint32_t of, uint32_t waker,
				 uint64_t time, uint32_t kernel, uint32_t user)
{
	synthetic__put(&program->made, (struct record){.type = RECORD_WAKE,
						       .wake = {.thread = of,
								.waker = waker,
								.context = WAKER_TASK,
								.kernel_stack = kernel,
								.user_stack = user,
								.time = START + time}});
}

static inline void program__annotation(struct program *program, uint32_t thread,
				       enum annotation_type type, uint64_t address, uint32_t other,
				       uint64_t time)
{
	synthetic__put(&program->made, (struct record){.type = RECORD_ANNOTATION,
						       .annotation = {.thread = thread,
								      .other = other,
								      .type = (uint8_t)type,
								      .address = address,
								      .time = START + time}});
}

static inline void program__device(struct program *program, uint32_t device, const char *name,
				   uint64_t time, uint64_t idle_ns)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_DEVICE,
				       .device = {.device = device,
						  .dev = device << 20,
						  .name = synthetic__string(&program->made, name),
						  .requests = 7,
						  .idle_ns = idle_ns,
						  .time = START + time}});
}

static inline void program__idle(struct program *program, uint32_t device, uint32_t feeder,
				 uint64_t begin, uint64_t end)
{
	synthetic__put(&program->made, (struct record){.type = RECORD_IDLE,
						       .idle = {.device = device,
								.thread = feeder,
								.since = START + begin,
								.ns = end - begin}});
}

/* @thread ran all the time that is not in @blocked of [0, @end), and was never runnable. */
static inline void program__ran(struct program *program, uint32_t thread, uint64_t end,
				uint64_t blocked)
{
	synthetic__totals(&program->made, thread, end, false, end - blocked, 0, 0, 0, blocked);
}

/* What was made of a recording. */
struct analysis {
	struct model *model;
	struct kinds *kinds;
	struct idle_waits *idle;
	struct waitgraph graph;
	struct bottlenecks found;
};

static inline struct analysis analysis__of(struct model *model,
					   const struct waitgraph_options *options)
{
	struct waitgraph_options used = options ? *options : (struct waitgraph_options){};
	struct analysis analysis = {.model = model};

	assert_int_equal(kinds__new(model, &analysis.kinds), 0);
	assert_int_equal(idle_waits__new(model, analysis.kinds, &analysis.idle), 0);
	used.filter.idle = analysis.idle;
	assert_int_equal(waitgraph__make(model, analysis.kinds, &used, &analysis.graph), 0);
	return analysis;
}

/* The recording ends at @end; its model lives as long as the analysis. */
static inline struct analysis program__analyse(struct program *program, uint64_t end,
					       const struct waitgraph_options *options)
{
	return analysis__of(synthetic__load(&program->made, end), options);
}

/* All but the model. */
static inline void analysis__drop(struct analysis *analysis)
{
	bottlenecks__free(&analysis->found);
	waitgraph__free(&analysis->graph);
	idle_waits__free(analysis->idle);
	kinds__free(analysis->kinds);
}

static inline void analysis__free(struct analysis *analysis)
{
	analysis__drop(analysis);
	model__free(analysis->model);
}
#define _cleanup_analysis_ _cleanup_(analysis__free)

static inline const char *vertex_name(const struct analysis *analysis, uint32_t vertex)
{
	return waitgraph_vertex__name(&analysis->graph, &analysis->graph.vertices.data[vertex]);
}

#define NOWHERE UINT32_MAX

/* The vertex called @name, or NOWHERE. */
static inline uint32_t find_vertex(const struct analysis *analysis, const char *name)
{
	for (uint32_t v = 0; v < analysis->graph.vertices.n; v++)
		if (!strcmp(vertex_name(analysis, v), name))
			return v;
	return NOWHERE;
}

static inline const struct waitgraph_vertex *vertex_of(const struct analysis *analysis,
						       const char *name)
{
	uint32_t vertex = find_vertex(analysis, name);

	if (vertex == NOWHERE)
		fail_msg("no vertex '%s'", name);
	return &analysis->graph.vertices.data[vertex];
}

/* The edge between the vertices of these names, or NULL. */
static inline const struct waitgraph_edge *edge_between(const struct waitgraph *graph,
							uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < graph->edges.n; i++)
		if (graph->edges.data[i].from == from && graph->edges.data[i].to == to)
			return &graph->edges.data[i];
	return NULL;
}

static inline const struct waitgraph_edge *find_edge(const struct analysis *analysis,
						     const char *from, const char *to)
{
	return edge_between(&analysis->graph, find_vertex(analysis, from),
			    find_vertex(analysis, to));
}

static inline uint64_t plain_of(const struct analysis *analysis, const char *from, const char *to)
{
	const struct waitgraph_edge *edge = find_edge(analysis, from, to);

	return edge ? edge->plain_ns : 0;
}

static inline uint64_t weight_of(const struct analysis *analysis, const char *from, const char *to)
{
	const struct waitgraph_edge *edge = find_edge(analysis, from, to);

	return edge ? edge->weight_ns : 0;
}

/* The bottleneck that has the vertex @name, or NULL. */
static inline const struct bottleneck *bottleneck_of(const struct analysis *analysis,
						     const char *name)
{
	uint32_t vertex = find_vertex(analysis, name);

	for (size_t i = 0; i < analysis->found.all.n; i++)
		if (bottleneck__has(&analysis->found.all.data[i], vertex))
			return &analysis->found.all.data[i];
	return NULL;
}

/* A repeatable stream of random numbers. */
static uint64_t random_state;

static inline uint64_t random_below(uint64_t n)
{
	random_state += 0x9e3779b97f4a7c15ULL;
	return hash__mix(random_state) % n;
}
