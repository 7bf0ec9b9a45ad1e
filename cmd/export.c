// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/http_post.h"
#include "cmd/output_file.h"
#include "cmd/selection.h"
#include "cmd/view.h"
#include "model/redact.h"
#include "render/export/export.h"
#include "render/header.h"

struct export_options {
	struct view_options view; /* first: see VIEW_OPTIONS_FILTER */
	const struct export_format *format;
	const char *output;
	const char *to; /* URL */
	bool idle_set;
	bool redact;
};

/* Adds to what error__set() said. Returns -EINVAL. */
static int hint_formats(void)
{
	const struct export_format *all;
	char names[256] = "";
	size_t n;

	all = export_format__all(&n);
	for (size_t i = 0; i < n; i++) {
		strncat(names, i ? ", " : "", sizeof(names) - strlen(names) - 1);
		strncat(names, all[i].name, sizeof(names) - strlen(names) - 1);
	}
	error__hint("Formats are %s.", names);
	return -EINVAL;
}

static int set_format(void *options, const char *value)
{
	struct export_options *export = options;

	export->format = export_format__find(value);
	if (export->format)
		return 0;
	error__set(-EINVAL, "there is no format '%s'", value);
	return hint_formats();
}

static int set_idle(void *options, const char *value)
{
	((struct export_options *)options)->idle_set = true;
	return view__set_idle(options, value);
}

