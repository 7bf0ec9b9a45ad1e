// SPDX-License-Identifier: BSD-2-Clause
/* In a parser: answers about code. Files are kept open, so that their DWARF is read once. */
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "privsep/code_answer.h"
#include "privsep/debug_path.h"
#include "privsep/parser_tasks.h"
#include "privsep/parser_wire.h"
#include "symbols/code/code.h"
#include "symbols/code/function_probes.h"
#include "arch/uprobe_offset.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/links.h"
#include "symbols/elf/usdt.h"

#define MAX_QUESTION WIRE_MAX_BYTES /* of a text in one */

struct texts {
	ARRAY(char *) texts;
};

struct kept_file {
	struct code *code;
	struct texts patterns, without;
};

/* By number - 1. */
static ARRAY(struct kept_file) kept;

static void free_texts(struct texts *texts)
{
	for (size_t i = 0; i < texts->texts.n; i++)
		free(texts->texts.data[i]);
	array__free(&texts->texts);
}

static void close_file(struct kept_file *file)
{
	code__free(file->code);
	free_texts(&file->patterns);
	free_texts(&file->without);
	*file = (struct kept_file){};
}

/* A text of the question, to be freed. NULL: it is not there, or there is no memory. */
static char *take_text(struct cursor *fields)
{
	static char text[MAX_QUESTION];

	wire__string(fields, text, sizeof(text));
	return fields->bad ? NULL : strdup(text);
}

static int take_texts(struct cursor *fields, struct texts *texts)
{
	uint64_t n = wire__number(fields, cursor__left(fields));
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		_cleanup_free_ char *text = take_text(fields);

		err = text ? array__push(&texts->texts, text) : -EPROTO;
		if (!err)
			TAKE_PTR(text);
	}
	return err;
}

static struct kept_file *file_at(uint64_t number)
{
	while (number && number <= CODE_MAX_FILES && kept.n < number)
		if (!array__add(&kept))
			return NULL;
	return number && number <= kept.n ? &kept.data[number - 1] : NULL;
}

int code_task__open(struct task *task)
{
	struct kept_file *file = file_at(cursor__varint(&task->fields));
	_cleanup_free_ char *path = take_text(&task->fields);
	struct code_scope scope;
	int err;

	if (!file || !path)
		return -EPROTO;
	close_file(file);
	err = take_texts(&task->fields, &file->patterns);
	err = err ? err : take_texts(&task->fields, &file->without);
	if (err)
		return err;
	scope = (struct code_scope){
		.patterns = (const char *const *)file->patterns.texts.data,
		.n_patterns = file->patterns.texts.n,
		.without = (const char *const *)file->without.texts.data,
		.n_without = file->without.texts.n,
	};
	return code__new(task->file, path, DEBUG_ROOT, &scope, &file->code);
}

static int answer_places(struct code *code, struct cursor *fields, struct buffer *answer)
{
	uint64_t n = wire__number(fields, CODE_MAX_PLACES);

	for (uint64_t i = 0; i < n; i++) {
		struct code_place place;

		code__place(code, cursor__varint(fields), &place);
		code_answer__put_place(answer, &place);
	}
	return 0;
}

static int answer_ranges(struct code *code, enum code_question question, struct cursor *fields,
			 struct buffer *answer)
{
	struct code_place place = {.function = ""};
	struct code_ranges ranges = {};
	_cleanup_free_ char *text = question == CODE_OUTSIDE ? NULL : take_text(fields);
	uint64_t number = question == CODE_FUNCTION ? 0 : cursor__varint(fields);
	int err;

	if (question == CODE_OUTSIDE)
		err = code__out_of_scope(code, number, &ranges);
	else if (!text)
		err = -EPROTO;
	else if (question == CODE_LINE)
		err = code__line(code, text, (uint32_t)number, &ranges, &place);
	else
		err = code__function(code, text, &ranges, &place.function);
	if (!err)
		code_answer__put_ranges(answer, &ranges, &place);
	code_ranges__free(&ranges);
	return err;
}

static int answer_entries(struct code *code, struct cursor *fields, struct buffer *answer)
{
	_cleanup_free_ char *text = take_text(fields);
	uint32_t line = (uint32_t)wire__number(fields, UINT32_MAX);
	struct code_ranges ranges = {};
	struct code_entries entries = {};
	int err = text ? code__entries(code, text, line, &ranges) : -EPROTO;

	for (size_t i = 0; i < ranges.ranges.n && !err; i++) {
		struct code_entry entry = {.address = ranges.ranges.data[i].start};
		struct uprobe_offset choice;

		err = code__uprobe(code, entry.address, &entry.offset, &choice);
		entry.skip = choice.bytes;
		entry.single_stepped = choice.single_stepped;
		err = err ? err : array__push(&entries.entries, entry);
	}
	if (!err)
		code_answer__put_entries(answer, &entries);
	code_ranges__free(&ranges);
	array__free(&entries.entries);
	return err;
}

