/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side in place: a product's programs loaded and attached on the best rung of the
 * ladder that this kernel offers (design, section 3), the threads to be recorded marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/capture.h"
#include "base/cleanup.h"
#include "collect/core/kernel.h"
#include "collect/core/unwinder.h"

struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;

/* A product's BPF object, which includes bpf/core/state.bpf.h and the programs named there. */
struct loader_object {
	/*
	 * Opens it, sets what is the product's own, and leaves out the programs of its own that
	 * @kernel has no use for. Called anew for each rung that is tried; *@out stays the
	 * product's, until close(). Returns 0 or a negative errno.
	 */
	int (*open)(void *arg, const struct kernel_info *kernel, struct bpf_object_skeleton **out);
	void (*close)(void *arg);
	void *arg;
};

struct loader_config {
	uint32_t period_ns;
	bool trace;
	bool follow;	   /* what recorded threads create */
	size_t ring_bytes; /* per CPU, a power of two of pages */
	pid_t command;	   /* recorded from its exec on; 0: none */
	const pid_t *ids;  /* processes, or threads */
	size_t n_ids;
	bool ids_are_threads;
	bool everything;
	uint64_t cgroup;  /* id, 0: none */
	const char *rung; /* begin at this rung of the ladder; NULL: the first */
};

struct loader;

/*
 * Loads and attaches everything but the sampling clocks; nothing is recorded before
 * loader__start(). @rings is the map of each ring buffer, @n_rings a power of two of them; they
 * stay the caller's. Errors: -EPERM, -ENOTSUP (no BTF, or a kernel too old), others of libbpf,
 * all with a message.
 */
int loader__open(const struct loader_config *config, const struct loader_object *object,
		 const int *rings, uint32_t n_rings, struct loader **out);

/* Begins to record, and marks the threads there are. *@marked is how many. */
int loader__start(struct loader *loader, uint64_t *marked);

/*
 * *@any: whether there are still threads that are recorded. Looks only when some have ended
 * since it looked last. 0, or an error.
 */
int loader__any_left(struct loader *loader, bool *any);

/* Nothing is recorded any more. */
void loader__stop(struct loader *loader);

/* Detaches the programs, which takes a while in which the machine goes on; their maps stay. */
void loader__detach(struct loader *loader);

/* The program @name of the object. */
struct bpf_program *loader__program(const struct loader *loader, const char *name);

/* Where unwind tables and mappings go. False: this kernel walks by frame pointers only. */
bool loader__unwinder_maps(const struct loader *loader, struct unwinder_maps *maps);

const struct kernel_info *loader__kernel(const struct loader *loader);
const struct capture_settings *loader__settings(const struct loader *loader);

/* Shared with the programs while they run. */
struct capture_state *loader__state(const struct loader *loader);

/* What each of CAPTURE_MAX_CPUS counts. */
const struct capture_cpu *loader__cpus(const struct loader *loader);

/* Switches of the whole machine that the programs have seen. */
uint64_t loader__switches(const struct loader *loader);

/*
 * Switches and wakeups that the kernel did not show to the programs, as the same program was
 * running on that CPU: an interrupt had come upon it.
 */
uint64_t loader__skipped(const struct loader *loader);

/* Where sleepers' stacks are taken: a name that loader_config.rung takes. */
const char *loader__rung(const struct loader *loader);

/*
 * Sets error__set() to say that the kernel refused to @what, and error__hint() to what would
 * help. Returns @err.
 */
int loader__refused(int err, const char *what);

void loader__free(struct loader *loader);
DEFINE_CLEANUP(struct loader *, loader__free)
