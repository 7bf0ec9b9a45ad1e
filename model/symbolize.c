// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "model/interrupted.h"
#include "model/model.h"
#include "privsep/names.h"

/* Maximum depth at which frames of the scheduler and of tracing are searched for. */
#define MAX_SCHEDULER 24
#define MANY_PERCENT  1 /* of samples without names: a diagnostic is added */

struct symbolization {
	struct model *model;
	const struct model_symbolize_options *options;
	struct names *names;
	int *sources;	/* by DSO: 2 + number in names; 1: none; 0: not added yet */
	bool *resolved; /* by DSO: the recording has names of it */
	bool same_boot;
};

/* Whether the recording was made since this machine was last started. */
static bool is_same_boot(const struct model *model)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	const char *recorded = model__meta(model, "boot_id");
	char boot_id[64] = "";

	if (!file || !recorded || !fgets(boot_id, sizeof(boot_id), file))
		return false;
	boot_id[strcspn(boot_id, "\n")] = '\0';
	return !strcmp(boot_id, recorded);
}

/*
 * Whether the file was not found when it was mapped. Without build id, another file at the same
 * path could not be detected.
 */
static bool is_lost(const struct model_dso *dso)
{
	return dso->kind == DSO_FILE && dso->deleted && !dso->build_id;
}

static int dso_source(struct symbolization *symbolization, uint32_t index)
{
	static const enum symbol_source_kind kinds[] = {
		[DSO_FILE] = SYMBOL_SOURCE_ELF,
		[DSO_KERNEL] = SYMBOL_SOURCE_KERNEL,
		[DSO_VDSO] = SYMBOL_SOURCE_VDSO,
		[DSO_JIT] = SYMBOL_SOURCE_JIT,
	};
	const struct model *model = symbolization->model;
	const struct model_dso *dso = &model->dsos.data[index];
	struct symbol_source source = {
		.path = model__string(model, dso->path),
		.build_id = model__string(model, dso->build_id),
		.fd = -1,
		.pid = dso->pid,
		.owner = -1,
		.resolved = symbolization->resolved[index],
	};
	char root[32];

	if (!index || dso->kind >= ARRAY_SIZE(kinds))
		return -1;
	/* Kernel addresses, the vdso and JIT maps are those of one boot. */
	if (dso->kind != DSO_FILE && !symbolization->same_boot)
		return -1;
	/* What had no name while it was loaded has none now. */
	if (dso->kind == DSO_KERNEL && symbolization->resolved[index])
		return -1;
	source.kind = kinds[dso->kind];
	if (is_lost(dso))
		return -1;
	snprintf(root, sizeof(root), "/proc/%u/root", dso->pid);
	if (symbolization->same_boot && dso->pid && !access(root, X_OK))
		source.root = root;
	return names__add_source(symbolization->names, &source);
}

/* @n is 1 or more. */
static int name_location(struct model *model, struct model_location *location,
			 const struct symbol_frame *found, size_t n)
{
	/* Keeps the names from the recording if there is nothing better. */
	if (location->n_frames && !found[0].name[0])
		return 0;
	if (array__reserve(&model->frames, n))
		return -ENOMEM;
	location->frame = (uint32_t)model->frames.n;
	location->n_frames = (uint16_t)n;
	for (size_t i = 0; i < n; i++)
		model->frames.data[model->frames.n++] = (struct model_frame){
			.name = model__intern(model, found[i].name),
			.file = model__intern(model, found[i].file),
			.line = found[i].line,
			.inlined = found[i].inlined,
		};
	return 0;
}

/* Synthetic names do not count: symbols may have been installed since. */
static bool has_name(const struct model *model, const struct model_location *location)
{
	const char *name;

	if (!location->n_frames || location->provisional)
		return false;
	name = model__string(model, model->frames.data[location->frame].name);
	/* Most futexes are on the heap. The recorder has found that out, and has the file. */
	if (location->data && !*name)
		return true;
	return *name && !symbols__is_synthetic(name);
}

struct unnamed {
	uint32_t dso;
	uint32_t location;
	uint64_t address;
};

