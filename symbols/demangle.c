// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/symbols.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/*
 * Mangled names can refer back to their own parts, so a demangled name can be exponentially
 * longer. Names longer than this are not demangled. The only way to stop the demangler is
 * longjmp() from its callback, which leaks nothing: it holds no heap memory while it prints.
 */
#define MAX_DEMANGLED ((size_t)64 << 10)

struct demangled {
	struct buffer text;
	jmp_buf too_long;
};

static void append_demangled(const char *text, size_t size, void *opaque)
{
	struct demangled *out = opaque;

	if (size > MAX_DEMANGLED - out->text.n)
		longjmp(out->too_long, 1);
	buffer__put(&out->text, text, size);
}

/* Rust first: its legacy names are also valid C++ names, with a hash as last component. */
static int fill_demangled(struct demangled *out, const char *name, int options)
{
	if (setjmp(out->too_long))
		return 0;
	if (rust_demangle_callback(name, DMGL_NO_OPTS, append_demangled, out))
		return 1;
	out->text.n = 0;
	return cplus_demangle_v3_callback(name, options, append_demangled, out);
}

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "_GLOBAL_", 8);
}

static char *demangle(const char *name, int options)
{
	struct demangled *out;
	char *text = NULL;

	if (!is_mangled(name))
		return NULL;
	out = calloc(1, sizeof(*out));
	if (!out)
		return NULL;
	if (fill_demangled(out, name, options)) {
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

/* Without parameters, as perf shows functions. */
char *symbols__demangle(const char *name)
{
	return demangle(name, DMGL_NO_OPTS);
}

char *symbols__signature(const char *name)
{
	return demangle(name, DMGL_PARAMS | DMGL_ANSI);
}
