/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of this build (tools/version). Only version.c is compiled again when it changes. */
#pragma once

/* "0.1.0", or "0.1.0+620.684ebac8" between releases; a static string. */
extern const char dwell_version[];
