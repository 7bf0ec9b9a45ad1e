/* SPDX-License-Identifier: BSD-2-Clause */
/* Leaving out of a model what is not meant for others: dwell-export(1), REDACTION, says what. */
#pragma once

#include "base/redaction.h"
#include "model/model.h"

/*
 * Redacts a model that was symbolized, before anything refers to its strings. Function names stay;
 * command line and host name are left out; names of files, threads and sockets, and absolute
 * addresses, become hashes. Returns 0 or -ENOMEM.
 */
int model__redact(struct model *model, const struct redaction *redaction);
