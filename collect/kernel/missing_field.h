/* SPDX-License-Identifier: BSD-2-Clause */
/* A field of a kernel structure that the programs read, and that the running kernel does not have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether @text, in which libbpf explains why the verifier refused a program, says that a field was
 * not found. Then sets @field, of @size bytes, to it, as "struct task_struct.se.cfs_rq".
 */
bool missing_field__parse(const char *text, char *field, size_t size);

/* Sets a message and a hint for @err that name @field, as parsed. Returns @err. */
int missing_field__error(int err, const char *field);
