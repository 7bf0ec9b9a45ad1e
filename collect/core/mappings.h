/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file is mapped where, in the processes that are recorded. Files are
 * kept open from the moment they are seen, so that their symbols can still be
 * read at the end, deleted or replaced or in a container that is gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/core/sideband.h"
#include "collect/core/unwinder.h"
#include "recording/recording.h"

struct mappings;

/*
 * @unwinder is told of every mapping; NULL: nobody is. Both stay the caller's. @keep: those
 * of files are kept for mappings__code().
 */
int mappings__new(struct recording_writer *writer, struct unwinder *unwinder, bool keep,
		  struct mappings **out);

/* Records @event. Returns 0 or the writer's error. */
int mappings__add(struct mappings *mappings, const struct mapping_event *event);

/*
 * Records all executable mappings of a process as they are now, as of @time.
 * A process that is gone has none: 0.
 */
int mappings__read_process(struct mappings *mappings, pid_t pid, uint64_t time);

/*
 * Gets the unwind table of the file @path ready before anybody maps it, so that
 * even the first stacks of a program that does can be walked.
 */
void mappings__prepare(struct mappings *mappings, const char *path);

/* File @index in the order in which they were first mapped. False: there are not so many. */
bool mappings__file(const struct mappings *mappings, size_t index, uint32_t *dso,
		    const char **path);

/* Mapping @index of a file, in the order they were told of. False: there are not so many. */
bool mappings__code(const struct mappings *mappings, size_t index,
		    struct unwinder_mapping *mapping);

/* Forgets those so far: the next one is number 0. */
void mappings__forget_code(struct mappings *mappings);

/* The descriptor kept for @dso, -1 when there is none. */
int mappings__fd(const struct mappings *mappings, uint32_t dso);

void mappings__free(struct mappings *mappings);
