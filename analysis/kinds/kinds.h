/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread waited for, finer than its class: from the system call it was
 * in and the functions on its kernel stack.
 */
#pragma once

#include "analysis/kinds/kind_table.h"
#include "model/model.h"

/* Tables of one model: function names and system calls already looked up. */
struct kinds;

int kinds__new(const struct model *model, struct kinds **out);
void kinds__free(struct kinds *kinds);

struct kind_question {
	enum wait_class class;
	uint16_t flags;	 /* enum interval_flags; with CLASS_SCHED they tell why */
	int16_t syscall; /* -1: none */
	uint32_t kernel; /* stack */
	uint32_t object;
};

enum wait_kind kinds__of(struct kinds *kinds, const struct kind_question *question);

/* The object as text, "" when unknown: a path, an address, a pid, a futex word. */
void object__text(const struct model *model, uint32_t index, char *text, size_t size);

/* Kind and object as one phrase, "disk read /var/lib/x.sst". */
void kind__describe(const struct model *model, enum wait_kind kind, uint32_t object, char *text,
		    size_t size);

DEFINE_CLEANUP(struct kinds *, kinds__free)
#define _cleanup_kinds_ _cleanup_(kinds__freep)
