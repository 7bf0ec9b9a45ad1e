/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The true wait-for graph of a case of knots.c: who takes part, what each did,
 * and how long each waited for whom, by the program's own clocks. It lies in
 * memory that processes share.
 */
#pragma once

#include "moments.h"

#define VERTICES_MAX 4096
#define EDGES_MAX    8

/*
 * wait_ns is wall time around the call that blocks less the time that the
 * thread had a CPU meanwhile. It includes the time in the run queue between the
 * wakeup and the return, which a profiler tells apart. (Of spinning it is wall
 * time, all of it.)
 */
struct edge {
	char to[16];
	uint64_t wait_ns;
};

/* A thread; or, with no run(), a device. Short-lived threads of one name are one vertex. */
struct vertex {
	char name[16];
	void (*run)(struct vertex *self);
	pthread_t thread;
	pid_t child;
	int cpu;   /* where it stays; -1: anywhere */
	bool many; /* short-lived threads: their waits are told by the CPU clock */
	uint64_t cpu_ns;
	uint64_t work; /* items done */
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

static struct graph *graph;

static struct {
	uint64_t seconds;
	const char *dir;
} options = {
	.seconds = 4,
	.dir = "/var/tmp",
};

static uint64_t turns_per_ms;

/* A function that computes for @us of CPU time, under a name of its own. */
#define COMPUTE(name)                                                                              \
	KEEP void name(uint64_t us)                                                                \
	{                                                                                          \
		uint64_t turns = us * turns_per_ms / 1000;                                         \
                                                                                                   \
		BURN(turns);                                                                       \
		NO_TAIL_CALL();                                                                    \
	}

HELPER void graph__create(void)
{
	graph = mmap(NULL, sizeof(*graph), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (graph == MAP_FAILED)
		die("mmap");
}

HELPER bool time_left(void)
{
	return wall_ns() < graph->deadline;
}

HELPER struct vertex *vertex__add(const char *name, void (*run)(struct vertex *self))
{
	struct vertex *vertex = &graph->vertices[graph->count];

	if (graph->count == VERTICES_MAX) {
		errno = E2BIG;
		die("%s", name);
	}
	graph->count++;
	snprintf(vertex->name, sizeof(vertex->name), "%s", name);
	vertex->run = run;
	vertex->cpu = -1;
	return vertex;
}

/*
 * Each of the two gets a CPU of its own, if there are two. A wakeup may bring
 * the woken thread to the waker's CPU, where they take turns: what was to be a
 * wait for the other is then a wait for the CPU.
 */
HELPER void keep_apart(struct vertex *one, struct vertex *two)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (CPU_COUNT(&allowed) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && two->cpu < 0; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		if (one->cpu < 0)
			one->cpu = cpu;
		else
			two->cpu = cpu;
	}
}

/*
 * The edge between the two, made when there is none yet. Only the vertex's own
 * thread may make one, or anybody before there are threads.
 */
HELPER struct edge *vertex__edge(struct vertex *from, const char *to)
{
	for (int i = 0; i < EDGES_MAX; i++) {
		struct edge *edge = &from->edges[i];

		if (!*edge->to)
			snprintf(edge->to, sizeof(edge->to), "%s", to);
		if (!strcmp(edge->to, to))
			return edge;
	}
	errno = E2BIG;
	die("%s", from->name);
}

/* Additions are atomic: several short-lived threads may be one vertex. */
HELPER void edge__add(struct edge *edge, uint64_t ns)
{
	__atomic_fetch_add(&edge->wait_ns, ns, __ATOMIC_RELAXED);
}

/* The present thread's own. */
static __thread struct watch watch;

struct wait {
	uint64_t wall;
	uint64_t cpu;
};

HELPER struct wait wait__begin(void)
{
	struct wait wait;

	wait.cpu = watch__cpu(&watch, &wait.wall);
	return wait;
}

/* Up to now, in ns. */
HELPER uint64_t wait__length(struct wait wait)
{
	struct wait now = wait__begin();
	int64_t ns = (now.wall - wait.wall) - (now.cpu - wait.cpu);

	return ns > 0 ? ns : 0;
}

/* Returns how long it was, in ns. */
HELPER uint64_t vertex__waited(struct vertex *from, const char *to, struct wait wait)
{
	uint64_t ns = wait__length(wait);

	edge__add(vertex__edge(from, to), ns);
	return ns;
}

HELPER void vertex__worked(struct vertex *self)
{
	__atomic_fetch_add(&self->work, 1, __ATOMIC_RELAXED);
}

/* The body of a thread, or of a process with one thread. */
HELPER void *run_vertex(void *arg)
{
	struct vertex *self = arg;
	uint64_t begin;

	set_name(self->name);
	stay_on(self->cpu);
	if (!self->many)
		watch__open_switches(&watch);
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	self->run(self);
	__atomic_fetch_add(&self->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin,
			   __ATOMIC_RELAXED);
	return NULL;
}

HELPER void graph__begin(void)
{
	graph->began = wall_ns();
	graph->deadline = graph->began + options.seconds * NS_PER_S;
}

/* Runs each vertex as a thread; the main thread only waits for their end. */
HELPER void run_threads(void)
{
	graph__begin();
	for (int i = 0; i < graph->count; i++)
		if (graph->vertices[i].run)
			graph->vertices[i].thread = start_thread(run_vertex, &graph->vertices[i]);
	for (int i = 0; i < graph->count; i++)
		if (graph->vertices[i].run)
			pthread_join(graph->vertices[i].thread, NULL);
	graph->ended = wall_ns();
}

/* Two processes: @ours is this one, @theirs a child. Each closes the other's descriptor. */
HELPER void run_processes(struct vertex *ours, int our_fd, struct vertex *theirs, int their_fd)
{
	int status;

	signal(SIGPIPE, SIG_IGN);
	graph__begin();
	theirs->child = fork();
	if (theirs->child < 0)
		die("fork");
	if (!theirs->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(our_fd);
		run_vertex(theirs);
		_exit(0);
	}
	close(their_fd);
	run_vertex(ours);
	close(our_fd); /* for the other, this is the end */
	if (waitpid(theirs->child, &status, 0) < 0 || status)
		die("%s", theirs->name);
	graph->ended = wall_ns();
}

/* A device waits for a thread whenever it does nothing for it: the rest of the run. */
HELPER void device_waited(struct vertex *device, struct vertex *user)
{
	uint64_t whole = graph->ended - graph->began;
	uint64_t busy = vertex__edge(user, device->name)->wait_ns;

	vertex__edge(device, user->name)->wait_ns = whole > busy ? whole - busy : 0;
}

static void print_vertices(void)
{
	const char *comma = "";

	for (int i = 0; i < graph->count; i++) {
		const struct vertex *vertex = &graph->vertices[i];

		if (!vertex->run)
			continue;
		printf("%s\n  \"%s\": {\"cpu_ns\": %" PRIu64 ", \"work\": %" PRIu64, comma,
		       vertex->name, vertex->cpu_ns, vertex->work);
		if (vertex->false_wakeups)
			printf(", \"false_wakeups\": %" PRIu64, vertex->false_wakeups);
		printf("}");
		comma = ",";
	}
}

static void print_edges(void)
{
	const char *comma = "";

	for (int i = 0; i < graph->count; i++) {
		const struct vertex *from = &graph->vertices[i];

		for (int k = 0; k < EDGES_MAX && *from->edges[k].to; k++) {
			printf("%s\n  {\"from\": \"%s\", \"to\": \"%s\", \"wait_ns\": %" PRIu64 "}",
			       comma, from->name, from->edges[k].to, from->edges[k].wait_ns);
			comma = ",";
		}
	}
}

HELPER void graph__print(const char *name)
{
	printf("{\"program\": \"knots\", \"case\": \"%s\", \"pid\": %d, \"seconds\": %.3f,\n"
	       " \"threads\": {",
	       name, getpid(), (double)(graph->ended - graph->began) / NS_PER_S);
	print_vertices();
	printf("},\n \"edges\": [");
	print_edges();
	printf("]}\n");
}
