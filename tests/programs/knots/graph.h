/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The true wait-for graph of a case: its threads, the work each did, and how long each waited
 * for which other. Times are in ns, by the program's own clocks. The graph lies in memory that
 * processes share.
 */
#pragma once

#include "tests/programs/common/program.h"

#define VERTICES_MAX 4096
#define EDGES_MAX    8

/*
 * wait_ns is the wall time of the calls that block, less the thread's CPU time meanwhile. It
 * includes the run-queue time from the wakeup to the return, which a profiler separates. Of
 * spinning it is the wall time.
 */
struct edge {
	char to[16];
	uint64_t wait_ns;
};

/* A thread; without run(), a device. Short-lived threads of one name are one vertex. */
struct vertex {
	char name[16];
	void (*run)(struct vertex *self);
	pthread_t thread;
	pid_t child;
	int cpu;	   /* that it is pinned to; -1: any */
	bool many;	   /* short-lived threads: their waits are measured by the CPU clock */
	uint64_t cpu_ns;   /* as the kernel counts it */
	uint64_t early_ns; /* cpu_ns less the time between its switches (switch_log.h) */
	uint64_t work;	   /* items done */
	uint64_t false_wakeups;
	struct edge edges[EDGES_MAX];
};

struct graph {
	uint64_t began;
	uint64_t deadline;
	uint64_t ended;
	int count;
	struct vertex vertices[VERTICES_MAX];
};

struct options {
	uint64_t seconds;
	const char *dir;
};

extern struct options options;
extern struct graph *graph;
extern uint64_t turns_per_ms; /* of BURN() */

/* A function that computes for @us of CPU time, under its own name. */
#define COMPUTE(name)                                                                              \
	KEEP void name(uint64_t us)                                                                \
	{                                                                                          \
		uint64_t turns = us * turns_per_ms / 1000;                                         \
                                                                                                   \
		BURN(turns);                                                                       \
		NO_TAIL_CALL();                                                                    \
	}

/* Creates the graph, without vertices. Before all other functions. */
void graph__create(void);

/* The run begins; it lasts for options.seconds. */
void graph__begin(void);

bool graph__time_left(void);

/* Runs each vertex as a thread, and waits until all have ended. */
void graph__run_threads(void);

/*
 * Runs two processes until both have ended: @ours in this one, @theirs in a child. Each closes
 * the other's descriptor.
 */
void graph__run_processes(struct vertex *ours, int our_fd, struct vertex *theirs, int their_fd);

/* Prints the graph as JSON; @name is the case. */
void graph__print(const char *name);

struct vertex *vertex__add(const char *name, void (*run)(struct vertex *self));

/*
 * Pins the two to different CPUs, if there are two. Otherwise a wakeup may bring the woken
 * thread to the waker's CPU, and waits for each other become waits for the CPU.
 */
void vertex__separate(struct vertex *one, struct vertex *two);

/*
 * The edge from @from to @to, created if there is none. To be called by the vertex's own
 * thread, or before there are threads.
 */
struct edge *vertex__edge(struct vertex *from, const char *to);

/* Adds @ns. Atomic: several short-lived threads may be one vertex. */
void edge__add(struct edge *edge, uint64_t ns);

/* The begin of a wait of the calling thread. */
struct wait {
	uint64_t wall;
	uint64_t cpu;
};

struct wait wait__begin(void);

/* Up to now, in ns. */
uint64_t wait__length(struct wait wait);

/* Ends a wait of @from for @to, and returns its length in ns. */
uint64_t vertex__waited(struct vertex *from, const char *to, struct wait wait);

/* Counts an item. */
void vertex__worked(struct vertex *self);

/* The body of a thread, or of a process with one thread; @arg is the vertex. */
void *run_vertex(void *arg);

/* After a run: @device waited for @user whenever it did nothing for it. */
void vertex__device_waited(struct vertex *device, struct vertex *user);
