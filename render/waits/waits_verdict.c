// SPDX-License-Identifier: BSD-2-Clause
/* The verdict as sentences, and limitations of the recording. */
#include <inttypes.h>
#include <string.h>

#include "analysis/waits/verdict.h"
#include "recording/loss_causes.h"
#include "render/format.h"
#include "render/waits/waits.h"

/* At most this many members of a knot are named. */
#define MAX_NAMED 6

/* Shares below this are not mentioned. */
#define NOTEWORTHY_PERCENT 5.0

/* A function with less of the CPU time is not named. */
#define NOTEWORTHY_CODE 0.2

double waits__percent(const struct waits *waits, uint64_t ns)
{
	return format__percent(ns, waits->graph->duration_ns);
}

const char *waits__share(const struct waits *waits, uint64_t ns, char text[static 24])
{
	double percent = waits__percent(waits, ns);

	if (percent < WAITS_IN_THREADS)
		snprintf(text, 24, "%.1f%%", percent);
	else
		snprintf(text, 24, "%.1f threads", percent / 100);
	return text;
}

void vertex__text(const struct waits *waits, uint32_t vertex, char *text, size_t size)
{
	const struct waitgraph_vertex *of = &waits->graph->vertices.data[vertex];
	const char *name = waitgraph_vertex__name(waits->graph, of);

	snprintf(text, size, "%s", *name ? name : "?");
	if (of->n > 1)
		format__append(text, size, " (%" PRIu32 " %s threads)", of->n,
			       of->merged == MERGED_SHORT_LIVED ? "short-lived" : "similar");
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
	case WAIT_DEVICE_IDLE:
		snprintf(text, size, "nothing in flight");
		break;
	case WAIT_TCP_IDLE:
		snprintf(text, size, "nothing held back");
		break;
	case WAIT_PEER_IDLE:
		snprintf(text, size, "not waited for");
		break;
	case WAIT_NO_TASK:
		snprintf(text, size, "no task");
		break;
	}
}

/* "cc1 (6 threads)" */
static void append_alike(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
			 size_t size)
{
	const struct waitgraph_vertex *vertices = waits->graph->vertices.data;
	uint32_t id = vertices[bottleneck->members.data[0]].id, n = 0;
	const struct model_thread *thread = &waits->model->threads.data[id];

	for (size_t i = 0; i < bottleneck->members.n; i++)
		n += vertices[bottleneck->members.data[i]].n;
	format__append(text, size, "%s (%" PRIu32 " threads)",
		       model__string(waits->model, model_thread__comm(thread, thread->ended)), n);
}

static void append_members(const struct waits *waits, const struct bottleneck *bottleneck,
			   char *text, size_t size)
{
	size_t n = bottleneck->members.n;

	if (bottleneck->alike) {
		append_alike(waits, bottleneck, text, size);
		return;
	}
	for (size_t i = 0; i < n && i < MAX_NAMED; i++) {
		char name[128];

		vertex__text(waits, bottleneck->members.data[i], name, sizeof(name));
		format__append(text, size, "%s%s", !i ? "" : i + 1 == n ? " and " : ", ", name);
	}
	if (n > MAX_NAMED)
		format__append(text, size, " and %zu more", n - MAX_NAMED);
}

static double running_percent(const struct bottleneck *bottleneck)
{
	return format__percent(bottleneck->running_ns,
			       bottleneck->running_ns + bottleneck->runnable_ns);
}

/*
 * What the members mainly wait for while none of them is busy; *@percent is its share of the
 * whole time.
 */
static const char *main_idle_cause(const struct bottleneck *bottleneck, double *percent)
{
	static const char *const what[CAUSE_TYPE_COUNT] = {
		[CAUSE_THREAD] = "threads outside of it",
		[CAUSE_DEVICE] = "devices",
		[CAUSE_PEER] = "the network",
		[CAUSE_TIMER] = "timers",
		[CAUSE_LIMIT] = "being allowed to run",
		[CAUSE_TCP] = "TCP",
		[CAUSE_QUEUE] = "network devices",
		[CAUSE_INTERRUPT] = "other interrupts",
		[CAUSE_UNKNOWN] = "wakeups that were not seen",
		[CAUSE_UNFINISHED] = "events that had not come by the end of the recording",
	};
	int most = 0;

	for (int type = 1; type < CAUSE_TYPE_COUNT; type++)
		if (bottleneck->idle_for[type] > bottleneck->idle_for[most])
			most = type;
	*percent = 100 * bottleneck->idle_for[most];
	return what[most];
}

