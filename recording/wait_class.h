/* SPDX-License-Identifier: BSD-2-Clause */
/* The classes of enum wait_class, as each view names them. */
#pragma once

#include <stdbool.h>

#include "abi/event.h"

struct wait_class_info {
	const char *name;  /* "io": in options, JSON and causal profiles */
	const char *title; /* "I/O": above a column */
	const char *words; /* "waiting for I/O": as a causal target; NULL: it can be none */
	char letter;	   /* 'I': where perf prints the privilege level; '.' for user mode */
};

/* The row of @class; that of CLASS_OTHER for a number that is no class. */
const struct wait_class_info *wait_class__info(enum wait_class class);

/* "cpu", "io", "lock", "sched", "other". */
const char *wait_class__name(enum wait_class class);

/* What reports print for the privilege level: '.', 'k' (with @kernel), 'I', 'L', 'S', 'B'. */
char wait_class__letter(enum wait_class class, bool kernel);

/* The class of that name, or -1. */
int wait_class__find(const char *name);

/* The class of that name or letter, or -1. */
int wait_class__parse(const char *name);
