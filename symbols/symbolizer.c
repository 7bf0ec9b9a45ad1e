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

/* How a provider is told apart; in front of the strings of its key. */
struct source_key {
	uint32_t kind;
	uint32_t pid;
};

struct provider {
	struct symbol_source given; /* its strings are the symbolizer's */
	bool opened;
	struct object *object; /* the symbolizer's; several providers may share one */
	struct jitmap jitmap;
	const char *trouble;
};

struct symbolizer {
	struct object_context context;
	char *debug_root;
	struct intern keys; /* id: index in providers */
	ARRAY(struct provider *) providers;
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
	for (size_t i = 0; i < symbolizer->providers.n; i++) {
		jitmap__free(&symbolizer->providers.data[i]->jitmap);
		free(symbolizer->providers.data[i]);
	}
	array__free(&symbolizer->objects);
	array__free(&symbolizer->providers);
	intern__free(&symbolizer->keys);
	kallsyms__free(&symbolizer->kallsyms);
	debuginfod__stop(&symbolizer->context.debuginfod);
	strings__free(&symbolizer->context.strings);
	free(symbolizer->debug_root);
	free(symbolizer);
}

static void key__put_string(struct buffer *key, const char *text)
{
	buffer__put(key, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* The number of the provider with this key; @fresh says that it has none yet. */
static int64_t symbolizer__key(struct symbolizer *symbolizer, const struct symbol_source *provider,
			       bool *fresh)
{
	struct source_key head = {
		.kind = provider->kind,
		.pid = provider->kind == SYMBOL_SOURCE_JIT ? provider->pid : 0,
	};
	struct buffer key = {};
	int64_t number = -ENOMEM;

	buffer__put(&key, &head, sizeof(head));
	if (provider->kind != SYMBOL_SOURCE_KERNEL) {
		key__put_string(&key, provider->path);
		key__put_string(&key, provider->root);
	}
	key__put_string(&key, provider->build_id);
	if (!key.failed)
		number = intern__id(&symbolizer->keys, key.data, key.n, fresh);
	buffer__free(&key);
	return number;
}

static const char *symbolizer__keep(struct symbolizer *symbolizer, const char *text)
{
	return text ? strings__keep(&symbolizer->context.strings, text) : NULL;
}

int symbolizer__source(struct symbolizer *symbolizer, const struct symbol_source *source)
{
	_cleanup_free_ struct provider *added = NULL;
	bool fresh = false;
	int64_t number;

	/* Room first: once it has a number, the provider has to be there. */
	if (array__reserve(&symbolizer->providers, 1))
		return -ENOMEM;
	added = calloc(1, sizeof(*added));
	if (!added)
		return -ENOMEM;
	number = symbolizer__key(symbolizer, source, &fresh);
	if (number < 0)
		return -ENOMEM;
	if (!fresh) {
		struct provider *known = symbolizer->providers.data[number];

		if (known->given.fd < 0)
			known->given.fd = source->fd;
		return (int)number;
	}
	added->given = *source;
	added->given.path = symbolizer__keep(symbolizer, source->path);
	added->given.root = symbolizer__keep(symbolizer, source->root);
	added->given.build_id = symbolizer__keep(symbolizer, source->build_id);
	symbolizer->providers.data[symbolizer->providers.n++] = TAKE_PTR(added);
	return (int)number;
}

static void __attribute__((format(printf, 3, 4)))
provider__complain(struct symbolizer *symbolizer, struct provider *provider, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	provider->trouble = symbolizer__keep(symbolizer, text);
}

/* An open object of the same build id, whatever its path: containers share libraries. */
static struct object *symbolizer__same_object(const struct symbolizer *symbolizer,
					      const struct symbol_source *provider)
{
	if (provider->kind != SYMBOL_SOURCE_ELF || !provider->build_id || !*provider->build_id)
		return NULL;
	for (size_t i = 0; i < symbolizer->objects.n; i++) {
		struct object *object = symbolizer->objects.data[i];

		if (!strcmp(object__build_id(object), provider->build_id))
			return object;
	}
	return NULL;
}

static void symbolizer__open_object(struct symbolizer *symbolizer, struct provider *provider)
{
	struct object *object = symbolizer__same_object(symbolizer, &provider->given);

	if (!object) {
		if (array__reserve(&symbolizer->objects, 1) ||
		    object__open(&symbolizer->context, &provider->given, &object)) {
			provider__complain(symbolizer, provider, "out of memory");
			return;
		}
		symbolizer->objects.data[symbolizer->objects.n++] = object;
	}
	provider->object = object;
	provider->trouble = object__trouble(object);
}

/* Whether the kernel that @provider was recorded on is not the one running. */
static bool kernel__is_another(const struct symbol_source *provider)
{
	_cleanup_close_ int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	char build_id[BUILD_ID_HEX_SIZE];
	_cleanup_free_ char *notes = NULL;
	size_t size;

	if (!provider->build_id || !*provider->build_id || fd < 0 ||
	    file__read(fd, 1 << 20, &notes, &size))
		return false;
	notes__build_id(notes, size, build_id);
	return build_id[0] && strcmp(build_id, provider->build_id) != 0;
}

static void symbolizer__open_kernel(struct symbolizer *symbolizer, struct provider *provider)
{
	if (kernel__is_another(&provider->given)) {
		provider__complain(symbolizer, provider,
				   "the kernel that ran has another build id than this one: "
				   "report on the machine and boot that recorded");
		return;
	}
	if (symbolizer->kallsyms_err > 0)
		symbolizer->kallsyms_err = kallsyms__read(&symbolizer->kallsyms, "/proc/kallsyms");
	if (symbolizer->kallsyms_err == -EPERM)
		provider__complain(
			symbolizer, provider,
			"the addresses in /proc/kallsyms are hidden from this user: run as "
			"root, or: sudo sysctl kernel.kptr_restrict=0 "
			"kernel.perf_event_paranoid=1");
	else if (symbolizer->kallsyms_err)
		provider__complain(symbolizer, provider, "cannot read /proc/kallsyms: %s",
				   strerror(-symbolizer->kallsyms_err));
}

static void symbolizer__open_jit(struct symbolizer *symbolizer, struct provider *provider)
{
	uint32_t pid = provider->given.pid;
	int err = jitmap__read(&provider->jitmap, provider->given.root, pid, provider->given.owner);

	if (err == -ENOENT)
		provider__complain(
			symbolizer, provider,
			"no /tmp/perf-%" PRIu32
			".map names this generated code: have the runtime write it "
			"(node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, python -X perf)",
			pid);
	else if (err == -EPERM || err == -ELOOP)
		provider__complain(symbolizer, provider,
				   "/tmp/perf-%" PRIu32
				   ".map is not used: %s. Only a file of the process's own user "
				   "or of root is trusted",
				   pid,
				   err == -ELOOP ? "it is a symbolic link"
						 : "it belongs to another user");
	else if (err)
		provider__complain(symbolizer, provider,
				   "cannot read /tmp/perf-%" PRIu32 ".map: %s", pid,
				   strerror(-err));
}

static void symbolizer__open(struct symbolizer *symbolizer, struct provider *provider)
{
	if (provider->opened)
		return;
	provider->opened = true;
	switch (provider->given.kind) {
	case SYMBOL_SOURCE_ELF:
	case SYMBOL_SOURCE_VDSO:
		symbolizer__open_object(symbolizer, provider);
		break;
	case SYMBOL_SOURCE_KERNEL:
		symbolizer__open_kernel(symbolizer, provider);
		break;
	case SYMBOL_SOURCE_JIT:
		symbolizer__open_jit(symbolizer, provider);
		break;
	}
}

static const char *symbolizer__kernel_name(struct symbolizer *symbolizer,
					   const struct provider *provider, uint64_t address)
{
	struct symbol *symbol =
		provider->trouble ? NULL : symtab__find(&symbolizer->kallsyms.symtab, address);

	return symbol ? symbol__name(symbol, &symbolizer->context.strings) : NULL;
}

size_t symbolizer__resolve(struct symbolizer *symbolizer, int source, uint64_t address,
			   struct symbol_frame *frames, size_t max)
{
	struct provider *known;
	const char *name = NULL;
	size_t n = 0;

	frames[0] = (struct symbol_frame){.name = ""};
	if (source < 0 || (size_t)source >= symbolizer->providers.n)
		return 1;
	known = symbolizer->providers.data[source];
	symbolizer__open(symbolizer, known);
	if (known->object)
		n = object__resolve(&symbolizer->context, known->object, address, frames, max);
	else if (known->given.kind == SYMBOL_SOURCE_KERNEL)
		name = symbolizer__kernel_name(symbolizer, known, address);
	else if (known->given.kind == SYMBOL_SOURCE_JIT)
		name = jitmap__find(&known->jitmap, address);
	if (n)
		return n;
	if (name)
		frames[0].name = name;
	return 1;
}

const char *symbolizer__trouble(struct symbolizer *symbolizer, int source)
{
	if (source < 0 || (size_t)source >= symbolizer->providers.n)
		return NULL;
	return symbolizer->providers.data[source]->trouble;
}
