// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/pprof/profile_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096ULL

int64_t profile_string(struct profile_tables *tables, const char *text)
{
	const char *valid = export_text(&tables->text, text);

	return tables->text.failed ? -ENOMEM
				   : intern__id(&tables->strings, valid, strlen(valid), NULL);
}

/* String @id of the model. */
static int64_t model_string(struct profile_tables *tables, uint32_t id)
{
	const uint64_t *known = map64__get(&tables->string_index, id);
	int64_t string;

	if (known)
		return (int64_t)*known;
	string = profile_string(tables, model__string(tables->model, id));
	if (string >= 0 && !map64__put(&tables->string_index, id, (uint64_t)string))
		return -ENOMEM;
	return string;
}

static int64_t add_function(struct profile_tables *tables, uint32_t name, uint32_t file)
{
	uint64_t *at = map64__put(&tables->function_index, (uint64_t)name << 32 | file,
				  tables->functions.n);
	int64_t name_string = model_string(tables, name);
	int64_t file_string = model_string(tables, file);
	struct profile_function function = {(uint32_t)name_string, (uint32_t)file_string};

	if (!at || name_string < 0 || file_string < 0 ||
	    (*at == tables->functions.n && array__push(&tables->functions, function)))
		return -ENOMEM;
	return (int64_t)*at;
}

static int64_t add_mapping(struct profile_tables *tables, uint32_t index)
{
	const struct model_dso *dso = &tables->model->dsos.data[index];
	uint64_t *at = map64__put(&tables->mapping_index, index, tables->mappings.n);
	int64_t file = model_string(tables, dso->path);
	int64_t build_id = model_string(tables, dso->build_id);
	struct profile_mapping mapping = {
		.dso = index,
		.file = (uint32_t)file,
		.build_id = (uint32_t)build_id,
		.start = UINT64_MAX,
	};

	if (!at || file < 0 || build_id < 0 ||
	    (*at == tables->mappings.n && array__push(&tables->mappings, mapping)))
		return -ENOMEM;
	return (int64_t)*at;
}

/* The line of @frame, if it has a name. */
static int add_line(struct profile_tables *tables, uint32_t index)
{
	const struct model_frame *frame = &tables->model->frames.data[index];
	struct profile_line line = {.line = frame->line};
	int64_t function;

	if (!frame->name)
		return 0;
	function = add_function(tables, frame->name, frame->file);
	if (function < 0)
		return (int)function;
	line.function = (uint32_t)function;
	return array__push(&tables->lines, line);
}

/* The stand-in for a stack that could not be read. */
static int add_unknown(struct profile_tables *tables, struct profile_location *location)
{
	int64_t name = profile_string(tables, "[unknown]");
	struct profile_function function = {.name = (uint32_t)name};
	struct profile_line line = {.function = (uint32_t)tables->functions.n};

	location->n_lines = 1;
	return name < 0 || array__push(&tables->functions, function) ||
			       array__push(&tables->lines, line)
		       ? -ENOMEM
		       : 0;
}

static int new_location(struct profile_tables *tables, const struct callchain_frame *frames,
			size_t n)
{
	const struct model_location *at = &tables->model->locations.data[frames->location];
	struct profile_location location = {
		.first = (uint32_t)tables->lines.n,
		.kernel = frames->kernel,
		.address = at->address,
	};
	int64_t mapping = at->dso ? add_mapping(tables, at->dso) : 0;
	int err = 0;

	if (mapping < 0)
		return (int)mapping;
	location.mapping = (uint32_t)mapping;
	if (mapping) {
		struct profile_mapping *of = &tables->mappings.data[mapping];

		of->start = at->address < of->start ? at->address : of->start;
		of->limit = at->address >= of->limit ? at->address + 1 : of->limit;
	}
	for (size_t i = 0; i < n && !err; i++)
		err = add_line(tables, frames[i].frame);
	location.n_lines = (uint32_t)tables->lines.n - location.first;
	if (!err && !frames->location)
		err = add_unknown(tables, &location);
	return err ? err : array__push(&tables->locations, location);
}

/* The location of the @n @frames, which are inlined into each other. The scheduler's functions may
 * have been cut off from the inner ones. */
static int64_t add_location(struct profile_tables *tables, const struct callchain_frame *frames,
			    size_t n)
{
	uint64_t key = (uint64_t)frames->location << 32 | (frames->location ? frames->frame : 0);
	uint64_t *at = map64__put(&tables->location_index, key, tables->locations.n);

	if (!at)
		return -ENOMEM;
	if (*at == tables->locations.n && new_location(tables, frames, n))
		return -ENOMEM;
	return (int64_t)*at;
}

