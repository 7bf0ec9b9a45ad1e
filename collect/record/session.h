/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording session: what to record, the probes in the kernel, the events
 * they send, and the recording they end up in.
 *
 * The life of a session: session__new() checks the configuration, creates the
 * file and puts the probes in place; session__run() collects until the command
 * has ended, the time is up or somebody stops it; session__finish() reads the
 * totals and completes the file. Errors are negative errnos with error__set()
 * done; whatever was recorded before an error stays readable.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/core/loader.h"
#include "collect/core/unwinder.h"

enum session_target {
	SESSION_COMMAND = 0,   /* argv, from its exec on, and what it starts */
	SESSION_PROCESSES = 1, /* ids, all their threads, and what they start */
	SESSION_THREADS = 2,   /* ids, just these */
	SESSION_SYSTEM = 3,    /* everything but dwell itself */
	SESSION_CGROUP = 4,    /* cgroup, and what is in groups below it */
};

struct session_config {
	enum session_target target;
	char *const *argv; /* SESSION_COMMAND; else NULL, or a command that bounds the time */
	sigset_t ignored;  /* signals the command is to ignore */
	const pid_t *ids;
	size_t n_ids;
	const char *cgroup; /* a directory of the cgroup 2 file system */
	const char *output;
	uint64_t period_ns;   /* 10 us to 1 s */
	bool trace;	      /* every interval, not only those with a sampling point */
	uint64_t wait_limit;  /* recorded per CPU and period before they are thinned out; 0: all */
	uint64_t duration_ns; /* 0: until the end of the command, or a signal */
	size_t ring_bytes;    /* per CPU; 0: a default that depends on @trace */
	size_t table_bytes;   /* of unwind tables, at most */
	enum helper_threads helpers;
	const char *rung; /* where sleepers' stacks are taken; NULL: the best place there is */
	const char *command_line; /* what the user typed, for the header */
	/*
	 * Virtual speedups; what is recorded is but who there was. @turn is called with
	 * the time from session__run() again and again, and returns when it is to be called
	 * next; 0: the run is over.
	 */
	struct engine *engine;
	uint64_t (*turn)(void *arg, uint64_t now);
	void *turn_arg;
	bool keep_mappings; /* for session__mapping() */
};

struct session_progress {
	uint64_t elapsed_ns;
	uint64_t events;
	uint64_t lost;
	uint64_t bytes; /* written */
	struct unwinder_stats unwinder;
};

/* Called from session__run() a few times a second. */
typedef void (*session_progress_fn)(const struct session_progress *progress, void *arg);

struct session;

int session__new(const struct session_config *config, struct session **out);

/* Which rung of the ladder takes sleepers' stacks here, in words. */
const char *session__rung(const struct session *session);

/*
 * Runs until the end. @stop is looked at after every wait: the number of signals
 * that asked to stop. The first lets a command finish by itself (it got the
 * signal too), the second ends the recording at once.
 */
int session__run(struct session *session, const volatile sig_atomic_t *stop,
		 session_progress_fn progress, void *arg);

/* Ends the recording and closes the file. What was lost is in @progress. */
int session__finish(struct session *session, struct session_progress *progress);

/* Sends @signal to the command, if there is one that runs. */
void session__signal(const struct session *session, int signal);

/* Whether there is a command, and it has ended. */
bool session__command_ended(const struct session *session);

/*
 * The command's wait status once it has ended; waits for it when it still runs
 * (after --duration). -1 when there was no command, or it could not be started
 * (*@exec_error is then its errno, otherwise 0).
 */
int session__command_status(struct session *session, int *exec_error);

/* A descriptor of the file mapped as @dso, kept since; -1: none. Stays the session's. */
int session__dso_fd(const struct session *session, uint32_t dso);

/* A file that recorded processes have mapped: in the order they came, from 0 on. */
struct session_file {
	uint32_t dso;
	const char *path; /* as its process saw it */
	int fd;		  /* -1: could not be opened */
	uint32_t slot;	  /* of its unwind table in the kernel side (abi/unwind.h); 0: none */
};

/* File @index. False: there are not so many. */
bool session__file(const struct session *session, size_t index, struct session_file *file);

/*
 * Mapping @index of a file in a recorded process, in the order they were made; a copy of a
 * process (fork) makes none. False: there are not so many.
 */
bool session__mapping(const struct session *session, size_t index,
		      struct unwinder_mapping *mapping);

/* Forgets those so far: the next one is number 0. */
void session__forget_mappings(struct session *session);

void session__free(struct session *session);
