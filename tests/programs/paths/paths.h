/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cases share: work that is known by name, and the truth about who waited for it. */
#pragma once

#include "tests/programs/common/program.h"

/*
 * Who waits and works, from 0, the base. Each is a thread or process of its own; they log what they
 * do in shared memory.
 */
#define BASE 0

/* The process continues as @party. */
void party__become(int party);

/* A process that runs @run() as @party, and ends. Returns its pid. */
pid_t party__fork(int party, void (*run)(void));

/*
 * Until @party is asleep. Who is called does this before he works, so that all of his work is in
 * the caller's wait, even if the caller does not get a CPU to begin it.
 */
void until_asleep(int party);

/* Waits for the end of process @pid, which is @party. */
void party__wait_for(int party, pid_t pid);

/* The current party waits for @party from now on; wait__end() ends it. */
void wait__begin(int party);
void wait__end(void);

/* Replaces the party of the last wait of the current party: it turned out to be another one. */
void wait__was_for(int party);

/*
 * Functions that work for this many ms by the clock, and log it. Each calls no other one. The time
 * of those that the base waits for is on its path.
 */
void work_a(uint64_t ms);
void work_b(uint64_t ms);
void work_c(uint64_t ms);
void work_d(uint64_t ms);
void work_e(uint64_t ms);
void other_work(uint64_t ms);

/* Logs work of the current party in function @name that began at @since. */
void log_work(const char *name, uint64_t since);

/* Adds to a number of the truth that no log has. */
void truth__add(const char *name, uint64_t ns);

/* Reads or writes one byte; die() otherwise. */
void get(int fd);
void put(int fd);

/* The cases. */
void run_pass(void);
void run_chain(void);
void run_triangle(void);
void run_handoff(void);
void run_signals(void);
void run_eventfd(void);
void run_uring(void);
void run_polls(void);
void run_pool(void);
void run_tree(void);
void run_background(void);
void run_crowd(void);
void run_server(void);
void run_hosts(void);
void run_listen(void);
void run_ask(void);
void run_relay(void);

extern int rounds;
extern int port;
extern const char *directory;
