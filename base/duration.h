/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* Formats @ns with a suitable unit: "1.234 s", "56.789 ms", "12.3 us", "0". Returns @text. */
const char *duration__text(uint64_t ns, char text[static 24]);