static const struct option_row rows[] = {
	VIEW_OPTION_INPUT,
	OPTION_GROUP("Output"),
	OPTION_CALL("format", 'f', "FORMAT", "folded|firefox|perfetto|sqlite|otlp|pprof|speedscope",
		    set_format, "the format: see below"),
	OPTION_TEXT("output", 'o', "FILE", struct export_options, output,
		    "write FILE; - is standard output (default: the recording's name with the "
		    "format's extension)"),
	OPTION_TEXT("to", 0, "URL", struct export_options, to,
		    "send otlp to a server by HTTP instead of writing a file; a URL without a path "
		    "gets /v1development/profiles"),
	OPTION_SWITCH("redact", 0, struct export_options, redact,
		      "for others: leave out command lines and host names, and replace names of "
		      "files and threads, and addresses, by hashes; names of functions stay"),
	OPTION_GROUP("Filters"),
	VIEW_OPTIONS_FILTER,
	OPTION_CALL("idle", 0, "[HOW]", "show|hide", set_idle,
		    "waits for work, too (show), or without them (hide); by default formats that "
		    "can mark them have them"),
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

/* The name of the recording without ".data", with the extension of the format. */
static char *default_output(const struct export_options *options)
{
	const char *input = view__path(&options->view);
	size_t n = strlen(input);
	char *name = NULL;

	if (n > 5 && !strcmp(input + n - 5, ".data"))
		n -= 5;
	if (asprintf(&name, "%.*s.%s", (int)n, input, options->format->extension) < 0)
		return NULL;
	return name;
}

static int reject_stream(const struct export_format *format, const char *path)
{
	error__set(-EINVAL, "%s can only be written to a file, and %s is none", format->name, path);
	error__hint("Name one: -o FILE");
	return -EINVAL;
}

static int write_output(const struct export_options *options, const struct export *export,
			const char *path)
{
	const struct export_format *format = options->format;
	struct output_file file;
	int err;

	err = output_file__open(&file, path);
	if (err)
		return err;
	if (!format->write_file)
		err = format->write(export, file.to);
	else
		err = file.whole ? format->write_file(export, file.file.fd, path)
				 : reject_stream(format, path);
	err = output_file__close(&file, err);
	if (!err && strcmp(path, "-") != 0)
		fprintf(stderr, "dwell: wrote %s\n", path);
	return err;
}

/* Makes the document in memory, and sends it. */
static int send_output(const struct export_options *options, const struct export *export)
{
	const struct export_format *format = options->format;
	_cleanup_free_ char *document = NULL;
	_cleanup_free_ char *url = NULL;
	size_t size = 0;
	FILE *to;
	int err = http_post__url(options->to, format->post_path, &url);

	if (err)
		return err;
	to = open_memstream(&document, &size);
	if (!to)
		return -ENOMEM;
	err = format->write(export, to);
	if (fclose(to) && !err)
		err = -ENOMEM;
	err = err ? err : http_post(url, format->content_type, document, size);
	if (!err)
		fprintf(stderr, "dwell: sent %zu bytes to %s\n", size, url);
	return err;
}

/* The model, and the names that threads are selected by. */
static int redact(struct model *model, struct sample_filter *filter)
{
	struct redaction redaction;
	int err = redaction__init(&redaction);

	err = err ? err : model__redact(model, &redaction);
	/* Besides, as kernel threads have their names still. */
	for (size_t i = 0, n = filter->comms.n; i < n && !err; i++) {
		char *name = redaction__thread(&redaction, filter->comms.data[i]);

		err = name ? array__push(&filter->comms, name) : -ENOMEM;
	}
	return err;
}

/* @path: NULL with a URL. */
static int export_recording(struct export_options *options, const char *path)
{
	struct sample_filter *filter = &options->view.filter;
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	struct export export = {
		.filter = filter,
		.idle = options->idle_set ? options->view.idle == IDLE_VIEW_SHOW
					  : options->format->idle,
		.name = view__path(&options->view),
	};
	int err = view__load(&options->view, &model);

	err = err ? err : selection__check(model, filter);
	if (!err && options->redact) {
		err = redact(model, filter);
		export.name = "recording";
	}
	if (err)
		return err;
	header__warnings(model, stderr);
	if (!(model->n_samples + model->n_intervals))
		fprintf(stderr, "dwell: the recording has no samples\n");
	err = kinds__new(model, &kinds);
	err = err ? err : idle_waits__new(model, kinds, &idle);
	filter->idle = idle;
	export.model = model;
	export.kinds = kinds;
	if (err)
		return err;
	err = path ? write_output(options, &export, path) : send_output(options, &export);
	filter->idle = NULL;
	return err;
}

/* What is wrong with the options together. Returns 0 or -EINVAL with error__set() done. */
static int check_options(const struct export_options *options)
{
	if (!options->format) {
		error__set(-EINVAL, "no format is given: dwell export --format FORMAT");
		return hint_formats();
	}
	if (options->view.idle == IDLE_VIEW_EXPLAIN)
		return error__set(-EINVAL, "--idle=why is an option of dwell report");
	if (options->to && options->output)
		return error__set(-EINVAL, "--to and -o cannot be used together");
	if (options->to && !options->format->post_path)
		return error__set(-EINVAL, "--to cannot be used with the format %s",
				  options->format->name);
	return 0;
}

/* The same of the file that is to be written. */
static int check_output(const struct export_options *options, const char *path)
{
	if (output_file__is(path, view__path(&options->view)))
		return error__set(-EINVAL, "%s is the recording itself: name another file", path);
	if (options->format->write_file && !strcmp(path, "-"))
		return reject_stream(options->format, "standard output");
	return 0;
}

static int cmd_export(int argc, char **argv)
{
	struct export_options options = {};
	_cleanup_free_ char *name = NULL; /* if none is given */
	const char *path;
	int status, err;

	if (!command__parse_input(&command_export, argc, argv, &options, &options.view.input,
				  "recording", &status))
		return status;
	err = check_options(&options);
	if (err)
		return command__reject(err);
	if (!options.to && !options.output) {
		name = default_output(&options);
		if (!name)
			return command__fail(-ENOMEM);
	}
	path = options.output ? options.output : name;
	err = path ? check_output(&options, path) : 0;
	if (err)
		return command__reject(err);
	err = export_recording(&options, path);
	sample_filter__free(&options.view.filter);
	return err ? command__fail(err) : EXIT_FINE;
}

static void print_formats(FILE *to)
{
	size_t n;
	const struct export_format *formats = export_format__all(&n);

	fprintf(to, "\nFormats:\n");
	for (size_t i = 0; i < n; i++)
		fprintf(to, "  %-11s %s\n", formats[i].name, formats[i].about);
}

const struct command command_export = {
	.name = "export",
	.summary = "write a recording in the format of another tool",
	.usage = "--format FORMAT [-i FILE] [-o FILE | --to URL] [OPTIONS]",
	.print_details = print_formats,
	.options = rows,
	.run = cmd_export,
};
