// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "symbols/symbols.h"

#define MAX_INLINED 64
/* Frames of tracing and of the scheduler on top of a stack are looked for no deeper. */
#define MAX_PLUMBING 24
#define MAX_TRACING  8

struct naming {
	struct model *model;
	const struct model_symbolize_options *options;
	struct symbolizer *symbolizer;
	int *sources; /* per DSO: number in the symbolizer, + 2; 1: none; 0: not asked */
	bool same_boot;
};

/* Whether the recording was made since this machine was last started. */
static bool model__same_boot(const struct model *model)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	const char *recorded = model__meta(model, "boot_id");
	char boot_id[64] = "";

	if (!file || !recorded || !fgets(boot_id, sizeof(boot_id), file))
		return false;
	boot_id[strcspn(boot_id, "\n")] = '\0';
	return !strcmp(boot_id, recorded);
}

static int naming__source(struct naming *naming, uint32_t index)
{
	static const enum symbol_source_kind kinds[] = {
		[DSO_FILE] = SYMBOL_SOURCE_ELF,
		[DSO_KERNEL] = SYMBOL_SOURCE_KERNEL,
		[DSO_VDSO] = SYMBOL_SOURCE_VDSO,
		[DSO_JIT] = SYMBOL_SOURCE_JIT,
	};
	const struct model *model = naming->model;
	const struct model_dso *dso = &model->dsos.data[index];
	const struct model_symbolize_options *options = naming->options;
	struct symbol_source source = {
		.path = model__string(model, dso->path),
		.build_id = model__string(model, dso->build_id),
		.fd = -1,
		.pid = dso->pid,
		.owner = -1,
	};
	char root[32];

	if (!index || dso->kind >= ARRAY_SIZE(kinds))
		return -1;
	/* Kernel addresses, the vdso and JIT maps are those of one boot. */
	if (dso->kind != DSO_FILE && !naming->same_boot)
		return -1;
	source.kind = kinds[dso->kind];
	if (options->dso_fd)
		source.fd = options->dso_fd(options->context, dso->number);
	if (options->dso_owner)
		source.owner = options->dso_owner(options->context, dso->number);
	/* Without a build id nothing would tell that another file took the path. */
	if (dso->kind == DSO_FILE && dso->deleted && !dso->build_id && source.fd < 0)
		return -1;
	snprintf(root, sizeof(root), "/proc/%u/root", dso->pid);
	if (naming->same_boot && dso->pid && !access(root, X_OK))
		source.root = root;
	return symbolizer__source(naming->symbolizer, &source);
}

