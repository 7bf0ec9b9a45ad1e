// SPDX-License-Identifier: BSD-2-Clause
#include "model/embed.h"

#include <errno.h>
#include <stdio.h>

#include "model/model.h"
#include "privsep/privsep.h"

static int write_symbols(const struct model *model, const struct model_location *location,
			 struct recording_writer *writer)
{
	for (size_t i = 0; i < location->n_frames; i++) {
		const struct model_frame *frame = &model->frames.data[location->frame + i];
		struct record record = {.type = RECORD_SYMBOL,
					.symbol = {
						.dso = model->dsos.data[location->dso].number,
						.address = location->address,
						.name = recording_writer__string(
							writer, model__string(model, frame->name)),
						.file = recording_writer__string(
							writer, model__string(model, frame->file)),
						.line = frame->line,
						.inlined = i + 1 < location->n_frames,
					}};
		int err = recording_writer__put(writer, &record);

		if (err)
			return err;
	}
	return 0;
}

/* Gives the kernel a DSO number, unless the recording has one. */
static void number_kernel_dso(struct model *model, struct recording_writer *writer)
{
	for (size_t i = 1; i < model->dsos.n; i++) {
		struct model_dso *dso = &model->dsos.data[i];
		struct record_dso record = {.kind = DSO_KERNEL};

		if (dso->kind != DSO_KERNEL || dso->number)
			continue;
		record.path = recording_writer__string(writer, model__string(model, dso->path));
		dso->number = recording_writer__dso(writer, &record);
	}
}

/* Files that could not be read, behind the first @known, which are in the recording already. */
static int write_failures(const struct privsep *privsep, size_t known,
			  struct recording_writer *writer)
{
	const struct privsep_failure *failures;
	uint64_t more;
	size_t n;
	int err = 0;

	failures = privsep__failures(privsep, &n, &more);
	for (size_t i = known; i < n && !err; i++) {
		struct record record = {.type = RECORD_LOST, .lost.count = failures[i].count};
		char text[256];

		snprintf(text, sizeof(text), "%.180s: no names, %s", failures[i].path,
			 privsep__failure_text(&failures[i]));
		record.lost.cause = recording_writer__string(writer, text);
		err = recording_writer__put(writer, &record);
	}
	return err;
}

int embed_symbols(int fd, const char *path, const struct embed_options *options, uint64_t *resolved)
{
	const struct model_options load = {.distinct_stacks = true};
	const struct model_symbolize_options symbolize = {
		.lines = options->lines,
		.generated = true,
		.debuginfod = options->debuginfod,
		.dso_fd = options->dso_fd,
		.dso_owner = options->dso_owner,
		.kernel_name = options->kernel_name,
		.context = options->context,
		.privsep = options->privsep,
	};
	_cleanup_model_ struct model *model = NULL;
	struct recording_writer *writer = NULL;
	uint64_t named = 0, more;
	size_t failures = 0;
	int closed, err = model__load_fd(fd, path, &load, &model);

	if (options->privsep)
		privsep__failures(options->privsep, &failures, &more);
	err = err ? err : model__symbolize(model, &symbolize);
	err = err ? err : recording_writer__append_fd(fd, path, &writer);
	if (err)
		return err;
	number_kernel_dso(model, writer);
	for (size_t i = 1; i < model->locations.n && !err; i++) {
		const struct model_location *location = &model->locations.data[i];

		/* That it is no variable is worth knowing, too. */
		if (!location->dso ||
		    (!model->frames.data[location->frame].name && !location->data))
			continue;
		named++;
		err = write_symbols(model, location, writer);
	}
	if (!err && options->privsep)
		err = write_failures(options->privsep, failures, writer);
	closed = recording_writer__close(writer);
	if (resolved)
		*resolved = named;
	return err ? err : closed;
}
