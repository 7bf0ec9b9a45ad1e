// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/loader.h"

DEFINE_CLEANUP(struct recording_reader *, recording_reader__close)

static int read_records(struct model_loader *loader, struct recording_reader *reader)
{
	struct record record;
	int err;

	while ((err = recording_reader__next(reader, &record)) > 0) {
		err = model_loader__add(loader, &record);
		if (err == -EINVAL)
			loader->model->refused++;
		else if (err)
			return error__errno(err, "cannot load the recording");
	}
	return err;
}

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

static int model_init(struct model *model, struct model_loader *loader)
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

static void loader_release(struct model_loader *loader)
{
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
}

static int load_reader(struct model_loader *loader, struct recording_reader *reader)
{
	const char *warning;
	int err = model_init(loader->model, loader);

	err = err ? err : read_records(loader, reader);
	if (err)
		return err;
	warning = recording_reader__warning(reader);
	if (warning)
		loader->model->warning = strdup(warning);
	apply_metas(loader);
	err = model_loader__timelines(loader);
	err = err ? err : model_loader__calibrate(loader);
	err = err ? err : model_loader__processes(loader);
	err = err ? err : model_loader__spans(loader);
	err = err ? err : model_loader__locate(loader);
	return err ? err : model__diagnose(loader->model);
}

int model__load(const char *path, struct model **out)
{
	_cleanup_(recording_reader__closep) struct recording_reader *reader = NULL;
	struct model_loader loader = {.first_time = UINT64_MAX};
	_cleanup_model_ struct model *model = NULL;
	int err = recording_reader__open(path, &reader);

	if (err)
		return err;
	model = calloc(1, sizeof(*model));
	loader.model = model;
	err = model ? load_reader(&loader, reader) : -ENOMEM;
	loader_release(&loader);
	if (err)
		return err;
	*out = TAKE_PTR(model);
	return 0;
}