static int64_t new_stack(struct profile_tables *tables, uint32_t kernel, uint32_t user,
			 bool off_cpu)
{
	static const struct callchain_frame unknown;
	const struct callchain *chain = &tables->chain;

	if (callchain__set(&tables->chain, tables->model, kernel, user, off_cpu))
		return -ENOMEM;
	/* Tools leave out time that is in no function. */
	if (!chain->frames.n && array__push(&tables->chain.frames, unknown))
		return -ENOMEM;
	tables->path.n = 0;
	for (size_t i = 0, n; i < chain->frames.n; i += n) {
		int64_t location;

		for (n = 1; chain->frames.data[i + n - 1].inlined && i + n < chain->frames.n;)
			n++;
		location = add_location(tables, &chain->frames.data[i], n);
		if (location < 0 || array__push(&tables->path, (uint32_t)location))
			return -ENOMEM;
	}
	return intern__id(&tables->stacks, tables->path.data,
			  tables->path.n * sizeof(*tables->path.data), NULL);
}

static int64_t add_stack(struct profile_tables *tables, uint32_t kernel, uint32_t user,
			 bool off_cpu)
{
	/* Numbers of stacks are below 2^31. */
	uint64_t key = (uint64_t)kernel << 33 | (uint64_t)user << 1 | off_cpu;
	const uint64_t *known = map64__get(&tables->stack_index, key);
	int64_t stack;

	if (known)
		return (int64_t)*known;
	stack = new_stack(tables, kernel, user, off_cpu);
	if (stack >= 0 && !map64__put(&tables->stack_index, key, (uint64_t)stack))
		return -ENOMEM;
	return stack;
}

static int64_t object_string(struct profile_tables *tables, const struct weighted_sample *sample)
{
	uint32_t object = export_waits__object(sample);
	const uint64_t *known = map64__get(&tables->object_index, object);
	char text[1024];
	int64_t string;

	if (!object)
		return 0;
	if (known)
		return (int64_t)*known;
	object__text(tables->model, object, text, sizeof(text));
	string = profile_string(tables, text);
	if (string >= 0 && !map64__put(&tables->object_index, object, (uint64_t)string))
		return -ENOMEM;
	return string;
}

/* What tells the text of @cause at @time: of a thread its name, too. */
static uint64_t cause_key(const struct model *model, struct wait_cause cause, uint64_t time)
{
	uint64_t key = (uint64_t)cause.type << 60 | cause.id;

	if (cause.type != CAUSE_THREAD)
		return key;
	/* Numbers of strings are below 2^31, and the type is 0. */
	return key | (uint64_t)model_thread__comm(&model->threads.data[cause.id], time) << 32 |
	       1ULL << 63;
}

static int64_t waker_string(struct profile_tables *tables, const struct weighted_sample *sample)
{
	const struct model_interval *interval = sample->interval;
	const struct export_waits *waits = &tables->waits;
	struct wait_cause cause;
	const uint64_t *known;
	uint64_t time, key;
	int64_t string;

	if (!export_waits__is_blocked(sample))
		return 0;
	time = interval->t_out + interval->blocked_ns;
	cause = export_waits__cause(waits, sample->thread, interval);
	key = cause_key(tables->model, cause, time);
	known = map64__get(&tables->cause_index, key);
	if (known)
		return (int64_t)*known;
	string = profile_string(tables,
				export_waits__cause_text(waits, cause, time, &tables->waker));
	if (string >= 0 && !map64__put(&tables->cause_index, key, (uint64_t)string))
		return -ENOMEM;
	return string;
}

static int add_sample(void *context, const struct weighted_sample *sample)
{
	struct profile_tables *tables = context;
	int64_t stack, comm, object, waker, id;
	struct profile_sample key;
	bool fresh;

	if (sample->idle && !tables->export->idle)
		return 0;
	stack = add_stack(tables, sample->kernel, sample->user, sample->class != CLASS_CPU);
	comm = model_string(tables, sample->comm);
	object = object_string(tables, sample);
	waker = waker_string(tables, sample);
	if (stack < 0 || comm < 0 || object < 0 || waker < 0)
		return -ENOMEM;
	key = (struct profile_sample){
		.stack = (uint32_t)stack,
		.labels =
			{
				.thread = sample->thread,
				.comm = (uint32_t)comm,
				.object = (uint32_t)object,
				.waker = (uint32_t)waker,
				.class = sample->class,
				.kind = (uint16_t)export_waits__kind(&tables->waits, sample),
				.idle = sample->idle,
			},
	};
	id = intern__id(&tables->samples, &key, sizeof(key), &fresh);
	if (id < 0 || (fresh && array__push(&tables->ns, 0)))
		return -ENOMEM;
	tables->ns.data[id] += sample->ns;
	return 0;
}