static int naming__name(struct naming *naming, struct model_location *location)
{
	struct symbol_frame found[MAX_INLINED];
	struct model *model = naming->model;
	int *source = &naming->sources[location->dso];
	size_t n = 0;

	if (!*source)
		*source = naming__source(naming, location->dso) + 2;
	if (*source > 1)
		n = symbolizer__resolve(naming->symbolizer, *source - 2, location->address, found,
					MAX_INLINED);
	if (!n)
		found[n++] = (struct symbol_frame){.name = ""};
	/* What the recording knew stays when nothing better is found. */
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

static bool location__named(const struct model *model, const struct model_location *location)
{
	return location->n_frames && model->frames.data[location->frame].name;
}

struct unnamed {
	uint32_t dso;
	uint32_t location;
	uint64_t address;
};

static int unnamed__order(const void *a, const void *b)
{
	const struct unnamed *x = a, *y = b;

	if (x->dso != y->dso)
		return x->dso < y->dso ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Names what the recording does not, file by file and in order of address. */
static int naming__all(struct naming *naming)
{
	struct model *model = naming->model;
	ARRAY(struct unnamed) list = {};
	int err = 0;

	for (size_t i = 1; i < model->locations.n && !err; i++) {
		const struct model_location *location = &model->locations.data[i];
		struct unnamed entry = {location->dso, (uint32_t)i, location->address};

		if (!location__named(model, location))
			err = array__push(&list, entry);
	}
	if (list.n)
		qsort(list.data, list.n, sizeof(*list.data), unnamed__order);
	for (size_t i = 0; i < list.n && !err; i++)
		err = naming__name(naming, &model->locations.data[list.data[i].location]);
	array__free(&list);
	return err;
}

/* The name of frame @i of @stack, outermost inlined function. */
static const char *stack__name(const struct model *model, const struct model_stack *stack, size_t i)
{
	const struct model_location *location = model__location(model, stack, i);

	return model__string(model,
			     model->frames.data[location->frame + location->n_frames - 1].name);
}

static void stack__drop(struct model_stack *stack, size_t n)
{
	stack->first += n;
	stack->depth -= (uint16_t)n;
}

/* What the hook at the switch put above the scheduler. */
static void stack__cut_blocked(const struct model *model, struct model_stack *stack)
{
	for (size_t i = 0; i < stack->depth && i < MAX_PLUMBING; i++) {
		if (strcmp(stack__name(model, stack, i), "__schedule") != 0)
			continue;
		stack__drop(stack, i);
		return;
	}
}

/* What the hook at the wakeup put above try_to_wake_up(). */
static void stack__cut_waking(const struct model *model, struct model_stack *stack)
{
	static const char *const tracing[] = {"bpf_prog_",    "bpf_trace_run", "__bpf_trace_",
					      "__traceiter_", "bpf_get_stack", "__bpf_get_stack",
					      "perf_trace_",  "trace_event_"};
	size_t drop = 0;

	for (size_t i = 0; i < stack->depth && i < MAX_TRACING; i++) {
		const char *name = stack__name(model, stack, i);

		for (size_t k = 0; k < ARRAY_SIZE(tracing); k++)
			if (!strncmp(name, tracing[k], strlen(tracing[k])))
				drop = i + 1;
	}
	stack__drop(stack, drop);
}

/*
 * The C library's API ends in a jump to these: the function a program called is
 * on no stack, and its own name for it is nobody's.
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

/* The name programs know for @name of the C library, or @name. */
static const char *api_name(const char *name)
{
	size_t n = strcspn(name, ".");

	for (size_t i = 0; i < ARRAY_SIZE(api_names); i++)
		if (!strncmp(api_names[i].internal, name, n) && !api_names[i].internal[n])
			return api_names[i].name;
	return strncmp(name, "__GI_", 5) ? name : name + 5;
}

static void model__name_api(struct model *model)
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

			/* Interning may move the string it is a part of. */
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

static int model__cut_stacks(struct model *model)
{
	_cleanup_free_ bool *cut = calloc(model->stacks.n, sizeof(*cut));

	if (!cut)
		return -ENOMEM;
	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (size_t k = 0; k < thread->intervals.n; k++)
			cut_once(model, thread->intervals.data[k].kernel, cut, stack__cut_blocked);
		for (size_t k = 0; k < thread->wakes.n; k++)
			cut_once(model, thread->wakes.data[k].kernel, cut, stack__cut_waking);
	}
	for (size_t i = 1; i < model->devices.n; i++) {
		const struct model_device *device = &model->devices.data[i];

		for (size_t k = 0; k < device->idles.n; k++)
			cut_once(model, device->idles.data[k].kernel, cut, stack__cut_waking);
	}
	return 0;
}

int model__symbolize(struct model *model, const struct model_symbolize_options *options)
{
	struct symbolizer_options wanted = {.lines = options->lines,
					    .debuginfod = options->debuginfod};
	struct naming naming = {.model = model, .options = options};
	int err = 0;

	naming.sources = calloc(model->dsos.n, sizeof(*naming.sources));
	if (!naming.sources)
		return -ENOMEM;
	if (options->embedded_only)
		for (size_t i = 0; i < model->dsos.n; i++)
			naming.sources[i] = 1;
	else
		err = symbolizer__new(&wanted, &naming.symbolizer);
	naming.same_boot = model__same_boot(model);
	err = err ? err : naming__all(&naming);
	if (!err)
		model__name_api(model);
	err = err ? err : model__cut_stacks(model);
	symbolizer__free(naming.symbolizer);
	free(naming.sources);
	return err;
}
