// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/symbols.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/*
 * A mangled name can refer back to its own parts, so its demangled form can be
 * exponentially longer. No person reads names of this length, and the only way
 * to stop the demangler is to jump out of its callback: it holds no heap memory
 * while it prints.
 */
#define LONGEST_NAME ((size_t)64 << 10)

struct demangled {
	struct buffer text;
	jmp_buf too_long;
};

static void demangled__put(const char *text, size_t size, void *opaque)
{
	struct demangled *out = opaque;

	if (size > LONGEST_NAME - out->text.n)
		longjmp(out->too_long, 1);
	buffer__put(&out->text, text, size);
}

/* Rust first: its legacy names are valid C++ ones with a hash as last part. */
static int demangled__fill(struct demangled *out, const char *name, int options)
{
	if (setjmp(out->too_long))
		return 0;
	if (rust_demangle_callback(name, DMGL_NO_OPTS, demangled__put, out))
		return 1;
	out->text.n = 0;
	return cplus_demangle_v3_callback(name, options, demangled__put, out);
}

static bool name__is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "_GLOBAL_", 8);
}

static char *name__demangle(const char *name, int options)
{
	struct demangled *out;
	char *text = NULL;

	if (!name__is_mangled(name))
		return NULL;
	out = calloc(1, sizeof(*out));
	if (!out)
		return NULL;
	if (demangled__fill(out, name, options)) {
		buffer__put(&out->text, "", 1);
		if (!out->text.failed) {
			text = (char *)out->text.data;
			out->text.data = NULL;
		}
	}
	buffer__free(&out->text);
	free(out);
	return text;
}

/* Functions are shown without their parameters, as perf does. */
char *symbols__demangle(const char *name)
{
	return name__demangle(name, DMGL_NO_OPTS);
}

char *symbols__signature(const char *name)
{
	return name__demangle(name, DMGL_PARAMS | DMGL_ANSI);
}
