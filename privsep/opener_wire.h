/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is sent to an opener: flags; path; root; then the message to forward, as it is. Descriptors:
 * the file (without OPEN_PATH), the socket to forward to, the other descriptor to forward. It
 * answers: errno, device, inode, size, owner, mode; with OPEN_PATH an O_PATH descriptor.
 */
#pragma once

#include "privsep/wire.h"

/* How files are opened for a parser. Without waiting for who holds a lease. */
#define OPENER_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

enum open_flags {
	OPEN_PATH = 1 << 0,
	OPEN_ROOT = 1 << 1,
	OPEN_NO_FOLLOW = 1 << 2,
	OPEN_FORWARD = 1 << 3,
	OPEN_RESULT = 1 << 4,
};
