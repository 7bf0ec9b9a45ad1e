// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callchain.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/path/path_views.h"

#define WIDTH 100
/* So many competitors, threads in the background, and gaps are listed. */
#define MAX_LISTED 5

static void put_row(const struct path_view *view, const char *label, uint64_t ns, FILE *to)
{
	char text[24];

	fprintf(to, "#   %-34s %12s %6.1f%%\n", label, duration__text(ns, text),
		format__percent(ns, view->path->wall_ns));
}

/* "nginx/812 in ngx_http_process (2.1 ms)" */
static int put_competitor(const struct path_view *view, const struct path_competitor *one, FILE *to)
{
	struct callchain chain = {};
	char thread[128] = "others, unknown", ns[24], text[24];
	int err = 0;
	ssize_t row;

	if (one->thread)
		path_thread__text(view, one->thread, view->model->threads.data[one->thread].ended,
				  thread, sizeof(thread));
	fprintf(to, "#     %12s  ", duration__text(one->ns, ns));
	format__safe(to, thread);
	if (one->user || one->kernel) {
		err = callchain__set(&chain, view->model, one->kernel, one->user, false);
		row = err ? -1 : callchain__row(&chain, view->model, false, false);
		if (row >= 0) {
			fputs(" in ", to);
			format__safe(to, callchain_frame__text(&chain.frames.data[row], view->model,
							       text));
		}
	}
	fputc('\n', to);
	callchain__free(&chain);
	return err;
}

static int put_competitors(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	int err = 0;

	if (!path->competitors.n)
		return 0;
	fprintf(to, "#\n# who ran on these CPUs while a thread of the path waited for one:\n");
	for (size_t i = 0; i < path->competitors.n && i < MAX_LISTED && !err; i++)
		err = put_competitor(view, &path->competitors.data[i], to);
	return err;
}

static void put_gaps(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	char thread[128], at[24], length[24];

	for (size_t i = 0; i < path->gaps.n && i < MAX_LISTED; i++) {
		const struct path_gap *gap = &path->gaps.data[i];

		path_thread__text(view, gap->thread, gap->from, thread, sizeof(thread));
		fprintf(to, "# gap        : %s of ",
			duration__text(gap->until - gap->from, length));
		format__safe(to, thread);
		fprintf(to, ", at %s: events were lost\n",
			duration__text(gap->from - view->model->start, at));
	}
	if (path->gaps.n > MAX_LISTED)
		fprintf(to, "# gap        : %zu more\n", path->gaps.n - MAX_LISTED);
}

static void put_background(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	char thread[128], starter[128], ns[24];

	if (!path->background.n)
		return;
	fprintf(to, "#\n# in the background, not waited for (--background shows what it does):\n");
	for (size_t i = 0; i < path->background.n && i < MAX_LISTED; i++) {
		const struct path_background *one = &path->background.data[i];

		path_thread__text(view, one->thread, one->first, thread, sizeof(thread));
		path_thread__text(view, one->starter, one->first, starter, sizeof(starter));
		fprintf(to, "#     %12s  ", duration__text(one->ns, ns));
		format__safe(to, thread);
		fputs(", started by ", to);
		format__safe(to, starter);
		fputc('\n', to);
	}
	if (path->background.n > MAX_LISTED)
		fprintf(to, "#     %12s  %zu more\n", "", path->background.n - MAX_LISTED);
}

static void put_account(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	char ns[24];

	if (view->requests) {
		fprintf(to, "#\n#   %-34s %12s\n", "time of all requests",
			duration__text(path->wall_ns, ns));
	} else {
		fprintf(to, "#\n#   %-34s %12s\n", "wall time", duration__text(path->wall_ns, ns));
		fprintf(to, "#   %-34s %12s\n", "total, with the background",
			duration__text(path->total_ns, ns));
	}
	for (int i = 0; i < PATH_CATEGORY_COUNT; i++)
		if (path->ns[i])
			put_row(view, path_category__text((enum path_category)i), path->ns[i], to);
	put_row(view, "accounted for", path->accounted_ns, to);
	put_row(view, "not accounted for", path->wall_ns - path->accounted_ns, to);
}

int path_view__account(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	char target[128], verdict[1024];
	int err = path_view__verdict(view, verdict, sizeof(verdict));

	header__recording(view->model, to);
	if (view->requests) {
		path_requests__text(view, to);
	} else {
		path_thread__text(view, path->thread, path->from, target, sizeof(target));
		header__line(to, "target", target);
	}
	header__diagnostics(view->model, to);
	put_gaps(view, to);
	if (path->tree.is_full)
		header__line(to, "tree",
			     "too many different pseudo-stacks: the last ones are counted in "
			     "the functions above");
	if (view->compared.n)
		path_requests__compare(view, to);
	else
		put_account(view, to);
	err = err ? err : put_competitors(view, to);
	put_background(view, to);
	fputs("#\n# ", to);
	format__wrapped(to, verdict, "# ", 2, WIDTH);
	fputs("#\n", to);
	return err;
}

int path_view__text(const struct path_view *view, FILE *to)
{
	int err = path_view__account(view, to);

	if (err)
		return err;
	path_view__tree(view, &view->path->tree, view->path->wall_ns, to);
	return 0;
}

int path_view__background(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	int err = path_view__account(view, to);

	if (err)
		return err;
	if (!path->background.n)
		fprintf(to, "nothing was started that was not waited for\n");
	else
		path_view__tree(view, &path->background_tree, path->total_ns - path->wall_ns, to);
	return 0;
}
