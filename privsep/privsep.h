/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Privilege separation. The process that has privileges, the caller, interprets nothing that a
 * program may have written: no ELF file, debug information, machine code or JIT map. These run for
 * it:
 *
 * - openers (opener.h), with its privileges, look up paths and open files. A lookup in a file
 * system of a target's can block for ever: such a process is abandoned, and another one continues.
 * - parsers (parser.h), without privileges, user, network and most system calls, read the open
 *   files and return tables and names, which the caller checks before it uses them.
 * - namers (names.h) are parsers that find the names of addresses, and ask for the files that they
 *   need; a fetcher, which may use the network, gets those that are on servers.
 * - the zygote forks all of them. It is forked early, when there is nothing secret in memory, and
 * no descriptor or shared memory that others must not have.
 *
 * Threads may use different parsers at the same time, and openers.
 *
 * The caller itself only keeps O_PATH descriptors of such files, which even to close cannot block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct privsep;

/* What a child of the zygote does. */
enum privsep_role {
	PRIVSEP_OPENER = 0,
	PRIVSEP_PARSER = 1,
	PRIVSEP_NAMER = 2,   /* a parser that is asked for names, and asks for files (names.h) */
	PRIVSEP_FETCHER = 3, /* asks servers for files; may use the network */
};

/* Something that went wrong with a file: what has to be known of it is missing. */
struct privsep_failure {
	char *path;
	int err; /* -EFAULT: its parser was killed; -ETIMEDOUT: opening or parsing took too long;
		    -ENOMEM, -EDQUOT: what it takes is above the share of a file, a process */
	uint64_t count;
};

/*
 * Forks the zygote. To be called before anything is opened or mapped that is not for others, by a
 * process with one thread. 0 or a negative errno, with a message.
 */
int privsep__start(struct privsep **out);

/* The zygote's process id; its children have it as parent. */
pid_t privsep__zygote(const struct privsep *privsep);

/* Whether @pid is one of the processes of @privsep. */
bool privsep__owns(struct privsep *privsep, pid_t pid);

/*
 * When no other thread uses a parser: what went wrong with which files, at most
 * PRIVSEP_MAX_FAILURES of them; *@n is their number,
 * *@more that of other files.
 */
#define PRIVSEP_MAX_FAILURES 64
const struct privsep_failure *privsep__failures(const struct privsep *privsep, size_t *n,
						uint64_t *more);

/* "killed while it read the file", ... */
const char *privsep__failure_text(const struct privsep_failure *failure);

void privsep__free(struct privsep *privsep);
DEFINE_CLEANUP(struct privsep *, privsep__free)

/* For openers and parsers. A child of the zygote. */
struct privsep_child {
	pid_t pid; /* 0: none */
	int pidfd; /* -1: none */
	int socket;
};
#define PRIVSEP_NO_CHILD                                                                           \
	{                                                                                          \
		.pidfd = -1, .socket = -1                                                          \
	}

/* Starts a child. 0 or -errno. */
int privsep__spawn(struct privsep *privsep, enum privsep_role role, struct privsep_child *child);

/* Kills a child, and forgets it without waiting for its end. */
void privsep__kill(struct privsep_child *child);

/* Lets a child end by itself, when it sees that nothing more is asked. */
void privsep__dismiss(struct privsep_child *child);

/* The CPU time of a child so far, ns; 0: unknown. */
uint64_t privsep__cpu_ns(const struct privsep_child *child);

/*
 * Whether a child that has not answered in time is not to blame: it waits for a CPU, and has had
 * less than @ns of CPU time since it had had @before.
 */
bool privsep__is_starved(const struct privsep_child *child, uint64_t before, uint64_t ns);
#define PRIVSEP_PATIENCE 30 /* a starved child may take so many times longer */

/* Remembers that @err came of the file at @path. */
void privsep__fail(struct privsep *privsep, const char *path, int err);

/* The opener in use. */
struct opener *privsep__opener(struct privsep *privsep);
