// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/firefox/firefox_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/fields.h"

const struct firefox_category_info *firefox_category__info(enum firefox_category category)
{
	static const struct firefox_category_info infos[FIREFOX_CATEGORY_COUNT] = {
		[FIREFOX_OTHER] = {"Other", "grey"},
		[FIREFOX_USER] = {"User", "yellow"},
		[FIREFOX_KERNEL] = {"Kernel", "orange"},
		[FIREFOX_IO] = {"I/O", "blue"},
		[FIREFOX_LOCK] = {"Lock", "red"},
		[FIREFOX_SCHED] = {"Waiting for a CPU", "purple"},
		[FIREFOX_BLOCKED] = {"Blocked", "brown"},
		[FIREFOX_STOPPED] = {"Not allowed to run", "red"},
		[FIREFOX_IDLE] = {"Idle", "transparent"},
	};

	return &infos[category];
}

enum firefox_category firefox_category__of(const struct weighted_sample *sample)
{
	if (sample->idle)
		return FIREFOX_IDLE;
	switch (sample->class) {
	case CLASS_CPU:
		return sample->kernel ? FIREFOX_KERNEL : FIREFOX_USER;
	case CLASS_IO:
		return FIREFOX_IO;
	case CLASS_LOCK:
		return FIREFOX_LOCK;
	case CLASS_SCHED:
		return FIREFOX_SCHED;
	case CLASS_STOPPED:
		return FIREFOX_STOPPED;
	default:
		return FIREFOX_BLOCKED;
	}
}

static uint32_t leaf_of(struct firefox_tables *tables, struct firefox_leaf leaf)
{
	size_t i = 0;

	/* There are a few dozen kinds. */
	while (i < tables->leaves.n && (tables->leaves.data[i].kind != leaf.kind ||
					tables->leaves.data[i].category != leaf.category))
		i++;
	if (i == tables->leaves.n && array__push(&tables->leaves, leaf))
		tables->failed = true;
	return (uint32_t)i;
}

/* The node of a chain; 0: none. */
static uint32_t node_of(struct firefox_tables *tables, uint32_t kernel, uint32_t user, bool off_cpu)
{
	int64_t node = chain_tree__add(&tables->tree, tables->model, kernel, user, off_cpu);

	if (node < 0)
		tables->failed = true;
	return node < 0 ? 0 : (uint32_t)node;
}

/* The number of @wait in the table; adds it if it is new. */
static uint64_t wait_of(struct firefox_tables *tables, struct firefox_wait wait)
{
	uint64_t key = (uint64_t)wait.node << 32 | wait.leaf;
	const uint64_t *at = map64__put(&tables->index, key, tables->waits.n);

	if (!at || (*at == tables->waits.n && array__push(&tables->waits, wait))) {
		tables->failed = true;
		return 0;
	}
	return *at;
}

int64_t firefox_tables__stack(struct firefox_tables *tables, const struct export_waits *waits,
			      const struct weighted_sample *sample)
{
	bool off_cpu = sample->class != CLASS_CPU;
	struct firefox_wait wait = {
		.node = node_of(tables, sample->kernel, sample->user, off_cpu),
	};

	/* Node 0, the root, is not in the profile. */
	if (!off_cpu)
		return (int64_t)wait.node - 1;
	wait.leaf = leaf_of(tables, (struct firefox_leaf){
					    .kind = export_waits__kind(waits, sample),
					    .category = firefox_category__of(sample),
				    });
	return (int64_t)(tables->tree.nodes.n - 1 + wait_of(tables, wait));
}

void firefox_tables__add(struct firefox_tables *tables, const struct export_waits *waits,
			 const struct weighted_sample *sample)
{
	firefox_tables__stack(tables, waits, sample);
}

int64_t firefox_tables__waker(struct firefox_tables *tables, const struct model_wake *wake)
{
	return (int64_t)node_of(tables, wake->kernel, wake->user, false) - 1;
}

void firefox_tables__add_waker(struct firefox_tables *tables, const struct model_wake *wake)
{
	firefox_tables__waker(tables, wake);
}

uint32_t firefox_tables__string(struct firefox_tables *tables, const char *text)
{
	const char *safe = export_text(&tables->text, text);
	int64_t id = intern__id(&tables->strings, safe, strlen(safe), NULL);

	if (id < 0 || tables->text.failed)
		tables->failed = true;
	return id < 0 ? 0 : (uint32_t)id;
}

