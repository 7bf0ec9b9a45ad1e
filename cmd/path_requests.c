// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/path_requests.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "render/format.h"

/* So many requests around the median are as good as all of them. */
#define MEDIAN_REQUESTS 1000

/* The sources that the recording has requests of: "tcp:6379, handle". Returns their number. */
static size_t list_sources(const struct model *model, char *text, size_t size)
{
	ARRAY(uint32_t) names = {};
	size_t n;

	*text = '\0';
	for (size_t i = 0; i < model->spans.n; i++) {
		uint32_t name = model->spans.data[i].name;
		bool is_known = false;

		for (size_t k = 0; k < names.n && !is_known; k++)
			is_known = names.data[k] == name;
		if (is_known || array__push(&names, name))
			continue;
		format__append(text, size, "%s%s", names.n > 1 ? ", " : "",
			       model__string(model, name));
	}
	n = names.n;
	array__free(&names);
	return n;
}

static uint32_t find_source(const struct model *model, const char *source)
{
	for (size_t i = 0; i < model->spans.n; i++)
		if (!strcmp(model__string(model, model->spans.data[i].name), source))
			return model->spans.data[i].name;
	return 0;
}

static int explain_none(const struct model *model, const char *source)
{
	char sources[512];

	if (list_sources(model, sources, sizeof(sources))) {
		error__set(-ENOENT, "the recording has no requests of '%s'", source);
		error__hint("it has requests of: %s", sources);
		return -ENOENT;
	}
	error__set(-ENOENT, "no request of '%s' ended while it was recorded",
		   source ? source : "any source");
	error__hint("record with --request %s while there are requests to a program that is "
		    "recorded",
		    source ? source : "tcp:PORT, or what else dwell record --help lists");
	return -ENOENT;
}

/* Sets *@name to that of the source to be shown. */
static int choose_source(const struct model *model, const char *source, uint32_t *name)
{
	char sources[512];

	if (source) {
		*name = find_source(model, source);
		return *name ? 0 : explain_none(model, source);
	}
	switch (list_sources(model, sources, sizeof(sources))) {
	case 0:
		return explain_none(model, NULL);
	case 1:
		*name = model->spans.data[0].name;
		return 0;
	default:
		error__set(-EINVAL, "which requests?");
		error__hint("choose one source, with --request: %s", sources);
		return -EINVAL;
	}
}

static int add_window(struct path_requests *requests, const struct path_window *window, bool beside)
{
	return beside ? array__push(&requests->beside, *window)
		      : array__push(&requests->windows, *window);
}

/* Of a tagged request, the times in which threads had it. */
static int add_parts(const struct model *model, const struct model_span *span,
		     struct path_requests *requests, bool beside)
{
	bool continues = false;

	for (uint32_t i = 0; i < span->n_parts; i++) {
		const struct model_span_part *part = &model->span_parts.data[span->part + i];
		struct path_window window = {part->thread, part->begin, part->end, continues};

		if (!part->thread || part->begin == part->end)
			continue;
		if (add_window(requests, &window, beside))
			return -ENOMEM;
		continues = true;
	}
	return 0;
}

static int add_windows(const struct requests *all, const struct requests_group *group,
		       struct path_requests *requests, bool beside)
{
	int err = 0;

	for (size_t i = group->first + group->n; i-- > group->first && !err;) {
		const struct model_span *span = requests__at(all, i);
		struct path_window window = {span->thread, span->arrived, span->ended, false};

		err = span->n_parts ? add_parts(all->model, span, requests, beside)
				    : add_window(requests, &window, beside);
	}
	return err;
}

int path_requests__choose(const struct model *model, const struct path_request_options *options,
			  struct path_requests *requests)
{
	struct requests_filter filter = {.from = options->from, .until = options->until};
	struct requests *all = &requests->all;
	int err = choose_source(model, options->source, &filter.name);

	err = err ? err : requests__find(model, &filter, all);
	if (!err && !all->spans.n) {
		error__set(-ENOENT, "no request of '%s' lies within that time",
			   model__string(model, filter.name));
		error__hint("the recording has %zu in all", model->spans.n);
		return -ENOENT;
	}
	if (err)
		return err;
	requests->shown = requests__slowest(all, options->slowest ? options->slowest : SIZE_MAX);
	if (options->quantile > 0)
		requests->shown = requests__above(all, options->quantile / 100);
	if (options->quantile > 0 || options->slowest)
		requests->compared = requests__median(all, MEDIAN_REQUESTS);
	err = add_windows(all, &requests->shown, requests, false);
	return err ? err : add_windows(all, &requests->compared, requests, true);
}

void path_requests__free(struct path_requests *requests)
{
	requests__free(&requests->all);
	array__free(&requests->windows);
	array__free(&requests->beside);
}
