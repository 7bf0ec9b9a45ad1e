// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/path_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/error.h"
#include "cmd/selection.h"

static const struct model_thread *thread_at(const struct model *model, uint32_t index)
{
	return &model->threads.data[index];
}

/* The last thread that had @tid, or 0. */
static uint32_t find_tid(const struct model *model, uint64_t tid)
{
	uint32_t found = 0;

	for (uint32_t t = 1; t < model->threads.n; t++)
		if (thread_at(model, t)->tid == tid &&
		    model_thread__is_recorded(thread_at(model, t)))
			found = t;
	return found;
}

/* The only thread called @name; if there are several, the only main thread of a process. */
static int find_name(const struct model *model, const char *name, uint32_t *thread)
{
	uint32_t found[2] = {}, n[2] = {};
	char text[512];

	for (uint32_t t = 1; t < model->threads.n; t++) {
		bool is_main = thread_at(model, t)->tid == thread_at(model, t)->tgid;

		if (!model_thread__is_recorded(thread_at(model, t)) ||
		    !selection__had_name(model, thread_at(model, t), name))
			continue;
		found[is_main] = t;
		n[is_main]++;
	}
	if (n[1] == 1 || n[0] + n[1] == 1) {
		*thread = n[1] ? found[1] : found[0];
		return 0;
	}
	if (n[0] + n[1]) {
		selection__list(model, name, text, sizeof(text));
		error__set(-EINVAL, "%u threads are called '%s'", n[0] + n[1], name);
		error__hint("choose one by its id, with --of: %s", text);
		return -EINVAL;
	}
	selection__list(model, NULL, text, sizeof(text));
	error__set(-ENOENT, "no thread in the recording is called '%s'", name);
	error__hint("it has these processes: %s", text);
	return -ENOENT;
}

/* The first target of the recording that was created in it: the command. */
static int find_command(const struct model *model, uint32_t *thread)
{
	char text[512];

	for (uint32_t t = 1; t < model->threads.n; t++) {
		if ((thread_at(model, t)->flags & (THREAD_TARGET | THREAD_CREATED)) !=
			    (THREAD_TARGET | THREAD_CREATED) ||
		    thread_at(model, t)->parent)
			continue;
		*thread = t;
		return 0;
	}
	selection__list(model, NULL, text, sizeof(text));
	error__set(-EINVAL, "whose path is to be shown?");
	error__hint("choose a process or thread, with --of: %s", text);
	return -EINVAL;
}

int path_target__check_trace(const struct model *model)
{
	if (model->trace)
		return 0;
	error__set(-EINVAL, "paths need every wait, and the recording has a sample of them");
	error__hint("record with --trace --wakers linked, or let dwell path do it: dwell path -- "
		    "COMMAND; dwell waits works with this recording");
	return -EINVAL;
}

int path_target__find(const struct model *model, const char *name, uint32_t *thread)
{
	char text[512], *end;
	uint64_t id;
	int err = path_target__check_trace(model);

	if (err)
		return err;
	if (!name)
		return find_command(model, thread);
	id = strtoull(name, &end, 10);
	if (*end || end == name)
		return find_name(model, name, thread);
	*thread = find_tid(model, id);
	if (*thread)
		return 0;
	selection__list(model, NULL, text, sizeof(text));
	error__set(-ENOENT, "process or thread %s is not in the recording", name);
	error__hint("it has these processes: %s", text);
	return -ENOENT;
}

int path_target__explain_empty(const struct model *model, uint32_t index)
{
	const struct model_thread *thread = thread_at(model, index);
	char from[24], until[24];

	error__set(-ENODATA, "thread %u was not there in that time", thread->tid);
	error__hint(
		"it was recorded from %s to %s after the start of the recording",
		duration__text(thread->created > model->start ? thread->created - model->start : 0,
			       from),
		duration__text(thread->ended > model->start ? thread->ended - model->start : 0,
			       until));
	return -ENODATA;
}
