// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "symbols/elf/elf_file.h"
#include "symbols/jitmap.h"
#include "symbols/kallsyms.h"
#include "symbols/object.h"

/* The first part of a source's key; its strings follow. */
struct source_key {
	uint32_t kind;
	uint32_t pid;
};

struct known_source {
	struct symbol_source source; /* its strings are the symbolizer's */
	bool opened;
	struct object *object; /* the symbolizer's; several sources may share one */
	struct jitmap jitmap;
	const char *diagnostic;
};

struct symbolizer {
	struct object_context context;
	char *debug_root;
	struct intern keys; /* id: index in sources */
	ARRAY(struct known_source *) sources;
	ARRAY(struct object *) objects;
	struct kallsyms kallsyms;
	int kallsyms_err; /* of reading it; 1: not read yet */
};

int symbolizer__new(const struct symbolizer_options *options, struct symbolizer **out)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return -ENOMEM;
	symbolizer->debug_root =
		strdup(options->debug_root ? options->debug_root : "/usr/lib/debug");
	if (!symbolizer->debug_root) {
		free(symbolizer);
		return -ENOMEM;
	}
	symbolizer->context.options = *options;
	symbolizer->context.options.debug_root = symbolizer->debug_root;
	symbolizer->context.debuginfod.enabled = options->debuginfod;
	symbolizer->kallsyms_err = 1;
	*out = symbolizer;
	return 0;
}

void symbolizer__free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->objects.n; i++)
		object__free(symbolizer->objects.data[i]);
	for (size_t i = 0; i < symbolizer->sources.n; i++) {
		jitmap__free(&symbolizer->sources.data[i]->jitmap);
		free(symbolizer->sources.data[i]);
	}
	array__free(&symbolizer->objects);
	array__free(&symbolizer->sources);
	intern__free(&symbolizer->keys);
	kallsyms__free(&symbolizer->kallsyms);
	debuginfod__stop(&symbolizer->context.debuginfod);
	strings__free(&symbolizer->context.strings);
	free(symbolizer->debug_root);
	free(symbolizer);
}

