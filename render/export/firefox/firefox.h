/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "render/export/export.h"

/*
 * Writes @export as a profile for the Firefox Profiler (profiler.firefox.com, samply load): its
 * processed format, JSON. Each thread is visited once per column, so that no column is held in
 * memory. Returns 0 or -errno, of which -EIO is of @to.
 */
int firefox__write(const struct export *export, FILE *to);