static bool is_single(const struct waits *waits, const struct bottleneck *bottleneck)
{
	return bottleneck->members.n == 1 &&
	       waits->graph->vertices.data[bottleneck->members.data[0]].n == 1;
}

/* "64% of the time" of those who live for @whole. */
static const char *share_text(uint64_t part, uint64_t whole, char text[static 32])
{
	snprintf(text, 32, "%.0f%% of the time", format__percent(part, whole));
	return text;
}

/* What a knot waits for, and whether that is all. */
static void append_knot(const struct waits *waits, const struct verdict *verdict, char *text,
			size_t size)
{
	uint64_t all = verdict->inside_ns + verdict->outside_ns;
	double others = format__percent(verdict->outside_ns, all);
	double work = format__percent(verdict->kernel_ns, all + verdict->kernel_ns);
	const char *but = work < 100 * VERDICT_NOTHING ? "" : " but their next work";
	char name[128];

	if (others < 100 * VERDICT_NOTHING) {
		format__append(text, size, " wait for each other, and for nothing else%s.", but);
	} else if (others < 100 * VERDICT_LITTLE) {
		format__append(text, size, " wait for each other, and hardly for anything else%s.",
			       but);
	} else {
		vertex__text(waits, verdict->other->to, name, sizeof(name));
		format__append(text, size,
			       " wait for each other; %.0f%% of their waits are for others, mostly "
			       "%s.",
			       others, name);
	}
}

/* A member that is limited by its own work: what it waits for is said, too, and where it works. */
static void append_work(const struct waits *waits, const struct bottleneck *bottleneck,
			const struct verdict *verdict, bool one, char *text, size_t size)
{
	const struct verdict_code code = verdict__code(waits->graph, bottleneck);
	uint64_t waited = verdict->inside_ns + verdict->outside_ns + verdict->kernel_ns;
	double percent = format__percent(waited, verdict->lifetime_ns);
	char share[32];

	if (percent < 100 * VERDICT_NOTHING)
		format__append(text, size, "%s for nothing", one ? " waits" : " wait");
	else if (percent < 100 * VERDICT_LITTLE)
		format__append(text, size, "%s little", one ? " waits" : " wait");
	else
		format__append(text, size, "%s %s%s", one ? " waits" : " wait",
			       2 * (verdict->work_ns + verdict->kernel_ns) > waited ? "for work "
										    : "",
			       share_text(waited, verdict->lifetime_ns, share));
	format__append(text, size, ": it is the work %s that takes %s", one ? "it does" : "they do",
		       percent < 100 * VERDICT_LITTLE ? "the time" : "the rest");
	if (code.name && code.share >= NOTEWORTHY_CODE)
		format__append(text, size, ", %.0f%% of it in %s", 100 * code.share,
			       model__string(waits->model, code.name));
	format__append(text, size, ".");
}

/* Members of which no work is known, only that they are waited for: peers, devices, TCP. */
static void append_awaited(const struct waits *waits, const struct verdict *verdict, bool one,
			   char *text, size_t size)
{
	const struct waitgraph_vertex *vertices = waits->graph->vertices.data;
	char name[128], share[32], what[256];

	format__append(text, size, one ? " takes the time" : " take the time");
	if (verdict->awaited) {
		const struct waitgraph_vertex *from = &vertices[verdict->awaited->from];

		vertex__text(waits, verdict->awaited->from, name, sizeof(name));
		format__append(text, size, ": %s %s for it %s", name,
			       from->n > 1 ? "wait" : "waits",
			       share_text(verdict->awaited->plain_ns, from->lifetime_ns, share));
		if (vertices[verdict->awaited->to].type == CAUSE_TCP) {
			cause__text(waits->model,
				    &waits->graph->causes.data[verdict->awaited->cause], what,
				    sizeof(what));
			format__append(text, size, ", %s", what);
		}
	}
	format__append(text, size, ".");
}