static void put_string(struct buffer *key, const char *text)
{
	buffer__put(key, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* The number of the source with this key; @fresh says that it has none yet. */
static int64_t source_number(struct symbolizer *symbolizer, const struct symbol_source *source,
			     bool *fresh)
{
	struct source_key head = {
		.kind = source->kind,
		.pid = source->kind == SYMBOL_SOURCE_JIT ? source->pid : 0,
	};
	struct buffer key = {};
	int64_t number = -ENOMEM;

	buffer__put(&key, &head, sizeof(head));
	if (source->kind != SYMBOL_SOURCE_KERNEL) {
		put_string(&key, source->path);
		put_string(&key, source->root);
	}
	put_string(&key, source->build_id);
	if (!key.failed)
		number = intern__id(&symbolizer->keys, key.data, key.n, fresh);
	buffer__free(&key);
	return number;
}

static const char *keep_string(struct symbolizer *symbolizer, const char *text)
{
	return text ? strings__intern(&symbolizer->context.strings, text) : NULL;
}

int symbolizer__add_source(struct symbolizer *symbolizer, const struct symbol_source *source)
{
	_cleanup_free_ struct known_source *added = NULL;
	bool fresh = false;
	int64_t number;

	/* Room first: once the key has a number, sources must have an entry for it. */
	if (array__reserve(&symbolizer->sources, 1))
		return -ENOMEM;
	added = calloc(1, sizeof(*added));
	if (!added)
		return -ENOMEM;
	number = source_number(symbolizer, source, &fresh);
	if (number < 0)
		return -ENOMEM;
	if (!fresh) {
		struct known_source *known = symbolizer->sources.data[number];

		if (known->source.fd < 0)
			known->source.fd = source->fd;
		return (int)number;
	}
	added->source = *source;
	added->source.path = keep_string(symbolizer, source->path);
	added->source.root = keep_string(symbolizer, source->root);
	added->source.build_id = keep_string(symbolizer, source->build_id);
	symbolizer->sources.data[symbolizer->sources.n++] = TAKE_PTR(added);
	return (int)number;
}

static void __attribute__((format(printf, 3, 4)))
set_diagnostic(struct symbolizer *symbolizer, struct known_source *known, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	known->diagnostic = keep_string(symbolizer, text);
}

/* An open object with the same build id, at any path: containers share libraries. */
static struct object *find_same_object(const struct symbolizer *symbolizer,
				       const struct symbol_source *source)
{
	if (source->kind != SYMBOL_SOURCE_ELF || !source->build_id || !*source->build_id)
		return NULL;
	for (size_t i = 0; i < symbolizer->objects.n; i++) {
		struct object *object = symbolizer->objects.data[i];

		if (!strcmp(object__build_id(object), source->build_id))
			return object;
	}
	return NULL;
}

static void open_object(struct symbolizer *symbolizer, struct known_source *known)
{
	struct object *object = find_same_object(symbolizer, &known->source);

	if (!object) {
		if (array__reserve(&symbolizer->objects, 1) ||
		    object__open(&symbolizer->context, &known->source, &object)) {
			set_diagnostic(symbolizer, known, "out of memory");
			return;
		}
		symbolizer->objects.data[symbolizer->objects.n++] = object;
	}
	known->object = object;
	known->diagnostic = object__diagnostic(object);
}

/* Whether the running kernel is not the one that was recorded, by build id. */
static bool kernel_differs(const struct symbol_source *source)
{
	_cleanup_close_ int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	char build_id[BUILD_ID_HEX_SIZE];
	_cleanup_free_ char *notes = NULL;
	size_t size;

	if (!source->build_id || !*source->build_id || fd < 0 ||
	    file__read(fd, 1 << 20, &notes, &size))
		return false;
	notes__build_id(notes, size, build_id);
	return build_id[0] && strcmp(build_id, source->build_id) != 0;
}

static void need_kallsyms(struct symbolizer *symbolizer, struct known_source *known)
{
	if (symbolizer->kallsyms_err > 0)
		symbolizer->kallsyms_err = kallsyms__read(&symbolizer->kallsyms, "/proc/kallsyms",
							  symbolizer->context.options.generated);
	if (symbolizer->kallsyms_err == -EPERM)
		set_diagnostic(symbolizer, known,
			       "the addresses in /proc/kallsyms are hidden from this user: run as "
			       "root, or: sudo sysctl kernel.kptr_restrict=0 "
			       "kernel.perf_event_paranoid=1");
	else if (symbolizer->kallsyms_err)
		set_diagnostic(symbolizer, known, "cannot read /proc/kallsyms: %s",
			       strerror(-symbolizer->kallsyms_err));
}

static void open_kernel(struct symbolizer *symbolizer, struct known_source *known)
{
	if (kernel_differs(&known->source))
		set_diagnostic(symbolizer, known,
			       "the kernel that ran has another build id than this one: "
			       "report on the machine and boot that recorded");
	else if (!symbolizer->context.options.kernel_name)
		need_kallsyms(symbolizer, known);
}

static void open_jit(struct symbolizer *symbolizer, struct known_source *known)
{
	const struct symbol_file_request request = {.kind = SYMBOL_FILE_JIT_MAP};
	uint32_t pid = known->source.pid;
	_cleanup_close_ int fd =
		object_context__open(&symbolizer->context, &known->source, &request);
	int err = fd < 0 ? fd : jitmap__read_fd(&known->jitmap, fd);

	if (err == -ENOENT)
		set_diagnostic(
			symbolizer, known,
			"no /tmp/perf-%" PRIu32
			".map names this generated code: have the runtime write it "
			"(node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, python -X perf)",
			pid);
	else if (err == -EPERM || err == -ELOOP)
		set_diagnostic(symbolizer, known,
			       "/tmp/perf-%" PRIu32
			       ".map is not used: %s. Only a file of the process's own user "
			       "or of root is trusted",
			       pid,
			       err == -ELOOP ? "it is a symbolic link"
					     : "it belongs to another user");
	else if (err)
		set_diagnostic(symbolizer, known, "cannot read /tmp/perf-%" PRIu32 ".map: %s", pid,
			       strerror(-err));
}

static void open_source(struct symbolizer *symbolizer, struct known_source *known)
{
	if (known->opened)
		return;
	known->opened = true;
	switch (known->source.kind) {
	case SYMBOL_SOURCE_ELF:
	case SYMBOL_SOURCE_VDSO:
		open_object(symbolizer, known);
		break;
	case SYMBOL_SOURCE_KERNEL:
		open_kernel(symbolizer, known);
		break;
	case SYMBOL_SOURCE_JIT:
		open_jit(symbolizer, known);
		break;
	}
}

/* False: there is no callback, or it cannot. */
static bool name_by_callback(struct symbolizer *symbolizer, uint64_t address, const char **name)
{
	const struct symbolizer_options *options = &symbolizer->context.options;
	_cleanup_free_ char *demangled = NULL;
	char raw[512] = "";

	if (!options->kernel_name ||
	    options->kernel_name(options->context, address, raw, sizeof(raw)))
		return false;
	demangled = symbols__demangle(raw);
	*name = *raw ? strings__intern(&symbolizer->context.strings, demangled ? demangled : raw)
		     : NULL;
	return true;
}

static const char *kernel_name(struct symbolizer *symbolizer, struct known_source *known,
			       uint64_t address)
{
	struct symbol *symbol;
	const char *name;

	if (known->diagnostic)
		return NULL;
	if (name_by_callback(symbolizer, address, &name))
		return name;
	symbolizer->context.options.kernel_name = NULL;
	need_kallsyms(symbolizer, known);
	symbol = symtab__find(&symbolizer->kallsyms.symtab, address);
	return symbol ? symbol__name(symbol, &symbolizer->context.strings) : NULL;
}

size_t symbolizer__resolve(struct symbolizer *symbolizer, int source, uint64_t address,
			   struct symbol_frame *frames, size_t max)
{
	struct known_source *known;
	const char *name = NULL;
	size_t n = 0;

	frames[0] = (struct symbol_frame){.name = ""};
	if (source < 0 || (size_t)source >= symbolizer->sources.n)
		return 1;
	known = symbolizer->sources.data[source];
	open_source(symbolizer, known);
	if (known->object)
		n = object__resolve(&symbolizer->context, known->object, address, frames, max);
	else if (known->source.kind == SYMBOL_SOURCE_KERNEL)
		name = kernel_name(symbolizer, known, address);
	else if (known->source.kind == SYMBOL_SOURCE_JIT)
		name = jitmap__find(&known->jitmap, address);
	if (n)
		return n;
	if (name)
		frames[0].name = name;
	return 1;
}

const char *symbolizer__variable(struct symbolizer *symbolizer, int source, uint64_t address)
{
	struct known_source *known;

	if (source < 0 || (size_t)source >= symbolizer->sources.n)
		return NULL;
	known = symbolizer->sources.data[source];
	if (known->source.kind != SYMBOL_SOURCE_ELF)
		return NULL;
	open_source(symbolizer, known);
	return known->object ? object__variable(&symbolizer->context, known->object, address)
			     : NULL;
}

const char *symbolizer__diagnostic(struct symbolizer *symbolizer, int source)
{
	if (source < 0 || (size_t)source >= symbolizer->sources.n)
		return NULL;
	return symbolizer->sources.data[source]->diagnostic;
}

bool symbols__is_synthetic(const char *name)
{
	const char *plus = strstr(name, "+0x");

	return plus && plus > name && plus[3] && !plus[3 + strspn(plus + 3, "0123456789abcdef")];
}
