// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "render/format.h"
#include "render/path/path_views.h"

static const struct {
	const char *in_account;
	const char *in_tree;
} categories[PATH_CATEGORY_COUNT] = {
	[PATH_RUNNING] = {"in functions seen", "running"},
	[PATH_ESTIMATED] = {"in functions, estimated", "estimated"},
	[PATH_NOT_SAMPLED] = {"running, not sampled", "running, not sampled"},
	[PATH_MEMORY] = {"reclaiming memory", "reclaiming memory"},
	[PATH_MEMORY_ESTIMATED] = {"reclaiming memory, estimated", "estimated"},
	[PATH_DISK_ACTIVE] = {"disk: active", "disk active"},
	[PATH_DISK_QUEUED] = {"disk: queued", "disk queued"},
	[PATH_TCP] = {"TCP: held back, sent again", "TCP"},
	[PATH_RUN_QUEUE] = {"run queue", "run queue"},
	[PATH_PREEMPTED] = {"preempted", "preempted"},
	[PATH_CPU_IDLE] = {"wakeup latency: CPU was idle", "CPU idle: wakeup latency"},
	[PATH_SLEEP] = {"deliberate sleeps", "timer"},
	[PATH_TIMEOUT] = {"waits that timed out", "timed out"},
	[PATH_STOPPED] = {"not allowed to run", "stopped:"},
	[PATH_PEER] = {"network peers, not recorded", "peer"},
	[PATH_INTERRUPT] = {"other interrupts", "interrupt"},
	[PATH_DELIVERY] = {"wakeups under way", "wakeup under way from"},
	[PATH_IDLE] = {"idle: waits for work", "idle"},
	[PATH_OTHER_PATH] = {"other path", "other path of"},
	[PATH_NOT_RECORDED] = {"threads that were not recorded", "not recorded:"},
	[PATH_GAP] = {"gaps: events were lost", "gap: events were lost"},
	[PATH_UNKNOWN] = {"unknown", "unknown"},
};

const char *path_category__text(enum path_category category)
{
	return categories[category].in_account;
}

static uint32_t leader_of(const struct model *model, uint32_t thread)
{
	uint32_t leader = model->processes.data[model->threads.data[thread].process].leader;

	return leader ? leader : thread;
}

void path_thread__text(const struct path_view *view, uint32_t index, uint64_t time, char *text,
		       size_t size)
{
	const struct model *model = view->model;
	const struct model_thread *thread = &model->threads.data[index];
	const struct model_thread *leader = &model->threads.data[leader_of(model, index)];
	uint32_t name = model_thread__comm(thread, time);
	uint32_t process = model_thread__comm(leader, time);

	snprintf(text, size, "%s/%u", model__string(model, process), thread->tgid);
	if (thread->tid != thread->tgid)
		format__append(text, size, " %s/%u",
			       name == process ? "thread" : model__string(model, name),
			       thread->tid);
}

void path_node__thread(const struct path_view *view, const struct path_node *node, char *text,
		       size_t size)
{
	const struct model *model = view->model;
	const struct model_thread *thread = &model->threads.data[node->thread];
	const char *process = model__string(model, node->process);

	if (node->processes)
		snprintf(text, size, "%s", process);
	else
		snprintf(text, size, "%s/%u", process, thread->tgid);
	if (node->name != node->process)
		format__append(text, size, " %s", model__string(model, node->name));
	else if (!node->several && thread->tid != thread->tgid)
		format__append(text, size, " thread");
	if (!node->several && thread->tid != thread->tgid)
		format__append(text, size, "/%u", thread->tid);
	if (node->processes)
		format__append(text, size, " (several)");
	else if (node->several)
		format__append(text, size, " (threads)");
}

static void leaf_text(const struct path_view *view, const struct path_node *node, char *text,
		      size_t size)
{
	const struct model *model = view->model;

	snprintf(text, size, "%s", categories[node->category].in_tree);
	switch ((enum path_category)node->category) {
	case PATH_DISK_ACTIVE:
	case PATH_DISK_QUEUED:
		if (node->id)
			format__append(text, size, " %s",
				       model__string(model, model->devices.data[node->id].name));
		break;
	case PATH_PEER:
	case PATH_STOPPED:
		format__append(text, size, " %s",
			       own_strings__text(&view->path->strings, node->id));
		break;
	case PATH_DELIVERY:
	case PATH_OTHER_PATH:
	case PATH_NOT_RECORDED: {
		char name[64];

		path_thread__text(view, node->id, view->path->from, name, sizeof(name));
		format__append(text, size, " %s", name);
		break;
	}
	default:
		break;
	}
}

void path_node__text(const struct path_view *view, const struct path_node *node, char *text,
		     size_t size)
{
	const struct model *model = view->model;
	const struct model_location *at;

	switch ((enum path_node_type)node->type) {
	case PATH_NODE_THREAD:
		path_node__thread(view, node, text, size);
		break;
	case PATH_NODE_WAIT:
		kind__describe(model, node->kind, node->object, text, size);
		break;
	case PATH_NODE_LEAF:
		leaf_text(view, node, text, size);
		break;
	case PATH_NODE_FRAME:
		at = &model->locations.data[node->location];
		if (node->name)
			snprintf(text, size, "%s", model__string(model, node->name));
		else if (at->dso)
			snprintf(text, size, "%s+0x%" PRIx64,
				 model__string(model, model->dsos.data[at->dso].name), at->address);
		else
			snprintf(text, size, "[unknown]");
		break;
	}
}
