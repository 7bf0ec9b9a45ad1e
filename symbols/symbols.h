/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbolization: functions, inlined functions and source lines of addresses.
 *
 * A symbolizer keeps all files open and all strings valid until it is freed. It is fastest when
 * addresses are resolved in order of (source, address): DWARF is read per unit, on demand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where symbols come from. */
enum symbol_source_kind {
	SYMBOL_SOURCE_ELF = 0,
	SYMBOL_SOURCE_KERNEL = 1, /* /proc/kallsyms of the running kernel */
	SYMBOL_SOURCE_VDSO = 2,	  /* the vdso of this process */
	SYMBOL_SOURCE_JIT = 3,	  /* /tmp/perf-PID.map */
};

struct symbol_source {
	enum symbol_source_kind kind;
	const char *path;     /* absolute, in the process's mount namespace */
	const char *root;     /* root directory of that namespace, such as
				 "/proc/123/root"; NULL: dwell's own */
	const char *build_id; /* lower-case hex; NULL or "": none. A file with another
				 build id is not used: it was replaced */
	int fd;		      /* the file, open since it was mapped; -1: none. The caller's */
	uint32_t pid;	      /* SYMBOL_SOURCE_JIT: of the process */
	int64_t owner;	      /* SYMBOL_SOURCE_JIT: its uid; -1: unknown */
	bool resolved;	      /* at the end of the recording, all that was possible then: only
				 symbols that were installed since are used, no synthetic names */
};

struct symbol_frame {
	/* Demangled. Never NULL: "" if unknown. For a function of a stripped program
	 * "FILE+0xADDRESS", its start (see symbols__is_synthetic()). */
	const char *name;
	const char *file; /* source file or NULL */
	uint32_t line;	  /* 0: unknown */
	bool inlined;	  /* into the next frame */
};

struct symbolizer;
struct symbol_file_request;

/* Opens a file of @source for reading (symbols/symbol_files.h). A descriptor, the caller's, or
 * -errno. */
typedef int (*symbol_file_open_fn)(void *context, const struct symbol_source *source,
				   const struct symbol_file_request *request);

struct symbolizer_options {
	bool lines;		/* read DWARF for source lines and inlined functions */
	bool generated;		/* name code that the kernel generated, such as BPF programs,
				   too: the addresses are of what is loaded now */
	bool debuginfod;	/* fetch missing debug files from $DEBUGINFOD_URLS */
	const char *debug_root; /* NULL: /usr/lib/debug */

	/*
	 * Sets @name to that of the running kernel's function at @address, as in /proc/kallsyms,
	 * also of code that it generated; "" if there is none. Returns 0, or a negative errno: it
	 * cannot, and all of /proc/kallsyms is read instead, as if this were NULL.
	 */
	int (*kernel_name)(void *context, uint64_t address, char *name, size_t size);
	void *context; /* of kernel_name */

	/* Opens all files; NULL: the symbolizer does so itself. */
	symbol_file_open_fn open_file;
	void *open_context;
};

/* Strings of @options are copied. 0 or -ENOMEM. */
int symbolizer__new(const struct symbolizer_options *options, struct symbolizer **out);
void symbolizer__free(struct symbolizer *symbolizer);

/*
 * The number of @source, for symbolizer__resolve(); equal sources have the same number. Nothing
 * is opened yet. Strings are copied; @fd must stay open. -ENOMEM on errors.
 */
int symbolizer__add_source(struct symbolizer *symbolizer, const struct symbol_source *source);

/*
 * Writes the frames at @address of @source to @frames, innermost inlined function first, and
 * returns their number, 1 to @max. If there are more than @max, the innermost are left out, so
 * that the last one is always the function whose code it is. An address without a name gives
 * one frame with name "". @address is an offset in the file for ELF and vdso, absolute for
 * kernel and JIT; for a return address pass the address - 1. Strings are the symbolizer's.
 */
size_t symbolizer__resolve(struct symbolizer *symbolizer, int source, uint64_t address,
			   struct symbol_frame *frames, size_t max);

/*
 * The name of what is in the data of ELF file @source, with its member or element: "settings.lock",
 * "locks[3]", "settings+0x28" without DWARF, or "FILE+0xADDRESS" without symbols. @address is
 * where it would be in the file if that were mapped as a whole, where its code is: A - start +
 * offset for address A of a process with an executable mapping of the file at start. NULL:
 * nothing of the file's data is there, or the file was not found. The symbolizer's.
 */
const char *symbolizer__variable(struct symbolizer *symbolizer, int source, uint64_t address);

/*
 * Why addresses of @source have no names or lines (no file, replaced, stripped, no permission
 * for kallsyms, ...), with a hint, in one line. NULL if nothing is wrong or no address was
 * resolved yet. The symbolizer's.
 */
const char *symbolizer__diagnostic(struct symbolizer *symbolizer, int source);

/* Whether @name is "FILE+0xADDRESS", made for a function of a stripped program. */
bool symbols__is_synthetic(const char *name);

/*
 * The build id of the ELF file open at @fd as lower-case hex. 0, -ENOENT when it has none, -ENOSPC
 * when it needs more than @size bytes.
 */
int symbols__build_id(int fd, char *hex, size_t size);

/*
 * Demangles @name (C++ Itanium ABI, Rust legacy and v0) without parameters. NULL if it is not
 * mangled, too long or out of memory. The caller frees the result.
 */
char *symbols__demangle(const char *name);

/* As symbols__demangle(), with parameters, and the return type of templates. */
char *symbols__signature(const char *name);
