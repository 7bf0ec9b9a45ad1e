/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a model of records as they come, from a file or from a recorder: model_builder__add() is a
 * sink of a record stream.
 */
#pragma once

#include "base/cleanup.h"
#include "model/model.h"
#include "recording/record_stream.h"

struct model_builder;

/* 0 or -ENOMEM. */
int model_builder__new(struct model_builder **out);

/*
 * As struct record_sink; @builder is a struct model_builder. Records of unknown types are skipped,
 * those that refer to what was not defined are counted. 0, or -ENOMEM with a message.
 */
int model_builder__add(void *builder, const struct record *record);

/*
 * The model of all records; nothing can be added any more. @warning, of the reader of a file, may
 * be NULL. 0 or -ENOMEM.
 */
int model_builder__finish(struct model_builder *builder, const char *warning, struct model **out);

void model_builder__free(struct model_builder *builder);
DEFINE_CLEANUP(struct model_builder *, model_builder__free)
