/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

struct recorder;

/*
 * Embeds names for the addresses in the finished recording @path of @recorder. Prints errors, and
 * with @verbose how many addresses got a name.
 */
void record_names__embed(struct recorder *recorder, const char *path, bool verbose);
