/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests marked by DWELL_REQUEST_BEGIN() and related macros (dwell.h). For model/ only. */
#pragma once

#include "model/model.h"

/*
 * Adds the requests that the threads' annotations tag, which are sorted by time, to @model->spans,
 * and their parts to @model->span_parts (LDB, NSDI'24, sections 3.4 and 4.2). Ids belong to a
 * process. A request ends when no thread has it any more, and it is in no queue. Tags that do not
 * fit:
 *
 *  - A thread that ends has its requests no longer, but does not end them.
 *  - A request that nobody ended is left out; so is one that a thread has alone, and begins again.
 *  - An END by another thread than the only one that has the request, ends it.
 *  - Other tags of requests that are not there, or that the thread does not have, do nothing.
 *
 * They are counted in @model->tags. 0 or -ENOMEM.
 */
int tagged_spans__add(struct model *model);
