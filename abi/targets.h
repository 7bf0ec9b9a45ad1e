/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Which threads are recorded: settings of user space for the kernel side. */
#pragma once

enum target_kind {
	TARGET_NOTHING = 0, /* no thread that exists yet: only a command, from its exec on */
	TARGET_LISTED = 1,  /* the processes or threads listed by id */
	TARGET_ALL = 2,	    /* every thread */
	TARGET_CGROUP = 3,  /* those in a cgroup (version 2) or in one below it */
};

/* The type of an id in the list of targets. */
enum listed_as {
	LISTED_PROCESS = 1,
	LISTED_THREAD = 2,
};

/* Which threads are recorded because they wake a recorded thread. */
enum helper_threads {
	HELPERS_NONE = 0,
	HELPERS_KERNEL = 1, /* kernel threads: journals, workers */
	HELPERS_ALL = 2,    /* and threads of other processes */
	HELPERS_LINKED = 3, /* and threads that a recorded one wakes: servers, before they reply;
			     all kernel threads from the start */
};
