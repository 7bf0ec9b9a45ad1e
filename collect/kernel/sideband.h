/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New executable mappings of all processes, by perf's side-band events (PERF_RECORD_MMAP2): without
 * polling, and including processes that live for a millisecond.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping_event {
	uint64_t time; /* CLOCK_MONOTONIC */
	pid_t pid;     /* process */
	uint64_t start;
	uint64_t size;
	uint64_t offset;   /* in the file */
	const char *path;  /* or a name such as [vdso], //anon */
	char build_id[41]; /* hex; "": unknown */
	uint64_t inode;	   /* 0: unknown */
};

struct sideband;

typedef void (*sideband_fn)(void *arg, const struct mapping_event *event);

/* Opens an event on every CPU, and begins. 0 or a negative errno. */
int sideband__open(struct sideband **out);

/* A descriptor that polls readable when mappings are queued. */
int sideband__fd(const struct sideband *sideband);

/* Passes on the queued mappings. Returns how many records the kernel lost since the last call. */
uint64_t sideband__drain(struct sideband *sideband, sideband_fn on_mapping, void *arg);

void sideband__free(struct sideband *sideband);