static int answer_suggestions(struct code *code, struct cursor *fields, struct buffer *answer)
{
	uint64_t max = wire__number(fields, CODE_MAX_NAMES);
	_cleanup_free_ char *text = take_text(fields);
	const char *names[CODE_MAX_NAMES];
	size_t n;

	if (!text)
		return -EPROTO;
	n = code__suggest(code, text, names, max);
	buffer__varint(answer, n);
	for (size_t i = 0; i < n; i++)
		code_answer__put_text(answer, names[i]);
	return 0;
}

static void answer_diagnostic(struct code *code, struct buffer *answer)
{
	const char *text = code__diagnostic(code);

	buffer__varint(answer, text ? 1 : 0);
	if (text)
		code_answer__put_text(answer, text);
}

/* Adds the function at @address. -ENOMEM: it is not. */
static int put_function(struct code *code, uint64_t address, struct buffer *answer)
{
	struct function_probes probes = {};
	struct found_function function = {};
	struct code_place place;
	int err = function_probes__find(code, address, &probes);

	code__place(code, address, &place);
	function.name = place.function;
	function.err = err;
	function.entry = probes.entry;
	function.single_stepped = probes.single_stepped;
	function.return_probe = probes.return_probe;
	for (size_t i = 0; i < probes.exits.n && !err; i++)
		err = array__push(&function.exits,
				  ((struct function_exit){probes.exits.data[i].address,
							  probes.exits.data[i].condition}));
	if (err != -ENOMEM)
		code_answer__put_function(answer, &function);
	array__free(&function.exits);
	function_probes__free(&probes);
	return err == -ENOMEM ? err : 0;
}

static int answer_functions(struct code *code, struct cursor *fields, struct buffer *answer)
{
	_cleanup_free_ char *text = take_text(fields);
	bool is_pattern = wire__number(fields, 1);
	struct code_ranges entries = {};
	size_t n;
	int err;

	if (!text)
		return -EPROTO;
	err = is_pattern ? code__matching_entries(code, text, &entries)
			 : code__function_entries(code, text, &entries);
	n = entries.ranges.n < CODE_MAX_FUNCTIONS ? entries.ranges.n : CODE_MAX_FUNCTIONS;
	if (!err)
		buffer__varint(answer, n);
	for (size_t i = 0; i < n && !err; i++)
		err = put_function(code, entries.ranges.data[i].start, answer);
	code_ranges__free(&entries);
	return err;
}

/* A program, not a library. libc and the dynamic linker can be run as well, but have a SONAME. */
static bool is_program(int fd)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	bool named = false, flagged = false;
	GElf_Ehdr header;
	Elf_Scn *section;
	GElf_Shdr shdr;

	if (fd < 0 || elf_file__share(fd, "", &file) || !gelf_getehdr(file->elf, &header))
		return false;
	if (header.e_type != ET_DYN)
		return header.e_type == ET_EXEC;
	section = elf_file__section(file, ".dynamic", &shdr);
	if (!section)
		return true; /* a static PIE without sections */
	for (size_t i = 0; shdr.sh_entsize && i < shdr.sh_size / shdr.sh_entsize && i < INT_MAX;
	     i++) {
		GElf_Dyn entry;

		if (!gelf_getdyn(elf_getdata(section, NULL), (int)i, &entry))
			break;
		named |= entry.d_tag == DT_SONAME;
		flagged |= entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE;
	}
	return flagged || !named;
}

static int answer_usdt(int fd, struct cursor *fields, struct buffer *answer)
{
	_cleanup_free_ char *provider = take_text(fields);
	_cleanup_free_ char *name = take_text(fields);
	struct usdt_places places = {};
	struct code_entries entries = {};
	int err = provider && name ? usdt__find(fd, *provider ? provider : NULL, name, &places)
				   : -EPROTO;

	for (size_t i = 0; i < places.places.n && !err; i++) {
		const struct usdt_place *place = &places.places.data[i];
		struct uprobe_offset choice = uprobe_offset__at(fd, place->offset);

		err = array__push(&entries.entries,
				  ((struct code_entry){.address = place->address,
						       .offset = place->offset,
						       .semaphore = place->semaphore,
						       .skip = choice.bytes,
						       .single_stepped = choice.single_stepped}));
	}
	if (!err)
		code_answer__put_entries(answer, &entries);
	array__free(&places.places);
	array__free(&entries.entries);
	return err;
}

