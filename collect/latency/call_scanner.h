/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of dwell that scans the shadow stacks of processes built by dwell-cc (LDB, NSDI'24,
 * section 3.2, where it is a thread of the program). It keeps a CPU busy as long as one of them
 * runs. What it sees is kept until call_scanner__drain().
 */
#pragma once

#include <stdint.h>

#include "abi/thread_run.h"
#include "base/cleanup.h"
#include "collect/probes/observed_call.h"

#define CALL_SCANNER_DEFAULT_NS 1000
#define CALL_SCANNER_LONGEST_NS 1000000

struct call_scanner;

/* @resolution_ns: the period, 0 to 1 ms; 0: as often as it can. 0 or a negative errno. */
int call_scanner__new(uint64_t resolution_ns, struct call_scanner **out);

/* Process @pid, new or with a new program, is to be scanned as soon as it has shadow stacks. */
void call_scanner__add(struct call_scanner *scanner, uint32_t pid);

/*
 * When threads run (abi/thread_run.h), by number, and the numbers of threads. With them, only
 * threads that run are looked at. @runs must stay until the last call_scanner__drain(); NULL is
 * ignored.
 */
void call_scanner__set_runs(struct call_scanner *scanner, const struct thread_run *runs);
void call_scanner__add_thread(struct call_scanner *scanner, uint32_t tid, uint32_t number);

/* Passes on what was seen since the last time. @last: stops the thread first. */
void call_scanner__drain(struct call_scanner *scanner, int last, const struct call_sink *sink);

/*
 * After the last call_scanner__drain(): why there are no calls, or not all, or what makes them less
 * exact, in one line; or NULL.
 */
const char *call_scanner__problem(const struct call_scanner *scanner);

void call_scanner__free(struct call_scanner *scanner);
DEFINE_CLEANUP(struct call_scanner *, call_scanner__free)
