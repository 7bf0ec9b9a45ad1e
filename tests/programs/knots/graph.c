/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/knots/graph.h"

#include "tests/programs/common/switch_log.h"

#include <sys/mman.h>

struct options options = {
	.seconds = 4,
	.dir = "/var/tmp",
};

struct graph *graph;
uint64_t turns_per_ms;

void graph__create(void)
{
	graph = mmap(NULL, sizeof(*graph), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (graph == MAP_FAILED)
		die("mmap");
}

bool graph__time_left(void)
{
	return wall_ns() < graph->deadline;
}

struct vertex *vertex__add(const char *name, void (*run)(struct vertex *self))
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

void vertex__separate(struct vertex *one, struct vertex *two)
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

struct edge *vertex__edge(struct vertex *from, const char *to)
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

void edge__add(struct edge *edge, uint64_t ns)
{
	__atomic_fetch_add(&edge->wait_ns, ns, __ATOMIC_RELAXED);
}

static __thread struct switch_log own_log;

struct wait wait__begin(void)
{
	struct wait wait;

	wait.cpu = switch_log__cpu(&own_log, &wait.wall);
	return wait;
}

uint64_t wait__length(struct wait wait)
{
	struct wait now = wait__begin();
	int64_t ns = (now.wall - wait.wall) - (now.cpu - wait.cpu);

	return ns > 0 ? ns : 0;
}

uint64_t vertex__waited(struct vertex *from, const char *to, struct wait wait)
{
	uint64_t ns = wait__length(wait);

	edge__add(vertex__edge(from, to), ns);
	return ns;
}

void vertex__worked(struct vertex *self)
{
	__atomic_fetch_add(&self->work, 1, __ATOMIC_RELAXED);
}

void *run_vertex(void *arg)
{
	struct vertex *self = arg;
	uint64_t begin, logged, wall, counted;

	set_name(self->name);
	stay_on(self->cpu);
	if (!self->many)
		switch_log__open_switches(&own_log);
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	logged = switch_log__cpu(&own_log, &wall);
	self->run(self);
	logged = switch_log__cpu(&own_log, &wall) - logged;
	counted = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	__atomic_fetch_add(&self->cpu_ns, counted, __ATOMIC_RELAXED);
	if (counted > logged)
		__atomic_fetch_add(&self->early_ns, counted - logged, __ATOMIC_RELAXED);
	return NULL;
}

void graph__begin(void)
{
	graph->began = wall_ns();
	graph->deadline = graph->began + options.seconds * NS_PER_S;
}

void graph__run_threads(void)
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

void graph__run_processes(struct vertex *ours, int our_fd, struct vertex *theirs, int their_fd)
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
	close(our_fd); /* the end of file for the other */
	if (waitpid(theirs->child, &status, 0) < 0 || status)
		die("%s", theirs->name);
	graph->ended = wall_ns();
}

void vertex__device_waited(struct vertex *device, struct vertex *user)
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
		printf("%s\n  \"%s\": {\"cpu_ns\": %" PRIu64 ", \"early_ns\": %" PRIu64
		       ", \"work\": %" PRIu64,
		       comma, vertex->name, vertex->cpu_ns, vertex->early_ns, vertex->work);
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

void graph__print(const char *name)
{
	printf("{\"program\": \"knots\", \"case\": \"%s\", \"pid\": %d, \"seconds\": %.3f,\n"
	       " \"threads\": {",
	       name, getpid(), (double)(graph->ended - graph->began) / NS_PER_S);
	print_vertices();
	printf("},\n \"edges\": [");
	print_edges();
	printf("]}\n");
}