static void append_cpus(const struct bottleneck *bottleneck, const struct verdict *verdict,
			bool one, char *text, size_t size)
{
	uint64_t waited = verdict->inside_ns + verdict->outside_ns + verdict->kernel_ns;
	char share[32];

	if (bottleneck->runnable_ns >= waited)
		format__append(text, size, "%s most for a CPU.", one ? " waits" : " wait");
	else
		format__append(text, size, "%s for a CPU %s, longer than %s.",
			       one ? " waits" : " wait",
			       share_text(bottleneck->runnable_ns, verdict->lifetime_ns, share),
			       one ? "it runs" : "they run");
}

/* What members do with a lock held that limits the others. False: there is no such lock. */
static bool append_lock(const struct waits *waits, const struct bottleneck *bottleneck,
			const char *who, char *text, size_t size)
{
	const struct verdict_lock *lock = waits__lock(waits, bottleneck);
	char name[1024];

	if (!lock || !lock->sleeps)
		return false;
	waits__lock_name(waits, lock, name, sizeof(name));
	format__append(text, size,
		       " %s with a lock held that others wait for: %s. Hold it for less time, or "
		       "release it before sleeping.",
		       who, name);
	return true;
}

static void append_sleep(const struct waits *waits, const struct bottleneck *bottleneck, bool one,
			 char *text, size_t size)
{
	char name[128];

	if (append_lock(waits, bottleneck, one ? "sleeps" : "sleep", text, size))
		return;
	vertex__text(waits, bottleneck->awaited_by->from, name, sizeof(name));
	format__append(text, size,
		       " %s while %s waits for %s %.0f%% of the time: shorten this sleep, or let "
		       "more of them run in parallel.",
		       one ? "sleeps" : "sleep", name, one ? "it" : "them",
		       waits__percent(waits, bottleneck->awaited_by->plain_ns));
}

/* What does not allow the members to run, for how long; the longest such wait says why. */
static void append_limit(const struct waits *waits, const struct verdict *verdict, bool one,
			 char *text, size_t size)
{
	const struct waitgraph *graph = waits->graph;
	char share[32], what[256];

	format__append(text, size, " %s not allowed to run %s", one ? "is" : "are",
		       share_text(verdict->stopped_ns, verdict->lifetime_ns, share));
	if (verdict->limit) {
		cause__text(waits->model, &graph->causes.data[verdict->limit->cause], what,
			    sizeof(what));
		format__append(text, size, ": %s", what);
	}
	format__append(text, size, ".");
}

/* How long the waits of members are for work, if most of them are. */
static void append_for_work(const struct verdict *verdict, char *text, size_t size)
{
	char share[32];

	if (2 * verdict->work_ns > verdict->inside_ns + verdict->outside_ns)
		format__append(text, size, ", %s for work",
			       share_text(verdict->work_ns, verdict->lifetime_ns, share));
	format__append(text, size, ".");
}

static void append_finding(const struct waits *waits, const struct bottleneck *bottleneck,
			   char *text, size_t size)
{
	const struct verdict verdict = verdict__of(waits->graph, bottleneck);
	bool one = is_single(waits, bottleneck);
	double idle_percent;

	if (bottleneck->polls) {
		format__append(text, size, "%s for work without blocking: %s for what %s.",
			       one ? " polls" : " poll", one ? "it waits" : "they wait",
			       one ? "it polls" : "they poll");
		return;
	}
	switch (bottleneck->type) {
	case BOTTLENECK_KNOT:
		append_knot(waits, &verdict, text, size);
		append_lock(waits, bottleneck, "They sleep", text, size);
		break;
	case BOTTLENECK_WORK:
		if (bottleneck->has_peer || !verdict.lifetime_ns)
			append_awaited(waits, &verdict, one, text, size);
		else
			append_work(waits, bottleneck, &verdict, one, text, size);
		break;
	case BOTTLENECK_MORE_CPUS:
		append_cpus(bottleneck, &verdict, one, text, size);
		break;
	case BOTTLENECK_LIMIT:
		append_limit(waits, &verdict, one, text, size);
		break;
	case BOTTLENECK_SLEEP:
		if (bottleneck->awaited_by) {
			append_sleep(waits, bottleneck, one, text, size);
			break;
		}
		/* fall through */
	case BOTTLENECK_OUTSIDE:
		format__append(text, size, "%s for %s", one ? " waits" : " wait",
			       main_idle_cause(bottleneck, &idle_percent));
		append_for_work(&verdict, text, size);
		break;
	}
}

