/* SPDX-License-Identifier: BSD-2-Clause */
/* viewer/dist/page.html, as it is in the program. */
#pragma once

#include <stddef.h>

extern const char viewer_page[];
extern const size_t viewer_page_size;