static int compare_unnamed(const void *a, const void *b)
{
	const struct unnamed *x = a, *y = b;

	if (x->dso != y->dso)
		return x->dso < y->dso ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Locations of one DSO, which are being named. */
struct unnamed_group {
	struct model *model;
	const struct unnamed *list;
};

static int on_names(void *arg, size_t index, const struct symbol_frame *frames, size_t n)
{
	const struct unnamed_group *group = arg;
	struct model *model = group->model;

	return name_location(model, &model->locations.data[group->list[index].location], frames, n);
}

/* Names @n locations of one DSO. */
static int name_group(struct symbolization *symbolization, const struct unnamed *list, size_t n)
{
	struct model *model = symbolization->model;
	struct unnamed_group group = {model, list};
	int *source = &symbolization->sources[list->dso];
	_cleanup_free_ struct unnamed_address *addresses = NULL;

	if (!*source)
		*source = dso_source(symbolization, list->dso) + 2;
	if (*source <= 1)
		return 0;
	addresses = calloc(n, sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		addresses[i] = (struct unnamed_address){
			list[i].address, model->locations.data[list[i].location].data};
	return names__resolve(symbolization->names, *source - 2, addresses, n, on_names, &group);
}

/* What has no name has an empty one; what has only a provisional one keeps it. */
static int fill(struct model *model)
{
	static const struct symbol_frame nothing = {.name = ""};
	int err = 0;

	for (size_t i = 1; i < model->locations.n && !err; i++) {
		struct model_location *location = &model->locations.data[i];

		location->provisional = false;
		if (!location->n_frames)
			err = name_location(model, location, &nothing, 1);
	}
	return err;
}

/* Symbolizes locations without names, sorted by DSO and address for speed. */
static int name_all(struct symbolization *symbolization)
{
	struct model *model = symbolization->model;
	ARRAY(struct unnamed) list = {};
	size_t end;
	int err = 0;

	for (size_t i = 1; i < model->locations.n; i++)
		if (model->locations.data[i].n_frames)
			symbolization->resolved[model->locations.data[i].dso] = true;
	for (size_t i = 1; i < model->locations.n && !err; i++) {
		const struct model_location *location = &model->locations.data[i];
		struct unnamed entry = {location->dso, (uint32_t)i, location->address};

		if (!has_name(model, location))
			err = array__push(&list, entry);
	}
	if (list.n)
		qsort(list.data, list.n, sizeof(*list.data), compare_unnamed);
	for (size_t i = 0; i < list.n && !err; i = end) {
		for (end = i + 1; end < list.n && list.data[end].dso == list.data[i].dso; end++)
			;
		err = name_group(symbolization, &list.data[i], end - i);
	}
	array__free(&list);
	return err ? err : fill(model);
}

/* The DSO of the innermost frame without a name; 0: all frames have names. */
static uint32_t unnamed_dso(const struct model *model, uint32_t stack)
{
	const struct model_stack *at = &model->stacks.data[stack];

	for (size_t i = 0; i < at->depth; i++) {
		const struct model_location *location = model__location(model, at, i);

		if (!has_name(model, location))
			return location->dso;
	}
	return 0;
}

/* Sampling points by the DSO of unnamed_dso(); [0]: all points. */
struct unnamed_points {
	const struct model *model;
	uint64_t *by_dso;
};

static void count_unnamed(struct unnamed_points *points, uint32_t user, uint32_t kernel,
			  uint64_t weight)
{
	uint32_t dso = unnamed_dso(points->model, user);

	if (!dso)
		dso = unnamed_dso(points->model, kernel);
	if (dso)
		points->by_dso[dso] += weight;
	points->by_dso[0] += weight;
}

static void count_thread(struct unnamed_points *points, const struct model_thread *thread)
{
	for (size_t i = 0; i < thread->samples.n; i++) {
		const struct model_sample *at = &thread->samples.data[i];

		count_unnamed(points, at->user, at->kernel, at->weight);
	}
	for (size_t i = 0; i < thread->intervals.n; i++) {
		const struct model_interval *at = &thread->intervals.data[i];

		count_unnamed(points, at->user, at->kernel,
			      (uint64_t)at->blocked_points + at->runq_points);
	}
}

/* Adds a diagnostic for a file: of what failed, and of many samples without names. */
static int diagnose(const struct symbolization *symbolization, size_t dso, double percent)
{
	struct model *model = symbolization->model;
	int source = symbolization->sources[dso] - 2;
	const char *why = source < 0 ? NULL : names__diagnostic(symbolization->names, source);

	if (source < 0 && percent >= MANY_PERCENT && is_lost(&model->dsos.data[dso]))
		return model__add_diagnostic(model, "symbols",
					     "no names for code in %.0f%% of the samples: %s could "
					     "not be opened while it "
					     "ran: it was deleted, or is in another mount "
					     "namespace, for which the recorder "
					     "needs CAP_SYS_PTRACE",
					     percent,
					     model__string(model, model->dsos.data[dso].path));
	if (!why)
		return 0;
	if (percent >= MANY_PERCENT)
		return model__add_diagnostic(model, "symbols",
					     "no names for code in %.0f%% of the samples: %s",
					     percent, why);
	return names__failed(symbolization->names, source)
		       ? model__add_diagnostic(model, "symbols", "%s", why)
		       : 0;
}

/* Adds a diagnostic for every file without names in MANY_PERCENT of the samples or more. */
static int diagnose_unnamed(const struct symbolization *symbolization)
{
	struct model *model = symbolization->model;
	_cleanup_free_ uint64_t *by_dso = calloc(model->dsos.n, sizeof(*by_dso));
	struct unnamed_points points = {model, by_dso};
	int err = 0;

	if (!by_dso)
		return -ENOMEM;
	for (size_t i = 1; i < model->threads.n; i++)
		if (!model_thread__is_helper(&model->threads.data[i]))
			count_thread(&points, &model->threads.data[i]);
	for (size_t i = 1; i < model->dsos.n && !err; i++)
		err = diagnose(symbolization, i,
			       by_dso[0] ? 100.0 * (double)by_dso[i] / (double)by_dso[0] : 0);
	return err;
}

/* The name of the function (not an inlined one) of frame @i of @stack. */
static const char *frame_name(const struct model *model, const struct model_stack *stack, size_t i)
{
	const struct model_location *location = model__location(model, stack, i);

	return model__string(model,
			     model->frames.data[location->frame + location->n_frames - 1].name);
}

static void drop_frames(struct model_stack *stack, size_t n)
{
	stack->first += n;
	stack->depth -= (uint16_t)n;
}

/* Removes the frames of the tracing hook above __schedule(). */
static void cut_above_schedule(const struct model *model, struct model_stack *stack)
{
	for (size_t i = 0; i < stack->depth && i < MAX_SCHEDULER; i++) {
		if (strcmp(frame_name(model, stack, i), "__schedule") != 0)
			continue;
		drop_frames(stack, i);
		return;
	}
}

/* Whether function @name of the kernel is part of a tracing hook. */
static bool is_tracing(const char *name)
{
	static const char *const tracing[] = {"bpf_prog_",    "bpf_trace_run", "__bpf_trace_",
					      "__traceiter_", "bpf_get_stack", "__bpf_get_stack",
					      "perf_trace_",  "trace_event_"};

	for (size_t i = 0; i < ARRAY_SIZE(tracing); i++)
		if (!strncmp(name, tracing[i], strlen(tracing[i])))
			return true;
	return false;
}

/*
 * Removes the innermost frames, which are of the tracing hook at wakeups or block requests. An
 * interrupt may have come within another hook, whose frames are further out.
 */
static void cut_tracing(const struct model *model, struct model_stack *stack)
{
	size_t drop = 0;

	while (drop < stack->depth && is_tracing(frame_name(model, stack, drop)))
		drop++;
	drop_frames(stack, drop);
}

/*
 * Internal functions of the C library that API functions tail-call: the API function is not on the
 * stack, and users do not know the internal name.
 */
static const struct {
	const char *internal;
	const char *name;
} api_names[] = {
	{"__pthread_clockjoin_ex", "pthread_join"},
	{"__pthread_timedjoin_ex", "pthread_join"},
	{"__new_sem_wait_slow", "sem_wait"},
	{"__new_sem_wait_slow64", "sem_wait"},
	{"__new_sem_wait", "sem_wait"},
	{"___pthread_cond_wait", "pthread_cond_wait"},
	{"___pthread_cond_timedwait64", "pthread_cond_timedwait"},
	{"___pthread_cond_clockwait64", "pthread_cond_clockwait"},
	{"___pthread_mutex_lock", "pthread_mutex_lock"},
	{"___pthread_mutex_timedlock64", "pthread_mutex_timedlock"},
	{"___pthread_mutex_unlock", "pthread_mutex_unlock"},
	{"__pthread_mutex_unlock_usercnt", "pthread_mutex_unlock"},
	{"___pthread_rwlock_rdlock", "pthread_rwlock_rdlock"},
	{"___pthread_rwlock_wrlock", "pthread_rwlock_wrlock"},
	{"___pthread_join", "pthread_join"},
};

/* The API name of function @name of the C library, or @name. */
static const char *api_name(const char *name)
{
	size_t n = strcspn(name, ".");

	for (size_t i = 0; i < ARRAY_SIZE(api_names); i++)
		if (!strncmp(api_names[i].internal, name, n) && !api_names[i].internal[n])
			return api_names[i].name;
	return strncmp(name, "__GI_", 5) ? name : name + 5;
}

static void use_api_names(struct model *model)
{
	for (size_t i = 1; i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		if (!location->dso || !model__is_c_library(model, location->dso))
			continue;
		for (size_t k = 0; k < location->n_frames; k++) {
			struct model_frame *frame = &model->frames.data[location->frame + k];
			const char *name = model__string(model, frame->name);
			const char *api = api_name(name);
			char copy[256];

			/* A copy: interning may move the strings that @api points into. */
			snprintf(copy, sizeof(copy), "%s", api);
			if (api != name)
				frame->name = model__intern(model, copy);
		}
	}
}

static void cut_once(struct model *model, uint32_t stack, bool *cut,
		     void (*how)(const struct model *, struct model_stack *))
{
	if (stack && !cut[stack])
		how(model, &model->stacks.data[stack]);
	cut[stack] = true;
}

static int cut_stacks(struct model *model)
{
	_cleanup_free_ bool *cut = calloc(model->stacks.n, sizeof(*cut));

	if (!cut)
		return -ENOMEM;
	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (size_t k = 0; k < thread->intervals.n; k++)
			cut_once(model, thread->intervals.data[k].kernel, cut, cut_above_schedule);
		for (size_t k = 0; k < thread->wakes.n; k++)
			cut_once(model, thread->wakes.data[k].kernel, cut, cut_tracing);
	}
	for (size_t i = 1; i < model->devices.n; i++) {
		const struct model_device *device = &model->devices.data[i];

		for (size_t k = 0; k < device->idles.n; k++)
			cut_once(model, device->idles.data[k].kernel, cut, cut_tracing);
	}
	return 0;
}

int model__symbolize(struct model *model, const struct model_symbolize_options *options)
{
	struct symbolizer_options wanted = {
		.lines = options->lines,
		.debuginfod = options->debuginfod,
	};
	struct symbolization symbolization = {.model = model, .options = options};
	int err = 0;

	symbolization.sources = calloc(model->dsos.n, sizeof(*symbolization.sources));
	symbolization.resolved = calloc(model->dsos.n, sizeof(*symbolization.resolved));
	if (!symbolization.sources || !symbolization.resolved)
		err = -ENOMEM;
	else if (options->embedded_only)
		for (size_t i = 0; i < model->dsos.n; i++)
			symbolization.sources[i] = 1;
	else
		err = names__new(options->privsep, &wanted, &symbolization.names);
	symbolization.same_boot = is_same_boot(model);
	err = err ? err : name_all(&symbolization);
	if (!err && symbolization.names)
		err = diagnose_unnamed(&symbolization);
	if (!err)
		use_api_names(model);
	err = err ? err : cut_stacks(model);
	err = err ? err : model__remove_interrupted(model);
	names__free(symbolization.names);
	free(symbolization.sources);
	free(symbolization.resolved);
	return err;
}
