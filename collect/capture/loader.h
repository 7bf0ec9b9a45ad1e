/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads and attaches a product's programs, on the best rung of the ladder that this kernel offers,
 * and marks the threads to be recorded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/capture.h"
#include "base/cleanup.h"
#include "collect/kernel/kernel.h"
#include "collect/probes/span_sources.h"
#include "collect/capture/task_walk.h"
#include "collect/stacks/unwinder.h"

struct bpf_object;
struct bpf_object_open_opts;
struct bpf_object_skeleton;
struct bpf_program;

/* A product's BPF object, with the maps and programs of bpf/core/. */
struct loader_object {
	const void *(*elf)(size_t *size); /* the file as it was built in */
	/*
	 * Opens it with @options, sets what is the product's own, and leaves out those of the
	 * product's own programs that @kernel does not support. Called anew for each try; *@out
	 * stays the product's, until close(). Returns 0 or a negative errno; -ENOTSUP, with a
	 * message: @kernel lacks what the product needs, on every rung.
	 */
	int (*open)(void *arg, const struct kernel_info *kernel,
		    const struct bpf_object_open_opts *options, struct bpf_object_skeleton **out);
	void (*close)(void *arg);
	void *arg;
};

struct loader_config {
	uint32_t period_ns;
	bool trace;
	bool follow;	   /* record threads that recorded threads create */
	bool linked;	   /* record kernel threads, and those that helpers create, as helpers */
	size_t ring_bytes; /* per CPU, a power of two of pages */
	pid_t command;	   /* recorded from its exec on; 0: none */
	const pid_t *ids;  /* processes, or threads */
	size_t n_ids;
	bool ids_are_threads;
	bool everything;
	uint64_t cgroup;		  /* id, 0: none */
	pid_t zygote;			  /* of privsep/privsep.h; 0: none */
	const struct span_sources *spans; /* those at sockets are observed; NULL: none */
	bool counts_left;		  /* loader__any_left() is called for a command, too */
	bool return_probes;		  /* functions will have some, other than for @spans */
	const char
		*rung; /* begin at this rung of the ladder, see loader__rung(); NULL: the first */
};

struct loader;

/*
 * Loads and attaches everything but the sampling clocks; nothing is recorded before
 * loader__start(). @rings are the maps of the @n_rings ring buffers, a power of two. They, and
 * what @config points to, stay the caller's. Errors: -EPERM, -ENOTSUP (no BTF, or an old kernel),
 * others of libbpf, all with a message.
 */
int loader__open(const struct loader_config *config, const struct loader_object *object,
		 const int *rings, uint32_t n_rings, struct loader **out);

/*
 * Reads the clocks of run queues, by which the kernel side finds the CPU time of running threads.
 * To be called once in a while, and before they are read.
 */
void loader__read_clocks(struct loader *loader);

/* Begins to record, and marks the threads that exist. *@marked: their number. 0 or an error. */
int loader__start(struct loader *loader, uint64_t *marked);

/*
 * Marks the threads of processes that were moved into the recorded cgroup since the last call. 0 or
 * an error.
 */
int loader__mark_entered(struct loader *loader);

/*
 * Sets *@any to whether recorded threads are left. Counts them only if some have exited since the
 * last call. 0 or an error.
 */
int loader__any_left(struct loader *loader, bool *any);

/*
 * Ends the times of recorded threads, each at its own time, if the product has a program
 * freeze_targets: from then on a thread is not recorded. Passes on what the program sends. To be
 * called before loader__stop(), and again after it for threads that were created meanwhile. 0 or an
 * error.
 */
int loader__freeze(struct loader *loader, event_fn on_event, void *arg);

/* Stops recording at once; programs stay attached. */
void loader__stop(struct loader *loader);

/* Detaches the programs, which takes some time; their maps stay. */
void loader__detach(struct loader *loader);

/* The program @name of the object. */
struct bpf_program *loader__program(const struct loader *loader, const char *name);

/* Sets @maps for unwinder__new(). */
void loader__unwinder_maps(const struct loader *loader, struct unwinder_maps *maps);

const struct kernel_info *loader__kernel(const struct loader *loader);
const struct capture_settings *loader__settings(const struct loader *loader);

/* In memory that is shared with the running programs. */
struct capture_state *loader__state(const struct loader *loader);

/* The counts of each of CAPTURE_MAX_CPUS. */
const struct capture_cpu *loader__cpus(const struct loader *loader);

/* Switches of the whole machine that the programs have seen. */
uint64_t loader__switches(const struct loader *loader);

/*
 * The number of switches and wakeups that the programs missed, wholly or in part, because they came
 * in an interrupt of the same program.
 */
uint64_t loader__skipped(const struct loader *loader);

/* The rung in use: where the stacks of blocked threads are taken. */
const char *loader__rung(const struct loader *loader);

void loader__free(struct loader *loader);
DEFINE_CLEANUP(struct loader *, loader__free)
