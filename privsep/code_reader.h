/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks a parser about code: symbols/code/code.h and symbols/elf/usdt.h in another process, which
 * keeps what it has read of a file. Each question waits for its answer. A file that cannot be read,
 * or whose parser was killed or too slow, is one without code from then on, and is in
 * privsep__failures(). Texts are valid until code_reader__free(), and equal ones have equal
 * addresses. A reader is for one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "privsep/code_answer.h"
#include "privsep/privsep.h"

struct code_reader;
struct code_file;

/* A question may take so long, as it may read the whole debug information of a large program. */
#define CODE_QUESTION_NS 30000000000ULL

/* @scope and its texts must outlive the result. 0 or a negative errno. */
int code_reader__new(struct privsep *privsep, const struct code_scope *scope,
		     struct code_reader **out);

/*
 * A file to ask about, which is not read yet. @fd may be O_PATH, and stays the caller's, open as
 * long as the result is used; @path is its path in the process's view. 0, -EMFILE (there are too
 * many) or -ENOMEM.
 */
int code_reader__file(struct code_reader *reader, int fd, const char *path, struct code_file **out);

/* Fills @places with what code__place() says of @n addresses; without code, as if unknown. */
int code_file__places(struct code_file *file, const uint64_t *addresses, size_t n,
		      struct code_place *places);

/* code__line() and code__function(): ranges are appended, on success. -ENOEXEC: it has no code. */
int code_file__line(struct code_file *file, const char *source, uint32_t line,
		    struct code_ranges *ranges, struct code_place *place);
int code_file__function(struct code_file *file, const char *name, struct code_ranges *ranges,
			const char **full);

/* code__out_of_scope() */
int code_file__out_of_scope(struct code_file *file, uint64_t address, struct code_ranges *ranges);

/* code__entries(), with offsets and where uprobes go. */
int code_file__entries(struct code_file *file, const char *source, uint32_t line,
		       struct code_entries *entries);

/* code__suggest() */
size_t code_file__suggest(struct code_file *file, const char *text, const char **names, size_t max);

/* code__diagnostic(); NULL also if nothing was asked of the file, or it has no code. */
const char *code_file__diagnostic(struct code_file *file);

/*
 * The functions of code__function_entries(), or @is_pattern code__matching_entries(), and where
 * their probes go; at most CODE_MAX_FUNCTIONS. The caller frees @found in any case.
 */
int code_file__functions(struct code_file *file, const char *name, bool is_pattern,
			 struct found_functions *found);

/* Forgets what was read of the file. */
void code_file__free(struct code_file *file);
DEFINE_CLEANUP(struct code_file *, code_file__free)

/* Whether the file of @fd is a program, and not a library. */
bool code_reader__is_program(struct code_reader *reader, int fd, const char *path);

/* usdt__find(), with where uprobes go; @provider NULL: any. */
int code_reader__usdt(struct code_reader *reader, int fd, const char *path, const char *provider,
		      const char *name, struct code_entries *entries);

/* The names PROVIDER:NAME of USDT probes, at most @max. */
size_t code_reader__usdt_names(struct code_reader *reader, int fd, const char *path,
			       const char **names, size_t max);

/*
 * What the file is linked with, of symbols/elf/links.h: names, each with a character before it:
 * CODE_LINK_NEEDED a library, CODE_LINK_PATH a run path, CODE_LINK_LOADS that it may run code of
 * other files as well. 0 or a negative errno.
 */
int code_reader__links(struct code_reader *reader, int fd, const char *path,
		       struct code_names *links);

/* Its process, for tests; 0: none. */
pid_t code_reader__pid(const struct code_reader *reader);

/* Frees its files, too. */
void code_reader__free(struct code_reader *reader);
DEFINE_CLEANUP(struct code_reader *, code_reader__free)
