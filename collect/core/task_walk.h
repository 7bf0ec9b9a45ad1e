/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks over all tasks of the machine by a BPF iterator. */
#pragma once

#include "collect/core/loader.h"

struct bpf_program;

/*
 * Runs the iterator @program over all tasks. What it writes, each event behind its size in
 * 8 bytes, goes to @on_event. 0, or an error of libbpf or read(), told by error__set().
 */
int task_walk__run(const struct bpf_program *program, probes_event_fn on_event, void *arg);
