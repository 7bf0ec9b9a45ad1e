/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs BPF iterators over all tasks. */
#pragma once

#include "collect/kernel/rings.h"

struct bpf_program;

/*
 * Runs the iterator @program. It writes events, each preceded by its size in 8 bytes, which are
 * passed to @on_event. 0, or an error of libbpf or read() with a message.
 */
int task_walk__run(const struct bpf_program *program, event_fn on_event, void *arg);
