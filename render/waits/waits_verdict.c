// SPDX-License-Identifier: BSD-2-Clause
/* What limits the program, in words, and what the recording cannot tell. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "render/format.h"
#include "render/waits/waits.h"

/* Members of a knot that are named one by one. */
#define NAMED 6

/* From which part of a time on it is worth a word. */
#define NOTEWORTHY 5.0

double waits__percent(const struct waits *waits, uint64_t ns)
{
	return format__percent(ns, waits->graph->duration_ns);
}

static void __attribute__((format(printf, 3, 4))) say(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	if (used < size)
		vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

void vertex__text(const struct waits *waits, uint32_t vertex, char *text, size_t size)
{
	const struct waitgraph_vertex *of = &waits->graph->vertices.data[vertex];
	const char *name = waitgraph_vertex__name(waits->graph, of);

	snprintf(text, size, "%s", *name ? name : "?");
	if (of->n > 1)
		say(text, size, " (%" PRIu32 " %s threads)", of->n,
		    of->merged == MERGED_SHORT_LIVED ? "short-lived" : "like");
}

void cause__text(const struct model *model, const struct waitgraph_cause *cause, char *text,
		 size_t size)
{
	switch ((enum wait_origin)cause->origin) {
	case WAIT_BLOCKED:
		kind__describe(model, cause->kind, cause->object, text, size);
		break;
	case WAIT_SPIN:
		snprintf(text, size, "busy waiting");
		break;
	case WAIT_IDLE:
		snprintf(text, size, "nothing in flight");
		break;
	case WAIT_NO_TASK:
		snprintf(text, size, "no task");
		break;
	}
}

static void say_members(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
			size_t size)
{
	size_t n = bottleneck->members.n;

	for (size_t i = 0; i < n && i < NAMED; i++) {
		char name[128];

		vertex__text(waits, bottleneck->members.data[i], name, sizeof(name));
		say(text, size, "%s%s", !i ? "" : i + 1 == n ? " and " : ", ", name);
	}
	if (n > NAMED)
		say(text, size, " and %zu more", n - NAMED);
}

static double part_running(const struct bottleneck *bottleneck)
{
	return format__percent(bottleneck->running_ns,
			       bottleneck->running_ns + bottleneck->runnable_ns);
}

/* What those of a bottleneck that is not busy wait for most; in @part for how much of the time. */
static const char *most_idle_for(const struct bottleneck *bottleneck, double *part)
{
	static const char *const what[SOURCE_TYPE_COUNT] = {
		[CAUSE_THREAD] = "threads that are not a part of it",
		[CAUSE_DEVICE] = "devices",
		[CAUSE_PEER] = "the network",
		[CAUSE_TIMER] = "time to pass",
		[CAUSE_INTERRUPT] = "other interrupts",
		[CAUSE_UNKNOWN] = "wakeups that were not seen",
		[CAUSE_END] = "something that had not come when the recording ended",
	};
	int most = 0;

	for (int type = 1; type < SOURCE_TYPE_COUNT; type++)
		if (bottleneck->idle_for[type] > bottleneck->idle_for[most])
			most = type;
	*part = 100 * bottleneck->idle_for[most];
	return what[most];
}

static bool is_one(const struct waits *waits, const struct bottleneck *bottleneck)
{
	return bottleneck->members.n == 1 &&
	       waits->graph->vertices.data[bottleneck->members.data[0]].n == 1;
}

static void say_type(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		     size_t size)
{
	char name[128];
	double part;
	bool one = is_one(waits, bottleneck);

	switch (bottleneck->type) {
	case BOTTLENECK_KNOT:
		say(text, size, " wait for each other, and for nobody else.");
		break;
	case BOTTLENECK_WORK:
		say(text, size, "%s %s: it is the work %s that takes the time.",
		    one ? " waits" : " wait", bottleneck->edges.n ? "little" : "for nobody",
		    one ? "it does" : "they do");
		break;
	case BOTTLENECK_MORE_CPUS:
		say(text, size, "%s most for a CPU.", one ? " waits" : " wait");
		break;
	case BOTTLENECK_SLEEP:
		if (bottleneck->awaited_by) {
			vertex__text(waits, bottleneck->awaited_by->from, name, sizeof(name));
			say(text, size,
			    "%s for time to pass while %s waits for %s %.0f%% of the time: this "
			    "sleep "
			    "has to become shorter, or more of it to happen at once.",
			    one ? " waits" : " wait", name, one ? "it" : "them",
			    waits__percent(waits, bottleneck->awaited_by->plain_ns));
			break;
		}
		/* fall through */
	case BOTTLENECK_OUTSIDE:
		say(text, size, "%s for %s.", one ? " waits" : " wait",
		    most_idle_for(bottleneck, &part));
		break;
	}
}

static void say_how_busy(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
			 size_t size)
{
	bool one = is_one(waits, bottleneck);
	double active = 100 * bottleneck->active, part;
	const char *idle = most_idle_for(bottleneck, &part);

	say(text, size, " %s at work %.0f%% of the time", one ? "It is" : "Something of it is",
	    active);
	if (part > NOTEWORTHY && bottleneck->type < BOTTLENECK_OUTSIDE)
		say(text, size, ", and otherwise waits for %s", idle);
	say(text, size, ".");
}

void verdict__note(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size)
{
	uint64_t busy = model__meta_number(waits->model, "machine_busy_ns", 0);
	uint64_t idle = model__meta_number(waits->model, "machine_idle_ns", 0);
	double running = part_running(bottleneck);

	*text = '\0';
	if (waits__percent(waits, bottleneck->runnable_ns) < 2 * NOTEWORTHY ||
	    100 - running < 2 * NOTEWORTHY)
		return;
	say(text, size, "Of the time its threads could run they wait %.0f%% for a CPU",
	    100 - running);
	if (!busy)
		say(text, size, ": they would gain from more CPUs, or a higher priority.");
	else if (format__percent(idle, busy + idle) < 3 * NOTEWORTHY)
		say(text, size,
		    ", and the CPUs are %.0f%% busy: more CPUs would help, and shorter waits "
		    "alone less than they are long.",
		    format__percent(busy, busy + idle));
	else
		say(text, size, ", though the CPUs are %.0f%% idle.",
		    format__percent(idle, busy + idle));
}

static const char *why_none(const struct waits *waits)
{
	if (waits->bottlenecks->all.n)
		return "All that was asked for waits for time to pass, and nobody waits for that.";
	return waits->graph->edges.n ? "No wait is long enough to say anything about it."
				     : "Nobody waited for anybody.";
}

void verdict__text(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size)
{
	*text = '\0';
	if (!bottleneck) {
		say(text, size, "%s", why_none(waits));
		return;
	}
	say_members(waits, bottleneck, text, size);
	say_type(waits, bottleneck, text, size);
	say_how_busy(waits, bottleneck, text, size);
}

struct unknown_parts {
	uint64_t unseen_ns;  /* waits whose wakeup was not seen */
	uint64_t outside_ns; /* for threads that were not recorded */
	uint32_t outside;    /* the one waited for most, a vertex */
	uint64_t most_ns;
	uint64_t all_ns;
};

static struct unknown_parts find_unknowns(const struct waitgraph *graph)
{
	struct unknown_parts parts = {};

	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		const struct waitgraph_vertex *from = &graph->vertices.data[edge->from];
		const struct waitgraph_vertex *to = &graph->vertices.data[edge->to];

		parts.all_ns += edge->plain_ns;
		if (to->type == CAUSE_UNKNOWN)
			parts.unseen_ns += edge->plain_ns;
		if (to->type != CAUSE_THREAD || to->recorded || from->kernel ||
		    from->type != CAUSE_THREAD)
			continue;
		parts.outside_ns += edge->plain_ns;
		if (edge->plain_ns > parts.most_ns) {
			parts.most_ns = edge->plain_ns;
			parts.outside = edge->to;
		}
	}
	return parts;
}

