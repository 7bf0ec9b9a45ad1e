// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/html_analyses.h"
#include "cmd/output_file.h"
#include "cmd/path_target.h"
#include "cmd/view.h"
#include "model/redact.h"
#include "recording/causal/causal_profile.h"

struct html_options {
	struct view_options view; /* first: see VIEW_OPTIONS_SYMBOLS */
	ARRAY(const char *) inputs;
	const char *output;
	const char *of;
	bool open;
	bool redact;
	struct redaction redaction;
};

static int add_input(void *options, const char *value)
{
	struct html_options *html = options;

	return array__push(&html->inputs, value) ? -ENOMEM : 0;
}

static const struct option_row rows[] = {
	OPTION_ADD("input", 'i', "FILE", NULL, add_input,
		   "a recording or causal profile, or several (default: dwell.data)"),
	OPTION_TEXT("of", 0, "PID|TID|NAME", struct html_options, of,
		    "the process or thread whose path is shown (default: the command that was "
		    "recorded)"),
	OPTION_GROUP("Output"),
	OPTION_TEXT("output", 'o', "FILE", struct html_options, output,
		    "write FILE; - is standard output (default: dwell.html)"),
	OPTION_SWITCH("open", 0, struct html_options, open, "show it in the browser"),
	OPTION_SWITCH("redact", 0, struct html_options, redact,
		      "for others: leave out command lines and host names, and replace names of "
		      "files and threads, and addresses, by hashes; names of functions stay"),
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

/* Whether @path is a causal profile: a file of lines with a JSON object each. */
static bool is_causal(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");

	return file && fgetc(file) == '{';
}

/* The thread whose path is in the page. With --of, there must be one. */
static int choose_path(const struct html_options *options, const struct model *model,
		       uint32_t *thread)
{
	int err = path_target__find(model, options->of, thread);

	if (err && !options->of) {
		*thread = 0;
		error__clear();
		return 0;
	}
	return err;
}

static int add_recording(struct html *html, const struct html_options *options, const char *path,
			 const char *name)
{
	struct view_options view = options->view;
	_cleanup_idle_waits_ struct idle_waits *idle = NULL;
	_cleanup_wait_causes_ struct wait_causes *causes = NULL;
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct own_strings strings = {};
	struct html_recording recording = {.name = name, .strings = &strings};
	size_t number;
	int err;

	view.input = path;
	err = view__load(&view, &model);
	strings.model = recording.model = model;
	err = err ? err : choose_path(options, model, &recording.path);
	if (!err && options->redact)
		err = model__redact(model, &options->redaction);
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : idle_waits__new(model, kinds, &idle);
	err = err ? err : wait_causes__new(&strings, kinds, &causes);
	recording.kinds = kinds;
	recording.idle = idle;
	recording.causes = causes;
	err = err ? err : html__recording(html, &recording, &number);
	err = err ? err : html_analyses__add(html, &recording, number);
	own_strings__free(&strings);
	return err;
}

static int write_page(struct html *html, const struct html_options *options, FILE *to)
{
	const struct redaction *redaction = options->redact ? &options->redaction : NULL;
	int err = html__begin(html, to);

	for (size_t i = 0; i < options->inputs.n && !err; i++) {
		const char *path = options->inputs.data[i], *name = path;
		char number[32];

		if (options->redact) {
			snprintf(number, sizeof(number), "input %zu", i + 1);
			name = number;
		}
		err = is_causal(path) ? html_analyses__add_causal(html, path, name, redaction)
				      : add_recording(html, options, path, name);
	}
	return err ? err : html__end(html);
}

/* As the user who invoked dwell: browsers do not run as root. */
static void become_invoking_user(void)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (geteuid() || !uid || !gid)
		return;
	if (setgroups(0, NULL) || setgid((gid_t)atoi(gid)) || setuid((uid_t)atoi(uid)))
		_exit(127);
}

static int open_browser(const char *path)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		become_invoking_user();
		execlp("xdg-open", "xdg-open", path, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status) {
		int err = error__set(-ENOENT, "cannot open %s in a browser", path);

		error__hint(
			"xdg-open did not succeed (package xdg-utils). Open the file yourself.");
		return err;
	}
	return 0;
}

static int check(const struct html_options *options, const char *output)
{
	for (size_t i = 0; i < options->inputs.n; i++)
		if (output_file__is(output, options->inputs.data[i]))
			return error__set(-EINVAL,
					  "%s is one of the inputs: name another file with -o",
					  output);
	if (options->open && !strcmp(output, "-"))
		return error__set(-EINVAL, "--open needs a file: standard output cannot be opened");
	return 0;
}

static int html(const struct html_options *options, const char *output)
{
	struct html html = {};
	struct output_file file;
	int err = output_file__open(&file, output);

	if (err)
		return err;
	err = output_file__close(&file, write_page(&html, options, file.to));
	html__free(&html);
	if (err)
		return err;
	if (strcmp(output, "-") != 0)
		fprintf(stderr, "dwell: wrote %s\n", output);
	return options->open ? open_browser(output) : 0;
}

static int cmd_html(int argc, char **argv)
{
	struct html_options options = {};
	const char *output;
	int status, err = 0;

	if (!command__parse_arguments(&command_html, argc, argv, &options, add_input, &options,
				      &status))
		return status;
	if (!options.inputs.n)
		err = add_input(&options, view__path(&options.view));
	output = options.output ? options.output : "dwell.html";
	err = err ? err : check(&options, output);
	if (!err && options.redact)
		err = redaction__init(&options.redaction);
	if (err)
		return command__reject(err);
	err = html(&options, output);
	array__free(&options.inputs);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_html = {
	.name = "html",
	.summary = "write a page to look at: flame graph, timeline, waits, paths, curves",
	.usage = "[FILE]... [-o FILE] [--open] [OPTIONS]",
	.details = "The page is one file and needs no network. It has what dwell report, waits, "
		   "path,\nlatency and causal report show, of the files given.\n",
	.options = rows,
	.run = cmd_html,
};
