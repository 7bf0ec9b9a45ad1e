/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Which threads are recorded: settings that user space gives to the kernel side. */
#pragma once

enum target_kind {
	TARGET_NOTHING = 0, /* no thread that exists already: a command, from its exec on */
	TARGET_LISTED = 1,  /* the processes or threads listed by id */
	TARGET_ALL = 2,	    /* every thread */
	TARGET_CGROUP = 3,  /* those in a cgroup (version 2) or in one below it */
};

/* What an id in the list of targets is the id of. */
enum listed_as {
	LISTED_PROCESS = 1,
	LISTED_THREAD = 2,
};

/* Which threads are recorded because they wake a recorded thread. */
enum helper_threads {
	HELPERS_NONE = 0,
	HELPERS_KERNEL = 1, /* kernel threads: journals, workers */
	HELPERS_ALL = 2,    /* and threads of other processes */
};
