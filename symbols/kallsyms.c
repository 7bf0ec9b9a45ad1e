// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "symbols/elf/elf_file.h"

#define MAX_KALLSYMS_SIZE (256 << 20)
#define PAGE		  4096ULL
/* Symbols further apart than this have a hole between them. */
#define MAX_FUNCTION_SIZE (1ULL << 20)

struct kallsyms_line {
	uint64_t address;
	const char *name;
	const char *module; /* "" for the kernel itself */
	char type;
};

struct kallsyms_lines {
	struct kallsyms_line *data;
	size_t n;
	size_t capacity;
};

static bool is_text(const struct kallsyms_line *line)
{
	return strchr("tTwW", line->type) && line->name[0];
}

/* BPF programs, trampolines of ftrace, instructions copied by kprobes. */
static bool is_generated(const struct kallsyms_line *line)
{
	return !strcmp(line->module, "[bpf]") || !strncmp(line->module, "[__builtin__", 12);
}

/* Parses "ADDRESS TYPE NAME[\t[MODULE]]" in place. */
static bool parse_line(char *text, struct kallsyms_line *line)
{
	char *module;
	char *end;

	line->address = strtoull(text, &end, 16);
	if (end == text || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	line->type = end[1];
	line->name = end + 3;
	line->module = "";
	module = strchr(end + 3, '\t');
	if (module) {
		*module = '\0';
		line->module = module + 1;
	}
	return true;
}

static int parse_lines(struct kallsyms_lines *lines, char *text)
{
	struct kallsyms_line line;

	for (char *next; text && *text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		if (parse_line(text, &line) && array__push(lines, line))
			return -ENOMEM;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct kallsyms_line *x = a;
	const struct kallsyms_line *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/*
 * kallsyms has no sizes. A function extends to the next symbol of any type; the last one before
 * a hole or another module extends to the end of its page.
 */
static uint64_t symbol_size(const struct kallsyms_line *line, const struct kallsyms_line *next)
{
	uint64_t to_page_end = PAGE - line->address % PAGE;

	if (!next)
		return to_page_end;
	if (strcmp(line->module, next->module) != 0 ||
	    next->address - line->address > MAX_FUNCTION_SIZE)
		return next->address - line->address < to_page_end ? next->address - line->address
								   : to_page_end;
	return next->address - line->address;
}

static int fill_symtab(struct kallsyms *kallsyms, const struct kallsyms_lines *lines,
		       bool generated)
{
	size_t next = 0;

	for (size_t i = 0; i < lines->n; i++) {
		const struct kallsyms_line *line = &lines->data[i];
		struct symbol symbol = {
			.start = line->address,
			.raw = line->name,
			.function = true,
			.global = line->type != 't',
		};

		while (next < lines->n && lines->data[next].address <= line->address)
			next++;
		if (!line->address || !is_text(line) || (!generated && is_generated(line)))
			continue;
		symbol.size = symbol_size(line, next < lines->n ? &lines->data[next] : NULL);
		if (symtab__add(&kallsyms->symtab, &symbol))
			return -ENOMEM;
	}
	return kallsyms->symtab.n ? symtab__seal(&kallsyms->symtab) : -EPERM;
}

int kallsyms__read(struct kallsyms *kallsyms, const char *path, bool generated)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kallsyms_lines lines = {};
	size_t size;
	int err;

	if (fd < 0)
		return -errno;
	err = file__read(fd, MAX_KALLSYMS_SIZE, &kallsyms->text, &size);
	if (!err)
		err = parse_lines(&lines, kallsyms->text);
	if (!err)
		array__sort(&lines, compare_lines);
	if (!err)
		err = fill_symtab(kallsyms, &lines, generated);
	array__free(&lines);
	if (err)
		kallsyms__free(kallsyms);
	return err;
}

void kallsyms__free(struct kallsyms *kallsyms)
{
	free(kallsyms->text);
	symtab__free(&kallsyms->symtab);
	*kallsyms = (struct kallsyms){};
}
