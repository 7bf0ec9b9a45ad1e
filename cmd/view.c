// SPDX-License-Identifier: BSD-2-Clause
/* Shared by the commands that read a recording. */
#include "cmd/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "privsep/privsep.h"
#include "recording/wait_class.h"

#define DEFAULT_INPUT "dwell.data"

int view__each(const char *value, void *context,
	       int (*item)(void *context, const char *text, size_t n))
{
	for (;;) {
		size_t n = strcspn(value, ",");
		int err = n ? item(context, value, n) : 0;

		if (err || !value[n])
			return err;
		value += n + 1;
	}
}

int view__set_idle(void *options, const char *value)
{
	struct view_options *view = options;

	if (!value || !strcmp(value, "show"))
		view->idle = IDLE_VIEW_SHOW;
	else if (!strcmp(value, "hide"))
		view->idle = IDLE_VIEW_HIDE;
	else if (!strcmp(value, "why"))
		view->idle = IDLE_VIEW_EXPLAIN;
	else
		return error__set(-EINVAL, "'%s' is neither show, hide nor why", value);
	return 0;
}

static int add_class(void *context, const char *text, size_t n)
{
	struct view_options *options = context;
	char name[32];
	int class;

	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	class = wait_class__parse(name);
	if (class < 0)
		return error__set(
			-EINVAL, "'%s' is not a class: cpu, io, lock, sched, other, stopped", name);
	options->filter.classes |= 1U << class;
	return 0;
}

int view__set_class(void *options, const char *value)
{
	return view__each(value, options, add_class);
}

static int add_comm(void *context, const char *text, size_t n)
{
	struct view_options *options = context;
	char *name = strndup(text, n); /* lives as long as the command */

	if (!name || array__push(&options->filter.comms, name)) {
		free(name);
		return -ENOMEM;
	}
	return 0;
}

int view__set_comm(void *options, const char *value)
{
	return view__each(value, options, add_comm);
}

static int parse_id(const char *text, size_t n, uint32_t *id)
{
	uint64_t number = 0;
	char digits[32];
	int err;

	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	err = options__number(digits, &number);
	if (err)
		return err;
	if (number > INT32_MAX)
		return error__set(-EINVAL, "%s is not the id of a process or thread", digits);
	*id = (uint32_t)number;
	return 0;
}

static int add_pid(void *context, const char *text, size_t n)
{
	struct view_options *options = context;
	uint32_t id = 0;
	int err = parse_id(text, n, &id);

	return err ? err : array__push(&options->filter.pids, id);
}

static int add_tid(void *context, const char *text, size_t n)
{
	struct view_options *options = context;
	uint32_t id = 0;
	int err = parse_id(text, n, &id);

	return err ? err : array__push(&options->filter.tids, id);
}

int view__set_pid(void *options, const char *value)
{
	return view__each(value, options, add_pid);
}

int view__set_tid(void *options, const char *value)
{
	return view__each(value, options, add_tid);
}

int view__set_time(void *options, const char *value)
{
	struct sample_filter *filter = &((struct view_options *)options)->filter;
	const char *comma = strchr(value, ',');
	char from[64];
	int err = 0;

	if (!comma)
		return error__set(-EINVAL, "'%s' is not FROM,TO: 1.5,3 or 500ms, or ,2s", value);
	snprintf(from, sizeof(from), "%.*s", (int)(comma - value), value);
	if (*from)
		err = options__duration(from, &filter->from);
	if (!err && comma[1])
		err = options__duration(comma + 1, &filter->until);
	if (!err && comma[1] && filter->until <= filter->from)
		err = error__set(-EINVAL, "'%s' ends before it begins", value);
	return err;
}

const char *view__path(const struct view_options *options)
{
	return options->input ? options->input : DEFAULT_INPUT;
}

static int no_samples_left(const char *path)
{
	error__set(-ENODATA, "there are no samples in the readable part of %s", path);
	error__hint("If it is still being recorded, try again in some seconds. If it is a copy, "
		    "the original may be complete.\n"
		    "Otherwise record again: dwell record -- COMMAND");
	return -ENODATA;
}

static int load(const struct view_options *options, bool needs_samples, struct model **out)
{
	struct model_symbolize_options symbolize_options = {
		.lines = !options->no_lines,
		.debuginfod = options->debuginfod,
	};
	_cleanup_(privsep__freep) struct privsep *privsep = NULL;
	const char *path = view__path(options);
	_cleanup_model_ struct model *model = NULL;
	int err = privsep__start(&privsep);

	if (!err)
		err = model__load(path, &model);
	if (err)
		return err;
	symbolize_options.privsep = privsep;
	if (model->warning)
		fprintf(stderr, "dwell: warning: %s: %s\n", path, model->warning);
	if (model->warning && needs_samples && !(model->n_samples + model->n_intervals))
		return no_samples_left(path);
	err = model__symbolize(model, &symbolize_options);
	if (err)
		return error__errno(err, "cannot symbolize '%s'", path);
	*out = TAKE_PTR(model);
	return 0;
}

int view__load(const struct view_options *options, struct model **out)
{
	return load(options, true, out);
}

int view__load_any(const struct view_options *options, struct model **out)
{
	return load(options, false, out);
}