static void append_activity(const struct waits *waits, const struct bottleneck *bottleneck,
			    char *text, size_t size)
{
	bool one = is_single(waits, bottleneck);
	double active = 100 * bottleneck->active, idle_percent;
	const char *idle = main_idle_cause(bottleneck, &idle_percent);

	/* A member that waits for a CPU would be busy. */
	format__append(text, size, " %s busy%s %.0f%% of the time",
		       one ? "It is" : "At least one of them is",
		       !bottleneck->runnable_ns ||
				       100 - running_percent(bottleneck) < 2 * NOTEWORTHY_PERCENT
			       ? ""
			       : ", or waits for a CPU,",
		       active);
	if (idle_percent > NOTEWORTHY_PERCENT && bottleneck->type < BOTTLENECK_OUTSIDE)
		format__append(text, size, ", and otherwise %s for %s", one ? "waits" : "they wait",
			       idle);
	format__append(text, size, ".");
}

/* What is known of members that were not recorded. */
static void append_unrecorded(const struct waits *waits, const struct bottleneck *bottleneck,
			      char *text, size_t size)
{
	const struct waitgraph_vertex *vertices = waits->graph->vertices.data;
	size_t n = 0, named = 0;

	for (size_t i = 0; i < bottleneck->members.n; i++)
		n += vertices[bottleneck->members.data[i]].inferred;
	if (!n)
		return;
	format__append(text, size, " What ");
	for (size_t i = 0; i < bottleneck->members.n && named < MAX_NAMED; i++) {
		uint32_t member = bottleneck->members.data[i];
		char name[128];

		if (!vertices[member].inferred)
			continue;
		vertex__text(waits, member, name, sizeof(name));
		format__append(text, size, "%s%s",
			       !named		? ""
			       : named + 1 == n ? " and "
						: ", ",
			       name);
		named++;
	}
	if (n > named)
		format__append(text, size, " and %zu more", n - named);
	format__append(text, size,
		       " %s was not recorded: while recorded threads wait for %s, %s as busy, and "
		       "otherwise as waiting for requests.",
		       n > 1 ? "do" : "does", n > 1 ? "them" : "it",
		       n > 1 ? "they count" : "it counts");
}

bool verdict__cpus(const struct waits *waits, char *text, size_t size)
{
	struct machine_use use = verdict__machine(waits->graph, waits->bottlenecks);

	*text = '\0';
	if (!use.full)
		return false;
	snprintf(text, size,
		 "The CPUs are full: %.0f%% busy, %.0f%% by %s. %s, and shorter waits alone would "
		 "gain less than their length.",
		 100 * use.busy, 100 * use.recorded,
		 sample_filter__active(waits->filter) ? "the selected threads"
						      : "what was recorded",
		 2 * use.recorded > use.busy ? "Less computing, or more CPUs, would help"
					     : "Other programs use most of them");
	return true;
}

void verdict__note(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size)
{
	struct machine_use use = verdict__machine(waits->graph, waits->bottlenecks);
	double running = running_percent(bottleneck);

	*text = '\0';
	if (waits__percent(waits, bottleneck->runnable_ns) < 2 * NOTEWORTHY_PERCENT ||
	    100 - running < 2 * NOTEWORTHY_PERCENT)
		return;
	format__append(text, size, "While runnable, its threads wait for a CPU %.0f%% of the time",
		       100 - running);
	if (use.busy < 0 || 1 - use.busy < VERDICT_FULL_IDLE)
		format__append(text, size,
			       ": they would gain from more CPUs, or a higher priority.");
	else
		format__append(text, size, ", though the CPUs are %.0f%% idle.",
			       100 * (1 - use.busy));
}

/* Says why there is no bottleneck. */
static void append_none(const struct waits *waits, char *text, size_t size)
{
	struct no_verdict none = verdict__none(waits->graph, waits->bottlenecks);
	char from[128], to[128];

	if (none.only_sleeps) {
		format__append(text, size, "The recorded threads only sleep%s.",
			       none.awaited ? "" : ", and no other thread waits for them");
	} else if (none.longest_share * 100 >= NOTEWORTHY_PERCENT) {
		vertex__text(waits, none.longest->from, from, sizeof(from));
		vertex__text(waits, none.longest->to, to, sizeof(to));
		format__append(text, size,
			       "No thread or device is busy all the time. The longest wait is that "
			       "of %s for %s.",
			       from, to);
	} else {
		format__append(text, size, "%s",
			       waits->graph->edges.n ? "No wait is long enough to matter."
						     : "No thread waited for another.");
	}
}

