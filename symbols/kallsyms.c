// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "symbols/elf/elf_file.h"

#define LARGEST_KALLSYMS (256 << 20)
#define PAGE		 4096ULL
/* No function is that long: what is further apart has a hole between. */
#define LARGEST_FUNCTION (1ULL << 20)

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

static bool line__is_text(const struct kallsyms_line *line)
{
	return strchr("tTwW", line->type) && line->name[0];
}

/* "ADDRESS TYPE NAME[\t[MODULE]]", which it takes apart in place. */
static bool line__parse(char *text, struct kallsyms_line *line)
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

static int lines__parse(struct kallsyms_lines *lines, char *text)
{
	struct kallsyms_line line;

	for (char *next; text && *text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		if (line__parse(text, &line) && array__push(lines, line))
			return -ENOMEM;
	}
	return 0;
}

static int line__compare(const void *a, const void *b)
{
	const struct kallsyms_line *x = a;
	const struct kallsyms_line *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/*
 * kallsyms has no sizes. A function reaches to the next symbol of whatever
 * kind; the last one before a hole, or before another module, to the end of
 * its page.
 */
static uint64_t line__size(const struct kallsyms_line *line, const struct kallsyms_line *next)
{
	uint64_t to_page_end = PAGE - line->address % PAGE;

	if (!next)
		return to_page_end;
	if (strcmp(line->module, next->module) != 0 ||
	    next->address - line->address > LARGEST_FUNCTION)
		return next->address - line->address < to_page_end ? next->address - line->address
								   : to_page_end;
	return next->address - line->address;
}

static int kallsyms__fill(struct kallsyms *kallsyms, const struct kallsyms_lines *lines)
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
		if (!line->address || !line__is_text(line))
			continue;
		symbol.size = line__size(line, next < lines->n ? &lines->data[next] : NULL);
		if (symtab__add(&kallsyms->symtab, &symbol))
			return -ENOMEM;
	}
	return kallsyms->symtab.n ? symtab__seal(&kallsyms->symtab) : -EPERM;
}

int kallsyms__read(struct kallsyms *kallsyms, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kallsyms_lines lines = {};
	size_t size;
	int err;

	if (fd < 0)
		return -errno;
	err = file__read(fd, LARGEST_KALLSYMS, &kallsyms->text, &size);
	if (!err)
		err = lines__parse(&lines, kallsyms->text);
	if (!err && lines.n)
		qsort(lines.data, lines.n, sizeof(*lines.data), line__compare);
	if (!err)
		err = kallsyms__fill(kallsyms, &lines);
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
