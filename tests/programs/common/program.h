/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common code of the known-answer programs: functions that keep their names in stacks, calibrated
 * loops, clocks, threads. Times are in ns. A function that fails ends the program with a message
 * (die()).
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/common/burn.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

/* A function that appears under its own name in every stack: neither inlined nor cloned. */
#if defined(__clang__)
#define SEPARATE __attribute__((noinline))
#else
#define SEPARATE __attribute__((noipa))
#endif
#define KEEP static SEPARATE

/* Keeps the call before it from becoming a jump, which would drop the caller's frame. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* Prints the message and errno, and exits with status 2. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* For qsort(), of uint64_t. */
int compare_numbers(const void *a, const void *b);

uint64_t clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC. */
uint64_t wall_ns(void);

/* The time that the calling thread has waited for a CPU. */
uint64_t run_queue_ns(void);

/*
 * How long CPU @cpu has been busy since some time, without the run that has not ended yet. The
 * counters are opened at the first call of a thread; from then on it does not have to wait. In
 * ticks of 10 ms where the kernel has no schedstats. (The idle time of /proc/stat is without
 * interrupts, and in Linux 7.2 it is sometimes more than has passed.)
 */
uint64_t busy_ns(int cpu);

/* Goes on sleeping when a signal interrupts it. */
void sleep_ns(uint64_t ns);

/* Iterations of BURN() in one ms of CPU time: the best of several tries. Takes about 10 ms. */
uint64_t loops_per_ms(void);

/* A random number from @low to @high. *@state is the state of the generator, not 0; per thread. */
uint64_t draw(uint64_t *state, uint64_t low, uint64_t high);

/* Writes the process ID to the file @path, so that a test can wait for it. NULL: does nothing. */
void ready(const char *path);

pid_t thread_id(void);

/* Names the calling thread: 15 characters at most. */
void set_name(const char *name);

/* Pins the calling thread to @cpu. Below 0: does nothing. */
void stay_on(int cpu);

pthread_t start_thread(void *(*run)(void *arg), void *arg);
