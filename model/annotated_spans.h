/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans that DWELL_BEGIN() and DWELL_END() of include/dwell.h mark. For model/ only. */
#pragma once

#include "model/model.h"

/*
 * Adds the spans that the threads' annotations mark, which are sorted by time, to @model->spans. An
 * end belongs to the last open begin of its name in the same thread; if there is none, to the first
 * one in the same process. 0 or -ENOMEM.
 */
int annotated_spans__add(struct model *model);
