/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `dwell export`: a recording in the formats of other tools. All of them have the time on the CPU
 * and off it, with its class, as far as the format can say it; per thread and class it sums to what
 * `dwell report --json` has, to the nanosecond where the format has them.
 *
 * Writers stream: what they hold in memory is bounded by the number of distinct stacks, threads and
 * names, not by the length of the recording.
 */
#pragma once

#include <stdio.h>

#include "analysis/kinds/kinds.h"
#include "analysis/weighted_samples.h"

struct export
{
	const struct model *model; /* symbolized */
	struct kinds *kinds;
	const struct sample_filter *filter; /* its idle tells idle waits */
	bool idle;			    /* idle waits, too; else a writer leaves them out */
	const char *name;		    /* of the recording, for titles: the file's, ... */
};

struct export_format {
	const char *name;      /* "speedscope" */
	const char *extension; /* "json": of the file that is written if none is named */
	const char *about;     /* where it can be loaded, for --help */
	bool idle; /* idle waits are in it, marked as such, unless left out on request */
	/* Returns 0 or -errno, of which -EIO and similar ones are of @to. NULL: see write_file. */
	int (*write)(const struct export *export, FILE *to);
	/* Formats that servers receive by HTTP: where, if the URL has no path, and as what. */
	const char *post_path;
	const char *content_type;
	/* Formats that cannot be streams: writes to the empty file at @fd, which errors name @path.
	 */
	int (*write_file)(const struct export *export, int fd, const char *path);
};

/*
 * Writes the name of the program that was recorded to @name of @size bytes (NAME_MAX + 1 hold any):
 * the first word of the command, without its folder; or the name of the process or thread that was
 * given first; "dwell" if the target was the machine or a cgroup, or the name is not known.
 */
void export__program(const struct model *model, char *name, size_t size);

/*
 * Runs of the thread with index @thread from which a hypervisor or interrupts took time, in trace
 * mode: sets @run to the next one from number *@at on, which is 0 at first, that the filter does
 * not leave out; whole if the window cuts it. False: there are no more.
 */
bool export__stolen_run(const struct export *export, uint32_t thread, size_t *at,
			struct model_run *run);

/* All formats; *@n is their number. */
const struct export_format *export_format__all(size_t *n);

/* The format called @name, or NULL. */
const struct export_format *export_format__find(const char *name);