/* Frames with their functions, sources and resources: each a number, or -1. */
struct function {
	uint32_t name; /* string of the profile */
	int64_t resource;
	int64_t source;
};

struct functions {
	ARRAY(struct function) list;
	ARRAY(uint32_t) of;	 /* by frame */
	struct map64 index;	 /* name and resource -> function */
	struct intern sources;	 /* names */
	struct intern resources; /* names */
};

static int64_t name_of(struct firefox_tables *tables, struct intern *table, const char *name)
{
	int64_t id = *name ? intern__id(table, name, strlen(name), NULL) : -1;

	if (*name && id < 0)
		tables->failed = true;
	return id;
}

static void add_function(struct firefox_tables *tables, struct functions *functions,
			 struct function function)
{
	uint64_t key = (uint64_t)function.name << 32 | (uint32_t)(function.resource + 1);
	const uint64_t *at = map64__put(&functions->index, key, functions->list.n);

	if (!at || (*at == functions->list.n && array__push(&functions->list, function)) ||
	    array__push(&functions->of, (uint32_t)*at))
		tables->failed = true;
}

/* Lines of one function are frames of their own. */
static void find_functions(struct firefox_tables *tables, struct functions *functions)
{
	const struct model *model = tables->model;
	char address[24];

	for (size_t i = 0; i < tables->tree.frames.n; i++) {
		const struct chain_frame *frame = &tables->tree.frames.data[i];
		const char *name = chain_frame__text(frame, model, address);
		const char *file = model__string(model, frame->file);
		const char *dso = model__string(model, model->dsos.data[frame->dso].name);

		add_function(tables, functions,
			     (struct function){
				     .name = firefox_tables__string(tables, name),
				     .source = name_of(tables, &functions->sources, file),
				     .resource = name_of(tables, &functions->resources, dso),
			     });
	}
	for (size_t i = 0; i < tables->leaves.n; i++) {
		char name[64];

		snprintf(name, sizeof(name), "[%s]", kind__name(tables->leaves.data[i].kind));
		add_function(tables, functions,
			     (struct function){
				     .name = firefox_tables__string(tables, name),
				     .source = -1,
				     .resource = -1,
			     });
	}
}

static void put_number(FILE *to, bool first, int64_t value)
{
	fprintf(to, first ? "%" PRId64 : ",%" PRId64, value);
}

