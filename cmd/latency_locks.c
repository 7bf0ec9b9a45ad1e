// SPDX-License-Identifier: BSD-2-Clause
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "render/latency/latency_locks.h"
#include "render/terminal.h"

struct latency_locks_command {
	struct view_options view; /* first: see VIEW_OPTION_INPUT */
	uint64_t locks;
};

static const struct option_row rows[] = {
	OPTION_GROUP("What to show"),
	VIEW_OPTION_INPUT,
	OPTION_NUMBER("locks", 0, "N", struct latency_locks_command, locks,
		      "in text, show the first N locks, of those with at least 0.1% of the waiting "
		      "(default: 20; 0: all locks)"),
	OPTION_GROUP("Output"),
	VIEW_OPTION_JSON,
	VIEW_OPTION_NO_PAGER,
	VIEW_OPTIONS_SYMBOLS,
	OPTION_END,
};

static int print_locks(const struct latency_locks_command *options,
		       const struct latency_locks_view *view)
{
	struct terminal terminal;
	int err;

	terminal__open(&terminal, !options->view.json && !options->view.no_pager);
	err = options->view.json ? latency_locks__json(view, terminal.out)
				 : latency_locks__text(view, terminal.out);
	return command__close(&terminal, err, "locks");
}

static int show_locks(const struct latency_locks_command *options)
{
	_cleanup_model_ struct model *model = NULL;
	_cleanup_kinds_ struct kinds *kinds = NULL;
	struct locks locks = {};
	struct latency_locks_view view = {.locks = &locks, .most = options->locks};
	int err = view__load(&options->view, &model);

	view.model = model;
	err = err ? err : kinds__new(model, &kinds);
	err = err ? err : locks__find(model, kinds, &locks);
	err = err ? err : print_locks(options, &view);
	locks__free(&locks);
	return err;
}

static int cmd_latency_locks(int argc, char **argv)
{
	struct latency_locks_command options = {.locks = 20};
	int status, err;

	if (!command__parse_input(&command_latency_locks, argc, argv, &options, &options.view.input,
				  "recording", &status))
		return status;
	err = show_locks(&options);
	return err ? command__fail(err) : EXIT_FINE;
}

const struct command command_latency_locks = {
	.name = "latency locks",
	.summary = "show who waited for which lock, and who held it",
	.usage = "[-i FILE] [OPTIONS]",
	.details = "Of a recording of any program by dwell record --trace, or by dwell latency "
		   "run.\n",
	.options = rows,
	.run = cmd_latency_locks,
};
