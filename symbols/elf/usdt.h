/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User-space statically defined tracepoints (USDT, <sys/sdt.h>), from the SystemTap notes of an
 * ELF file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* One location of a probe, which may have several. Offsets are in the file. */
struct usdt_place {
	uint64_t offset;
	uint64_t address;   /* linked */
	uint64_t semaphore; /* offset of the counter that tracers increment; 0: none */
};

struct usdt_places {
	ARRAY(struct usdt_place) places;
};

/*
 * Adds the locations of probe @name of @provider (NULL: any) in the file open at @fd, which stays
 * the caller's, to @places. Malformed notes are skipped. 0, -ENOENT (no such probe), -ENOEXEC (not
 * an ELF file) or -ENOMEM.
 */
int usdt__find(int fd, const char *provider, const char *name, struct usdt_places *places);

/* Calls @each for every probe of the file, until it returns true. */
void usdt__each(int fd, bool (*each)(void *arg, const char *provider, const char *name), void *arg);
