// SPDX-License-Identifier: BSD-2-Clause
#include "recording/wait_class.h"

#include <string.h>

#include "base/cleanup.h"

static const struct wait_class_info classes[CLASS_COUNT] = {
	[CLASS_CPU] = {"cpu", "on-CPU", "all computing", '.'},
	[CLASS_IO] = {"io", "I/O", "waiting for I/O", 'I'},
	[CLASS_LOCK] = {"lock", "lock", NULL, 'L'},
	[CLASS_SCHED] = {"sched", "run queue", "waiting for a CPU", 'S'},
	[CLASS_OTHER] = {"other", "other", "waiting for other things", 'B'},
	[CLASS_STOPPED] = {"stopped", "stopped", NULL, 'T'},
};

const struct wait_class_info *wait_class__info(enum wait_class class)
{
	return &classes[class < CLASS_COUNT ? class : CLASS_OTHER];
}

const char *wait_class__name(enum wait_class class)
{
	return wait_class__info(class)->name;
}

char wait_class__letter(enum wait_class class, bool kernel)
{
	return class == CLASS_CPU && kernel ? 'k' : wait_class__info(class)->letter;
}

int wait_class__find(const char *name)
{
	for (int class = 0; class < CLASS_COUNT; class ++)
		if (!strcmp(name, classes[class].name))
			return class;
	return -1;
}

int wait_class__parse(const char *name)
{
	for (int class = 0; class < CLASS_COUNT; class ++)
		if (name[0] == classes[class].letter && !name[1])
			return class;
	return wait_class__find(name);
}

const char *waker_context__name(enum waker_context context)
{
	static const char *const names[] = {
		[WAKER_UNKNOWN] = "unknown", [WAKER_TASK] = "task", [WAKER_SOFTIRQ] = "softirq",
		[WAKER_HARDIRQ] = "hardirq", [WAKER_NMI] = "nmi",
	};

	return names[(size_t)context < ARRAY_SIZE(names) ? context : WAKER_UNKNOWN];
}