void verdict__text(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size)
{
	*text = '\0';
	if (!bottleneck) {
		append_none(waits, text, size);
		return;
	}
	append_members(waits, bottleneck, text, size);
	append_finding(waits, bottleneck, text, size);
	append_activity(waits, bottleneck, text, size);
	append_unrecorded(waits, bottleneck, text, size);
}

struct unknown_waits {
	uint64_t unseen_ns;  /* length of waits, not for work, whose wakeup was not seen */
	uint64_t outside_ns; /* length of waits for threads that were not recorded */
	uint32_t outside;    /* the vertex of these that is waited for longest */
	uint64_t most_ns;
	uint64_t all_ns; /* length of all waits, but for work */
};

static struct unknown_waits find_unknowns(const struct waitgraph *graph)
{
	struct unknown_waits unknown = {};

	for (size_t i = 0; i < graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];
		const struct waitgraph_vertex *from = &graph->vertices.data[edge->from];
		const struct waitgraph_vertex *to = &graph->vertices.data[edge->to];

		unknown.all_ns += edge->plain_ns - edge->idle_ns;
		if (to->type == CAUSE_UNKNOWN)
			unknown.unseen_ns += edge->plain_ns - edge->idle_ns;
		if (((to->type != CAUSE_THREAD || to->recorded) && !to->pid) || from->kernel ||
		    from->type != CAUSE_THREAD)
			continue;
		unknown.outside_ns += edge->plain_ns;
		if (edge->plain_ns > unknown.most_ns) {
			unknown.most_ns = edge->plain_ns;
			unknown.outside = edge->to;
		}
	}
	return unknown;
}

static void report_unknown_wakers(const struct waits *waits, const struct unknown_waits *unknown,
				  void (*each)(void *context, const char *text), void *context)
{
	char text[512], name[128];

	if (format__percent(unknown->unseen_ns, unknown->all_ns) >= NOTEWORTHY_PERCENT / 10) {
		snprintf(text, sizeof(text),
			 "For %.1f%% of the waiting time the wakeup was not seen (lost or hidden "
			 "events).",
			 format__percent(unknown->unseen_ns, unknown->all_ns));
		each(context, text);
	}
	if (waits__percent(waits, unknown->outside_ns) >= NOTEWORTHY_PERCENT) {
		const struct waitgraph_vertex *outside =
			&waits->graph->vertices.data[unknown->outside];
		char pid[32] = "";

		vertex__text(waits, unknown->outside, name, sizeof(name));
		if (outside->type == CAUSE_THREAD) /* a peer's is in its name */
			snprintf(pid, sizeof(pid), " (pid %" PRIu32 ")",
				 waits->model->threads.data[outside->id].tgid);
		snprintf(text, sizeof(text),
			 "%s%s and other threads that are waited for were not recorded: see dwell "
			 "record --wakers all, -p and -a.",
			 name, pid);
		each(context, text);
	}
}

void verdict__limitations(const struct waits *waits, void (*each)(void *context, const char *text),
			  void *context)
{
	struct unknown_waits unknown = find_unknowns(waits->graph);
	const struct model *model = waits->model;
	uint64_t lost = 0, unannounced = 0;
	char text[512];

	report_unknown_wakers(waits, &unknown, each, context);
	for (size_t i = 0; i < model->losts.n; i++) {
		const char *cause = model__string(model, model->losts.data[i].cause);

		if (loss_cause__hides_waits(cause))
			lost += model->losts.data[i].count;
	}
	for (size_t i = 1; i < model->threads.n; i++)
		unannounced += !model->threads.data[i].announced;
	if (lost) {
		snprintf(text, sizeof(text),
			 "Events were lost (%" PRIu64 "): waits may be missing, or have no wakeup.",
			 lost);
		each(context, text);
	}
	if (unannounced) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " threads have waits, but no record of their name and process.",
			 unannounced);
		each(context, text);
	}
	if (model->warning) {
		snprintf(text, sizeof(text), "The recording is incomplete: %s.", model->warning);
		each(context, text);
	}
	if (waits->graph->stats.overlapping) {
		snprintf(text, sizeof(text),
			 "%zu waits begin before the previous wait of the same thread ends: the "
			 "clock went back, or the file is damaged. They are ignored.",
			 waits->graph->stats.overlapping);
		each(context, text);
	}
}
