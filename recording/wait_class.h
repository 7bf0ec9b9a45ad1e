/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of enum wait_class and enum waker_context, for all views. */
#pragma once

#include <stdbool.h>

#include "abi/event.h"

struct wait_class_info {
	const char *name;  /* "io": in options, JSON and causal profiles */
	const char *title; /* "I/O": above a column */
	const char *words; /* "waiting for I/O": as a causal target; NULL: it cannot be one */
	char letter;	   /* 'I': printed where perf prints the privilege level; '.' for CPU */
};

/* The names of @class; those of CLASS_OTHER if it is out of range. */
const struct wait_class_info *wait_class__info(enum wait_class class);

/* "cpu", "io", "lock", "sched", "other", "stopped". */
const char *wait_class__name(enum wait_class class);

/* The letter that reports print for the privilege level: '.', 'k' (CPU, in the kernel), 'I', 'L',
 * 'S', 'B', 'T'. */
char wait_class__letter(enum wait_class class, bool kernel);

/* The class of that name, or -1. */
int wait_class__find(const char *name);

/* The class of that name or letter, or -1. */
int wait_class__parse(const char *name);

/* "task", "softirq", ...: in which context a wakeup happened. */
const char *waker_context__name(enum waker_context context);
