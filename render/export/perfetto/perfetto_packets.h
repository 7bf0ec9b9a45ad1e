/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of a Perfetto trace, all on one sequence, with their interned data: strings, frames and
 * call stacks that are sent once, within the packet that refers to them first. For perfetto*.c.
 *
 * Field numbers are those of protos/perfetto/trace/ in github.com/google/perfetto, version 58.
 */
#pragma once

#include <stdio.h>

#include "analysis/chain_tree.h"
#include "render/export/export_waits.h"
#include "render/export/protobuf.h"

/* Fields of TracePacket that hold what a packet says. */
enum perfetto_payload {
	PERFETTO_FTRACE_EVENTS = 1,
	PERFETTO_PROCESS_TREE = 2,
	PERFETTO_CLOCK_SNAPSHOT = 6,
	PERFETTO_TRACK_EVENT = 11,
	PERFETTO_SYSTEM_INFO = 45,
	PERFETTO_TRACK_DESCRIPTOR = 60,
	PERFETTO_STACK_SAMPLE = 135,
};

/* TrackEvent.Type */
enum perfetto_event {
	PERFETTO_BEGIN = 1,
	PERFETTO_END = 2,
	PERFETTO_INSTANT = 3,
	PERFETTO_COUNTER = 4,
};

/* Kinds of interned data: each has numbers of its own, from 1. */
enum perfetto_interned {
	INTERNED_CATEGORY,
	INTERNED_EVENT_NAME,
	INTERNED_ANNOTATION_NAME,
	INTERNED_ANNOTATION_VALUE,
	INTERNED_FUNCTION,
	INTERNED_SOURCE,
	INTERNED_PATH,
	INTERNED_KERNEL_SYMBOL,
	INTERNED_COUNT,
};

/* Tracks: a kind, and the index of the thread, process, ... in the model. */
enum perfetto_track {
	TRACK_PROCESS = 1,
	TRACK_THREAD = 2,
	TRACK_PATH = 3,
	TRACK_REQUESTS = 4, /* lanes */
	TRACK_REQUEST_COUNT = 5,
	TRACK_STOLEN = 6,
};

struct perfetto_writer {
	const struct export *export;
	const struct model *model;
	FILE *to;
	struct export_waits waits;
	struct chain_tree tree;
	struct protobuf event;	  /* the payload that is being made */
	struct protobuf interned; /* that goes with it */
	struct protobuf packet;
	struct intern strings[INTERNED_COUNT];
	struct map64 sent_stacks; /* nodes of the tree */
	size_t sent_frames;	  /* the first frames of the tree, that were sent */
	struct map64 sent_dsos;
	struct buffer text;
	struct buffer waker;
	uint64_t last_track; /* of the slice of a thread that was written last, */
	uint64_t last_end;   /* which ended then */
	uint64_t flows;	     /* so far */
	bool began;	     /* the first packet was written */
	bool failed;	     /* out of memory */
};

/* Frees what the functions below allocate. */
void perfetto_packets__free(struct perfetto_writer *writer);

/* Writes a packet whose payload is writer->event, which is empty after. @time: 0 for none. */
void perfetto__packet(struct perfetto_writer *writer, enum perfetto_payload payload, uint64_t time);

/* The number of @text, from 1. */
uint64_t perfetto__intern(struct perfetto_writer *writer, enum perfetto_interned kind,
			  const char *text);

/* The number of a call stack; 0: there is none. */
uint64_t perfetto__callstack(struct perfetto_writer *writer, uint32_t kernel, uint32_t user,
			     bool off_cpu);

uint64_t perfetto__track(enum perfetto_track track, uint32_t index);

/* Begins a track event in writer->event; ended by perfetto__packet(). */
void perfetto__begin_event(struct perfetto_writer *writer, enum perfetto_event type,
			   uint64_t track);
void perfetto__put_name(struct perfetto_writer *writer, const char *name);
void perfetto__put_category(struct perfetto_writer *writer, const char *category);
void perfetto__put_annotation(struct perfetto_writer *writer, const char *name, const char *value);
void perfetto__put_number(struct perfetto_writer *writer, const char *name, uint64_t value);

/* A slice without more than a name. */
void perfetto__slice_begin(struct perfetto_writer *writer, uint64_t track, uint64_t time,
			   const char *name, const char *category);
void perfetto__slice_end(struct perfetto_writer *writer, uint64_t track, uint64_t time);

/* 0, or the error that ends the export. */
int perfetto__error(const struct perfetto_writer *writer);

/* Thread states: the scheduling events of the recorded threads. 0 or -errno. perfetto_sched.c */
int perfetto_sched__write(struct perfetto_writer *writer);

/* Runs from which time was stolen, beside their threads. perfetto_stolen.c */
void perfetto_stolen__write(struct perfetto_writer *writer);

/* The path of the command's main thread, with flows. 0 or -errno. perfetto_path.c */
int perfetto_path__write(struct perfetto_writer *writer);

/* Requests, as slices, and how many were in progress. 0 or -errno. perfetto_requests.c */
int perfetto_requests__write(struct perfetto_writer *writer);
