/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is sent to a fetcher: 1: a program, 0: its debug file; build id. Descriptor: the socket of
 * the namer, which gets the file with a message NAMES_FILE. It answers: errno.
 */
#pragma once

#include "privsep/names_wire.h"

#define FETCHED_MESSAGE NAMES_FILE
#define FETCH_NS	35000000000ULL	/* a fetch may take so long */
#define FETCH_ALL_NS	120000000000ULL /* all of them */