struct usdt_list {
	struct buffer names;
	uint64_t n, max;
};

static bool list_usdt(void *arg, const char *provider, const char *name)
{
	struct usdt_list *list = arg;
	_cleanup_free_ char *text = NULL;

	if (list->n == list->max || asprintf(&text, "%s:%s", provider, name) < 0)
		return true;
	code_answer__put_text(&list->names, text);
	return ++list->n == list->max;
}

static bool list_link(void *arg, enum elf_link_kind kind, const char *text)
{
	struct usdt_list *list = arg;
	_cleanup_free_ char *link = NULL;

	if (asprintf(&link, "%c%s", kind == ELF_LINK_NEEDED ? CODE_LINK_NEEDED : CODE_LINK_PATH,
		     text) < 0)
		return true;
	code_answer__put_text(&list->names, link);
	return ++list->n == list->max;
}

static int answer_links(int fd, struct buffer *answer)
{
	static const char loads_text[] = {CODE_LINK_LOADS, '\0'};
	struct usdt_list list = {.max = CODE_MAX_NAMES - 1};
	bool loads = false;
	int err = elf_links__each(fd, &loads, list_link, &list);

	loads |= list.n == list.max;
	if (!err) {
		buffer__varint(answer, list.n + loads);
		if (loads)
			code_answer__put_text(answer, loads_text);
		if (list.names.n)
			buffer__put(answer, list.names.data, list.names.n);
		answer->failed |= list.names.failed;
	}
	buffer__free(&list.names);
	return err;
}

static void answer_usdt_list(int fd, struct cursor *fields, struct buffer *answer)
{
	struct usdt_list list = {.max = wire__number(fields, CODE_MAX_NAMES)};

	usdt__each(fd, list_usdt, &list);
	buffer__varint(answer, list.n);
	if (list.names.n)
		buffer__put(answer, list.names.data, list.names.n);
	answer->failed |= list.names.failed;
	buffer__free(&list.names);
}

/* Answers with what @answer has. */
static int finish(struct task *task, int err, struct buffer *answer)
{
	if (!err && task->fields.bad)
		err = -EPROTO;
	if (!err && answer->failed)
		err = -ENOMEM;
	if (!err && answer->n > CODE_MAX_ANSWER)
		err = -E2BIG;
	if (!err)
		err = task__write_result(task, answer->data, answer->n);
	if (!err)
		buffer__varint(task->answer, answer->n);
	buffer__free(answer);
	return err;
}

int code_task__ask(struct task *task)
{
	struct cursor *fields = &task->fields;
	struct kept_file *file = file_at(cursor__varint(fields));
	enum code_question question = (enum code_question)cursor__varint(fields);
	struct buffer answer = {};
	int err = 0;

	if (!file || !file->code)
		return question == CODE_CLOSE ? 0 : -ESTALE;
	switch (question) {
	case CODE_PLACES:
		err = answer_places(file->code, fields, &answer);
		break;
	case CODE_LINE:
	case CODE_FUNCTION:
	case CODE_OUTSIDE:
		err = answer_ranges(file->code, question, fields, &answer);
		break;
	case CODE_ENTRIES:
		err = answer_entries(file->code, fields, &answer);
		break;
	case CODE_SUGGEST:
		err = answer_suggestions(file->code, fields, &answer);
		break;
	case CODE_DIAGNOSTIC:
		answer_diagnostic(file->code, &answer);
		break;
	case CODE_FUNCTIONS:
		err = answer_functions(file->code, fields, &answer);
		break;
	case CODE_CLOSE:
		close_file(file);
		break;
	default:
		err = -EPROTO;
	}
	return finish(task, err, &answer);
}

int code_task__ask_file(struct task *task)
{
	struct cursor *fields = &task->fields;
	struct buffer answer = {};
	int err = 0;

	switch ((enum code_question)cursor__varint(fields)) {
	case CODE_IS_PROGRAM:
		buffer__varint(&answer, is_program(task->file));
		break;
	case CODE_USDT:
		err = answer_usdt(task->file, fields, &answer);
		break;
	case CODE_LINKS:
		err = answer_links(task->file, &answer);
		break;
	case CODE_USDT_LIST:
		answer_usdt_list(task->file, fields, &answer);
		break;
	default:
		err = -EPROTO;
	}
	return finish(task, err, &answer);
}
