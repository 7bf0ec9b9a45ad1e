// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/loader.h"
#include "model/model_builder.h"

DEFINE_CLEANUP(struct recording_reader *, recording_reader__close)

/* Sets the members of the model that come from RECORD_META. */
static void apply_metas(struct model_loader *loader)
{
	struct model *model = loader->model;
	const char *mode = model__meta(model, "mode");

	if (loader->first_time > loader->last_time)
		loader->first_time = loader->last_time;
	model->start = model__meta_number(model, "start", loader->first_time);
	model->end = model__meta_number(model, "end", loader->last_time);
	if (model->end < model->start)
		model->end = loader->last_time > model->start ? loader->last_time : model->start;
	model->period_ns = model__meta_number(model, "period_ns", 0);
	model->grid_seed = model__meta_number(model, "grid_seed", 0);
	model->trace = mode && !strcmp(mode, "trace");
}

static int init(struct model *model, struct model_loader *loader)
{
	if (intern__id(&model->strings, "", 0, NULL) < 0 || !array__add(&model->threads) ||
	    !array__add(&model->processes) || !array__add(&model->dsos) ||
	    !array__add(&model->objects) || !array__add(&model->devices) ||
	    !array__add(&model->stacks) || !array__add(&model->locations) ||
	    !array__add(&loader->raw_stacks))
		return -ENOMEM;
	model->dsos.data[0].name = model__intern(model, "[unknown]");
	model->dsos.data[0].path = model->dsos.data[0].name;
	return array__push(&model->threads.data[0].comms,
			   ((struct model_comm){.name = model->dsos.data[0].name}));
}

struct model_builder {
	struct model_loader loader;
};

int model_builder__new(struct model_builder **out)
{
	_cleanup_(model_builder__freep) struct model_builder *builder = calloc(1, sizeof(*builder));
	int err;

	if (!builder)
		return -ENOMEM;
	builder->loader.first_time = UINT64_MAX;
	builder->loader.model = calloc(1, sizeof(*builder->loader.model));
	err = builder->loader.model ? init(builder->loader.model, &builder->loader) : -ENOMEM;
	if (err)
		return err;
	*out = TAKE_PTR(builder);
	return 0;
}

int model_builder__add(void *builder, const struct record *record)
{
	struct model_loader *loader = &((struct model_builder *)builder)->loader;
	int err = model_loader__add(loader, record);

	if (err == -EINVAL) {
		loader->model->refused++;
		return 0;
	}
	return err ? error__errno(err, "cannot load the recording") : 0;
}

int model_builder__finish(struct model_builder *builder, const char *warning, struct model **out)
{
	struct model_loader *loader = &builder->loader;
	int err;

	if (warning)
		loader->model->warning = strdup(warning);
	apply_metas(loader);
	err = model_loader__timelines(loader);
	err = err ? err : model_loader__calibrate(loader);
	err = err ? err : model_loader__processes(loader);
	err = err ? err : model_loader__spans(loader);
	err = err ? err : model_loader__locate(loader);
	err = err ? err : model__diagnose(loader->model);
	if (!err)
		*out = TAKE_PTR(loader->model);
	return err;
}

void model_builder__free(struct model_builder *builder)
{
	struct model_loader *loader = &builder->loader;

	free(loader->strings.data);
	free(loader->threads.data);
	free(loader->dsos.data);
	free(loader->objects.data);
	free(loader->devices.data);
	free(loader->stacks.data);
	array__free(&loader->raw_stacks);
	array__free(&loader->raw_frames);
	array__free(&loader->maps);
	array__free(&loader->embedded);
	map64__free(&loader->embedded_by_address);
	map64__free(&loader->dsos_by_hash);
	map64__free(&loader->objects_by_hash);
	map64__free(&loader->latest_process);
	model__free(loader->model);
	free(builder);
}

static int read_records(struct model_builder *builder, struct recording_reader *reader)
{
	struct record record;
	int err;

	while ((err = recording_reader__next(reader, &record)) > 0) {
		err = model_builder__add(builder, &record);
		if (err)
			return err;
	}
	return err;
}

int model__load(const char *path, struct model **out)
{
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	_cleanup_(model_builder__freep) struct model_builder *builder = NULL;
	int err = recording_reader__open(path, &reader);

	if (!err)
		err = model_builder__new(&builder);
	if (!err)
		err = read_records(builder, reader);
	return err ? err : model_builder__finish(builder, recording_reader__warning(reader), out);
}