/* A column of @n times the same @text. */
static void put_constant(FILE *to, const char *name, size_t n, const char *text)
{
	fprintf(to, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		fprintf(to, i ? ",%s" : "%s", text);
	fputc(']', to);
}

static void write_stacks(const struct firefox_tables *tables, FILE *to)
{
	const struct chain_tree *tree = &tables->tree;
	size_t nodes = tree->nodes.n ? tree->nodes.n - 1 : 0;

	fprintf(to, "\"stackTable\":{\"length\":%zu,\"frame\":[", nodes + tables->waits.n);
	for (size_t i = 1; i <= nodes; i++)
		put_number(to, i == 1, tree->nodes.data[i].frame);
	for (size_t i = 0; i < tables->waits.n; i++)
		put_number(to, !nodes && !i,
			   (int64_t)(tree->frames.n + tables->waits.data[i].leaf));
	fputs("],\"prefixOffset\":[", to);
	for (size_t i = 1; i <= nodes; i++)
		put_number(to, i == 1,
			   tree->nodes.data[i].parent ? (int64_t)(i - tree->nodes.data[i].parent)
						      : 0);
	for (size_t i = 0; i < tables->waits.n; i++) {
		uint32_t parent = tables->waits.data[i].node;

		put_number(to, !nodes && !i, parent ? (int64_t)(nodes + i) - (parent - 1) : 0);
	}
	fputs("]}", to);
}

static void write_frames(const struct firefox_tables *tables, const struct functions *functions,
			 FILE *to)
{
	const struct chain_tree *tree = &tables->tree;
	size_t n = functions->of.n;

	fprintf(to, ",\"frameTable\":{\"length\":%zu,\"func\":[", n);
	for (size_t i = 0; i < n; i++)
		put_number(to, !i, functions->of.data[i]);
	fputs("],\"category\":[", to);
	for (size_t i = 0; i < tree->frames.n; i++)
		put_number(to, !i, tree->frames.data[i].kernel ? FIREFOX_KERNEL : FIREFOX_USER);
	for (size_t i = 0; i < tables->leaves.n; i++)
		put_number(to, !tree->frames.n && !i, tables->leaves.data[i].category);
	fputs("],\"line\":[", to);
	for (size_t i = 0; i < n; i++)
		if (i < tree->frames.n && tree->frames.data[i].line)
			put_number(to, !i, tree->frames.data[i].line);
		else
			fputs(i ? ",null" : "null", to);
	fputs("],\"inlineDepth\":[", to);
	for (size_t i = 0; i < n; i++)
		put_number(to, !i, i < tree->frames.n && tree->frames.data[i].inlined);
	fputc(']', to);
	put_constant(to, "address", n, "-1");
	put_constant(to, "subcategory", n, "0");
	put_constant(to, "nativeSymbol", n, "null");
	put_constant(to, "innerWindowID", n, "null");
	put_constant(to, "column", n, "null");
	put_constant(to, "originalLocation", n, "null");
	fputc('}', to);
}

static void write_functions(const struct functions *functions, FILE *to)
{
	size_t n = functions->list.n;

	fprintf(to, ",\"funcTable\":{\"length\":%zu,\"name\":[", n);
	for (size_t i = 0; i < n; i++)
		put_number(to, !i, functions->list.data[i].name);
	fputs("],\"resource\":[", to);
	for (size_t i = 0; i < n; i++)
		put_number(to, !i, functions->list.data[i].resource);
	fputs("],\"source\":[", to);
	for (size_t i = 0; i < n; i++)
		if (functions->list.data[i].source >= 0)
			put_number(to, !i, functions->list.data[i].source);
		else
			fputs(i ? ",null" : "null", to);
	fputc(']', to);
	put_constant(to, "isJS", n, "false");
	put_constant(to, "relevantForJS", n, "false");
	put_constant(to, "lineNumber", n, "null");
	put_constant(to, "columnNumber", n, "null");
	put_constant(to, "originalLocation", n, "null");
	fputc('}', to);
}

/* The column @name: the strings' numbers of all names in @table. */
static void put_names(struct firefox_tables *tables, const char *name, const struct intern *table,
		      FILE *to)
{
	fprintf(to, ",\"%s\":[", name);
	for (uint32_t i = 0; i < table->n; i++)
		put_number(to, !i, firefox_tables__string(tables, intern__bytes(table, i, NULL)));
	fputc(']', to);
}

static void write_places(struct firefox_tables *tables, const struct functions *functions, FILE *to)
{
	size_t n = functions->resources.n;

	fprintf(to, ",\"resourceTable\":{\"length\":%zu", n);
	put_names(tables, "name", &functions->resources, to);
	put_constant(to, "lib", n, "null");
	put_constant(to, "host", n, "null");
	put_constant(to, "type", n, "1"); /* a library */
	n = functions->sources.n;
	fprintf(to, "},\"sources\":{\"length\":%zu", n);
	put_names(tables, "filename", &functions->sources, to);
	put_constant(to, "id", n, "null");
	put_constant(to, "startLine", n, "1");
	put_constant(to, "startColumn", n, "1");
	put_constant(to, "sourceMapURL", n, "null");
	put_constant(to, "content", n, "null");
	fputs("},\"sourceLocationTable\":{\"length\":0,\"source\":[],\"line\":[],\"column\":[]}"
	      ",\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]}",
	      to);
}

void firefox_tables__write(struct firefox_tables *tables, FILE *to)
{
	struct functions functions = {};

	find_functions(tables, &functions);
	fputs("\"shared\":{", to);
	if (!tables->failed) {
		write_stacks(tables, to);
		write_frames(tables, &functions, to);
		write_functions(&functions, to);
		write_places(tables, &functions, to);
	}
	fputs(",\n\"stringArray\":[", to);
	for (uint32_t i = 0; i < tables->strings.n; i++) {
		fputs(i ? ",\n" : "", to);
		json__put_string(to, intern__bytes(&tables->strings, i, NULL));
	}
	fputs("]}", to);
	array__free(&functions.list);
	array__free(&functions.of);
	map64__free(&functions.index);
	intern__free(&functions.sources);
	intern__free(&functions.resources);
}

void firefox_tables__free(struct firefox_tables *tables)
{
	chain_tree__free(&tables->tree);
	array__free(&tables->waits);
	array__free(&tables->leaves);
	map64__free(&tables->index);
	intern__free(&tables->strings);
	buffer__free(&tables->text);
}
