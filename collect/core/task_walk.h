/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks over all tasks of the machine by a BPF iterator. */
#pragma once

#include "collect/core/rings.h"

struct bpf_program;

/*
 * Runs the iterator @program over all tasks. What it writes, each event behind its size in
 * 8 bytes, goes to @on_event. 0, or an error of libbpf or read(), with a message.
 */
int task_walk__run(const struct bpf_program *program, event_fn on_event, void *arg);
