/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names in the place of names: for output that is given to others. What is redacted becomes a hash
 * with a key that is random for each run of dwell and not kept (SipHash-2-4): equal texts stay
 * equal, and nobody can find out a text by trying. Functions that return text allocate it; NULL
 * without memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct redaction {
	uint64_t key[2];
};

#define REDACTED_TEXT "[redacted]"

/* With a key of its own. Returns 0 or -errno, with a message. */
int redaction__init(struct redaction *redaction);

/* An address, or a number of the program's; 0 stays 0. Below 2^48. */
uint64_t redaction__number(const struct redaction *redaction, uint64_t number);

/* "file-0123456789ab" for a path. "" and names of what is no file ("[kernel]") stay. */
char *redaction__path(const struct redaction *redaction, const char *path);

/*
 * "thread-01234567" for the name of a thread; a number of up to three digits at its end stays, so
 * that threads of a pool are similar: "worker-12" is "thread-01234567-12".
 */
char *redaction__thread(const struct redaction *redaction, const char *name);

/* "address-0123456789ab:443" for "192.0.2.7:443"; other addresses as redaction__path(). */
char *redaction__address(const struct redaction *redaction, const char *address);

/*
 * The name of a function, point or span: it stays, but for the files in it: paths ("/a/b.py"),
 * places ("b.c:12", "b.js:1:2"), and what follows "unix:" or the second colons of "py::NAME:".
 */
char *redaction__name(const struct redaction *redaction, const char *name);