/* Page by page, and files from their beginning on: so offsets are addresses. */
static void set_ranges(struct profile_tables *tables)
{
	for (size_t i = 1; i < tables->mappings.n; i++) {
		struct profile_mapping *mapping = &tables->mappings.data[i];
		uint8_t kind = tables->model->dsos.data[mapping->dso].kind;

		if (mapping->start > mapping->limit)
			mapping->start = mapping->limit; /* nothing of it was seen */
		mapping->start -= mapping->start % PAGE;
		if (kind == DSO_FILE || kind == DSO_VDSO)
			mapping->start = 0;
		if (mapping->limit < UINT64_MAX - PAGE)
			mapping->limit += -mapping->limit % PAGE;
	}
}

/* The process that was recorded: that of the command, or the first target that is known. */
static const struct model_process *main_process(const struct model *model)
{
	const struct model_process *first = NULL;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		const struct model_process *process = &model->processes.data[thread->process];

		if (!(thread->flags & THREAD_TARGET) || !process->maps.n)
			continue;
		if (!process->parent)
			return process;
		first = first ? first : process;
	}
	return first;
}

/* Tools take the first mapping for the program: the lowest of its last mappings. */
static int add_program(struct profile_tables *tables)
{
	const struct model_process *process = main_process(tables->model);
	const struct model_map *program = NULL;
	uint64_t until = 0;

	if (!process)
		return 0;
	for (size_t i = 0; i < process->maps.n; i++)
		if (process->maps.data[i].until > until)
			until = process->maps.data[i].until;
	for (size_t i = 0; i < process->maps.n && !program; i++)
		if (process->maps.data[i].until == until && process->maps.data[i].dso)
			program = &process->maps.data[i];
	return program && add_mapping(tables, program->dso) < 0 ? -ENOMEM : 0;
}

int profile_tables__fill(struct profile_tables *tables, const struct export *export)
{
	int err;

	tables->export = export;
	tables->model = export->model;
	if (!array__add(&tables->functions) || !array__add(&tables->locations) ||
	    !array__add(&tables->mappings) || intern__id(&tables->strings, "", 0, NULL) < 0 ||
	    intern__id(&tables->stacks, "", 0, NULL) < 0)
		return -ENOMEM;
	err = export_waits__begin(&tables->waits, export);
	err = err ? err : add_program(tables);
	err = err ? err
		  : weighted_samples__visit(export->model, export->filter, add_sample, tables);
	set_ranges(tables);
	return err;
}

void profile_tables__free(struct profile_tables *tables)
{
	intern__free(&tables->strings);
	intern__free(&tables->stacks);
	intern__free(&tables->samples);
	array__free(&tables->ns);
	array__free(&tables->functions);
	array__free(&tables->lines);
	array__free(&tables->locations);
	array__free(&tables->mappings);
	export_waits__free(&tables->waits);
	callchain__free(&tables->chain);
	map64__free(&tables->stack_index);
	map64__free(&tables->location_index);
	map64__free(&tables->function_index);
	map64__free(&tables->mapping_index);
	map64__free(&tables->string_index);
	map64__free(&tables->object_index);
	map64__free(&tables->cause_index);
	array__free(&tables->path);
	buffer__free(&tables->text);
	buffer__free(&tables->waker);
}

const uint32_t *profile_stack(struct profile_tables *tables, uint32_t stack, size_t *n)
{
	size_t size;
	const void *locations = intern__bytes(&tables->stacks, stack, &size);

	/* What is interned is not aligned. The longest stack had room in the path. */
	if (size)
		memcpy(tables->path.data, locations, size);
	*n = size / sizeof(*tables->path.data);
	return tables->path.data;
}

struct profile_sample profile_sample(const struct profile_tables *tables, size_t index)
{
	struct profile_sample sample;

	memcpy(&sample, intern__bytes(&tables->samples, (uint32_t)index, NULL), sizeof(sample));
	return sample;
}

int64_t profile_process__name(struct profile_tables *tables, uint32_t thread)
{
	const struct model *model = tables->model;
	uint32_t process = model->threads.data[thread].process;
	uint32_t leader = model->processes.data[process].leader;
	const struct model_thread *of = &model->threads.data[leader ? leader : thread];

	if (of->execs.n)
		return model_string(tables, of->execs.data[of->execs.n - 1].comm);
	return of->comms.n ? model_string(tables, of->comms.data[of->comms.n - 1].name) : 0;
}

int64_t profile_word(struct profile_tables *tables, const char *word)
{
	return intern__id(&tables->strings, word, strlen(word), NULL);
}

uint64_t profile_start(const struct model *model)
{
	return model__meta_number(model, "start_realtime", 0);
}
