/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind of a wait, which is finer than its class: from the system call and the functions on
 * the kernel stack.
 */
#pragma once

#include "wait_kinds/kind_table.h"
#include "model/model.h"

/* Tables of one model: the clues of its function names and kernel stacks, looked up once each. */
struct kinds;

/* @model has the names of its functions, and must outlive the result. Returns 0 or -ENOMEM. */
int kinds__new(const struct model *model, struct kinds **out);
void kinds__free(struct kinds *kinds);

struct wait_description {
	enum wait_class class;
	uint16_t flags;	 /* enum interval_flags: with CLASS_SCHED, why it had no CPU */
	int16_t syscall; /* -1: none */
	uint32_t kernel; /* stack */
	uint32_t object;
};

enum wait_kind kinds__of(struct kinds *kinds, const struct wait_description *description);

/* What a running thread does by its kernel stack: KIND_RUNNING, _RECLAIMING or _COMPACTING. */
enum wait_kind kinds__of_running(struct kinds *kinds, uint32_t kernel);

/*
 * The kind of @interval's blocked part as a wait for @object: model_interval__object(), or
 * @interval->object for the time in which TCP held nothing back.
 */
enum wait_kind kinds__of_interval(struct kinds *kinds, const struct model_interval *interval,
				  uint32_t object);

/* The object as text: a path, a network address, a pid, the address of a futex; "": unknown. */
void object__text(const struct model *model, uint32_t index, char *text, size_t size);

/* Kind and object in one phrase: "disk read /var/lib/x.sst". */
void kind__describe(const struct model *model, enum wait_kind kind, uint32_t object, char *text,
		    size_t size);

DEFINE_CLEANUP(struct kinds *, kinds__free)
#define _cleanup_kinds_ _cleanup_(kinds__freep)
