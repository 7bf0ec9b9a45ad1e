// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/selection.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/error.h"
#include "render/format.h"

#define MAX_LISTED 8

bool selection__had_name(const struct model *model, const struct model_thread *thread,
			 const char *name)
{
	for (size_t i = 0; i < thread->comms.n; i++)
		if (!strcmp(model__string(model, thread->comms.data[i].name), name))
			return true;
	return false;
}

void selection__list(const struct model *model, const char *name, char *text, size_t size)
{
	size_t n = 0;

	*text = '\0';
	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		if (!model_thread__is_recorded(thread) ||
		    (name && !selection__had_name(model, thread, name)) ||
		    (!name && (thread->tid != thread->tgid || thread->flags & THREAD_KERNEL)))
			continue;
		if (n++ < MAX_LISTED)
			format__append(
				text, size, "%s%s (%u)", n > 1 ? ", " : "",
				model__string(model, model_thread__comm(thread, thread->ended)),
				thread->tid);
	}
	if (n > MAX_LISTED)
		format__append(text, size, ", %zu more", n - MAX_LISTED);
}

/* What was found so far: times since the epoch of the recording's clock. */
struct found {
	uint64_t from; /* of the window */
	uint64_t until;
	bool in_window;
	bool anywhere;
	bool helper; /* one that is left out */
	uint64_t first;
	uint64_t last;
};

/* Adds the times when @thread had a name that @filter selects. */
static void add_thread(const struct model *model, const struct sample_filter *filter,
		       const struct model_thread *thread, struct found *found)
{
	for (size_t i = 0; i < thread->comms.n; i++) {
		uint64_t from = i ? thread->comms.data[i].time : thread->created;
		uint64_t until =
			i + 1 < thread->comms.n ? thread->comms.data[i + 1].time : thread->ended;

		if (!sample_filter__comm(filter, model__string(model, thread->comms.data[i].name)))
			continue;
		if (!sample_filter__thread(filter, thread)) {
			found->helper = true;
			continue;
		}
		if (!found->anywhere || from < found->first)
			found->first = from;
		if (!found->anywhere || until > found->last)
			found->last = until;
		found->anywhere = true;
		found->in_window |= from < found->until && until >= found->from;
	}
}

static bool names_thread(const struct sample_filter *filter, const struct model_thread *thread)
{
	struct sample_filter with_helpers = *filter;

	with_helpers.helpers = true;
	return model_thread__is_recorded(thread) && sample_filter__thread(&with_helpers, thread);
}

/* The options that select threads, as they were given. */
static void selection_text(const struct sample_filter *filter, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < filter->comms.n; i++)
		format__append(text, size, "%s%s", i ? "," : " --comm ", filter->comms.data[i]);
	for (size_t i = 0; i < filter->pids.n; i++)
		format__append(text, size, "%s%u", i ? "," : " --pid ", filter->pids.data[i]);
	for (size_t i = 0; i < filter->tids.n; i++)
		format__append(text, size, "%s%u", i ? "," : " --tid ", filter->tids.data[i]);
}

static int explain_threads(const struct model *model, const struct sample_filter *filter,
			   const struct found *found)
{
	char text[512];

	selection_text(filter, text, sizeof(text));
	error__set(-ENODATA, "the recording has no thread for%s", text);
	if (found->helper) {
		error__hint("but one that was recorded only because it woke another: see --wakers");
		return -ENODATA;
	}
	selection__list(model, NULL, text, sizeof(text));
	error__hint("it has these processes: %s", text);
	return -ENODATA;
}

static int explain_time(const struct model *model, const struct found *found)
{
	uint64_t start = model->start;
	char from[24], until[24];

	if (found->from >= model->end && found->last <= found->from)
		error__set(-ENODATA, "--time begins after the end of the recording, which took %s",
			   duration__text(model->end - start, until));
	else
		error__set(-ENODATA, "the selected threads were not there in that time");
	error__hint("they were recorded from %s to %s after its start",
		    duration__text(found->first > start ? found->first - start : 0, from),
		    duration__text(found->last > start ? found->last - start : 0, until));
	return -ENODATA;
}

int selection__check(const struct model *model, const struct sample_filter *filter)
{
	struct found found = {
		.from = model->start + filter->from,
		.until = filter->until ? model->start + filter->until : MODEL_FOREVER,
	};

	if (!filter->comms.n && !filter->pids.n && !filter->tids.n && !filter->from &&
	    !filter->until)
		return 0;
	for (uint32_t t = 1; t < model->threads.n; t++)
		if (names_thread(filter, &model->threads.data[t]))
			add_thread(model, filter, &model->threads.data[t], &found);
	if (found.in_window)
		return 0;
	return found.anywhere ? explain_time(model, &found)
			      : explain_threads(model, filter, &found);
}
