/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statically defined tracepoints of user programs (USDT, <sys/sdt.h>), as the notes of
 * SystemTap's format in an ELF file tell of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* One place where a probe stands; it may have several. Offsets are in the file. */
struct usdt_place {
	uint64_t offset;
	uint64_t address;   /* linked */
	uint64_t semaphore; /* that whoever watches has to count up; 0: there is none */
};

struct usdt_places {
	ARRAY(struct usdt_place) places;
};

/*
 * Finds probe @name of @provider (NULL: of any) in the file open at @fd, which stays the
 * caller's; @places is the caller's, too. 0; -ENOENT there is none; -ENOEXEC no ELF file;
 * -ENOMEM. Damaged notes are passed over.
 */
int usdt__find(int fd, const char *provider, const char *name, struct usdt_places *places);

/* Calls @each for every probe of the file, until that says true. */
void usdt__each(int fd, bool (*each)(void *arg, const char *provider, const char *name), void *arg);
