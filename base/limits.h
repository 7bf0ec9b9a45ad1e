/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits of resources (getrlimit(2), control groups): raised where that is allowed, and named in
 * the hints of errors that they cause.
 */
#pragma once

#include <stddef.h>

/*
 * Raises soft limits of descriptors, locked memory and memory to the hard ones; that of descriptors
 * further if it is low and this process may. Further calls do nothing.
 */
void limits__raise(void);

/* Sets the limits as they were before limits__raise(): for a command that is to be run. */
void limits__restore(void);

/*
 * Writes a hint to @text, of @size bytes: which limit @err (a negative errno) comes from, and how
 * to raise it. "" for an error that no limit causes.
 */
void limits__explain(int err, char *text, size_t size);
