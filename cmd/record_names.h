/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

struct recorder;

/*
 * Embeds names for the addresses in the finished recording @path of @recorder, and reports
 * problems; with @verbose also how many have one.
 */
void name_addresses(struct recorder *recorder, const char *path, bool verbose);
