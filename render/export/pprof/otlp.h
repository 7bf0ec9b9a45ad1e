/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenTelemetry profiles in protobuf, as of opentelemetry-proto 1.11.0 (and 1.10.0), package
 * opentelemetry.proto.profiles.v1development. The format is not stable yet: earlier versions have
 * other field numbers. All that depends on the version is in otlp.c.
 *
 * A ProfilesData message, which has the fields of an ExportProfilesServiceRequest: the file is what
 * is sent to a collector, too.
 */
#pragma once

#include "render/export/export.h"

/* Where OTLP/HTTP receives profiles, and what they are. */
#define OTLP_PATH	  "/v1development/profiles"
#define OTLP_CONTENT_TYPE "application/x-protobuf"

/*
 * Writes time on the CPU ("cpu"), blocked ("off_cpu") and in the run queue ("run_queue"), in ns, as
 * one Profile each, over one dictionary; those without samples are left out. Samples with the same
 * stack and attributes are one. Returns 0 or -ENOMEM; errors of @to stay in it.
 */
int otlp__write(const struct export *export, FILE *to);
