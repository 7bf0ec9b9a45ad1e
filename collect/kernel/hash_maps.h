/* SPDX-License-Identifier: BSD-2-Clause */
/* How the hash maps of a BPF object get their memory. */
#pragma once

#include "collect/kernel/kernel.h"

struct bpf_object;

/*
 * To be called before @object is loaded. Before Linux 6.1, programs of type perf_event, which can
 * run in an NMI, may refer to a hash map only if its elements are allocated when it is created. On
 * such a @kernel all are, and the map of thread states has room for 32768, as many as pid_max has
 * by default: 10 MiB, all maps together 14 MiB. 0 or a negative errno.
 */
int hash_maps__allocate(const struct bpf_object *object, const struct kernel_info *kernel);
