/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for addresses: functions, inlined functions, source lines.
 *
 * A symbolizer holds every file it opened and every string it gave out until
 * it is freed. Ask in the order of (dso, address): DWARF is read once per unit
 * and only for the addresses asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the code of an address lives. */
enum symbol_source_kind {
	SYMBOL_SOURCE_ELF = 0,
	SYMBOL_SOURCE_KERNEL = 1, /* /proc/kallsyms of the running kernel */
	SYMBOL_SOURCE_VDSO = 2,	  /* the vdso mapped into this very process */
	SYMBOL_SOURCE_JIT = 3,	  /* /tmp/perf-PID.map */
};

struct symbol_source {
	enum symbol_source_kind kind;
	const char *path;     /* as its process saw it; absolute */
	const char *root;     /* prefix of @path in another mount namespace, such as
				 "/proc/123/root"; NULL for our own */
	const char *build_id; /* lower-case hex; NULL or "" when it has none. A file on disk
				 whose build id differs is not used: it was replaced */
	int fd;		      /* the very file, kept open since it was mapped; -1: none.
				 Stays the caller's */
	uint32_t pid;	      /* SYMBOL_SOURCE_JIT */
	int64_t owner;	      /* and the uid of that process; -1: unknown */
};

struct symbol_frame {
	const char *name; /* demangled; never NULL: "" when the address has no name */
	const char *file; /* source file or NULL */
	uint32_t line;	  /* 0: unknown */
	bool inlined;	  /* inlined into the frame that follows */
};

struct symbolizer;

struct symbolizer_options {
	bool lines;		/* read DWARF for source lines and inlined functions */
	bool debuginfod;	/* ask the servers in $DEBUGINFOD_URLS for missing debug files */
	const char *debug_root; /* NULL: /usr/lib/debug */
};

int symbolizer__new(const struct symbolizer_options *options, struct symbolizer **out);
void symbolizer__free(struct symbolizer *symbolizer);

/*
 * A number for @source, to ask symbolizer__resolve() with; the same source gets
 * the same number. Opens nothing yet. Strings are copied; @fd must stay open.
 * Returns the number or -ENOMEM.
 */
int symbolizer__source(struct symbolizer *symbolizer, const struct symbol_source *source);

/*
 * The frames at @address of @source, innermost inlined function first, at most
 * @max (at least 1): of more, the outermost are given, so that the last is
 * always the function that is really there. @address is an offset in the file
 * for ELF and vdso, absolute for kernel and JIT; for a return address pass the
 * address - 1. Returns their count, never 0: an address without a name gives
 * one frame with name "". Strings live as long as the symbolizer.
 */
size_t symbolizer__resolve(struct symbolizer *symbolizer, int source, uint64_t address,
			   struct symbol_frame *frames, size_t max);

/*
 * Why addresses of @source have no names or lines (no file, replaced since,
 * stripped, no permission for kallsyms ...) and the mend: one line for a person,
 * NULL when all is well or nothing was asked of it yet. Valid until the
 * symbolizer is freed.
 */
const char *symbolizer__trouble(struct symbolizer *symbolizer, int source);

/* The build id of the ELF file open at @fd as lower-case hex. 0, or -ENOENT when it has none. */
int symbols__build_id(int fd, char *hex, size_t size);

/*
 * @name demangled (C++ Itanium, Rust legacy and v0), or NULL when it is not a
 * mangled name. malloc()ed.
 */
char *symbols__demangle(const char *name);

/* As symbols__demangle(), with parameters (and of templates the type that is returned). */
char *symbols__signature(const char *name);