static void unknown_wakers(const struct waits *waits, const struct unknown_parts *parts,
			   void (*each)(void *context, const char *text), void *context)
{
	char text[512], name[128];

	if (format__percent(parts->unseen_ns, parts->all_ns) >= NOTEWORTHY / 10) {
		snprintf(text, sizeof(text),
			 "For %.1f%% of the waiting nobody saw who ended it (lost or hidden "
			 "events).",
			 format__percent(parts->unseen_ns, parts->all_ns));
		each(context, text);
	}
	if (waits__percent(waits, parts->outside_ns) >= NOTEWORTHY) {
		const struct waitgraph_vertex *outside =
			&waits->graph->vertices.data[parts->outside];
		const struct model_thread *thread = &waits->model->threads.data[outside->id];

		vertex__text(waits, parts->outside, name, sizeof(name));
		snprintf(text, sizeof(text),
			 "What %s (pid %" PRIu32
			 ") and others that were not recorded wait for is not "
			 "known: see dwell record --wakers all, -p and -a.",
			 name, thread->tgid);
		each(context, text);
	}
}

void verdict__unknowns(const struct waits *waits, void (*each)(void *context, const char *text),
		       void *context)
{
	struct unknown_parts parts = find_unknowns(waits->graph);
	const struct model *model = waits->model;
	uint64_t lost = 0, unannounced = 0;
	char text[512];

	unknown_wakers(waits, &parts, each, context);
	for (size_t i = 0; i < model->losts.n; i++)
		if (!strstr(model__string(model, model->losts.data[i].cause), "hidden"))
			lost += model->losts.data[i].count;
	for (size_t i = 1; i < model->threads.n; i++)
		unannounced += !model->threads.data[i].announced;
	if (lost) {
		snprintf(text, sizeof(text),
			 "Events were lost (%" PRIu64 "): waits may be missing, or have no end.",
			 lost);
		each(context, text);
	}
	if (unannounced) {
		snprintf(text, sizeof(text),
			 "Of %" PRIu64 " threads nothing but their waits is known.", unannounced);
		each(context, text);
	}
	if (model->warning) {
		snprintf(text, sizeof(text), "The file is not whole: %s.", model->warning);
		each(context, text);
	}
	if (waits->graph->stats.overlapping) {
		snprintf(
			text, sizeof(text),
			"%zu waits begin before the same thread's last one is over: the clock went "
			"back, or the file is damaged. They count for nothing.",
			waits->graph->stats.overlapping);
		each(context, text);
	}
}
