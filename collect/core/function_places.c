// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/function_places.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/probe_exit.h"
#include "base/reopen.h"
#include "collect/core/uprobe_offset.h"
#include "symbols/code/code_exits.h"

/* Sets the entry to @address if that is the first place, or better. */
static int consider_entry(const struct code *code, int fd, uint64_t address,
			  struct function_places *places)
{
	uint8_t bytes[UPROBE_CODE_BYTES];
	struct uprobe_offset choice;
	uint64_t offset;
	ssize_t n;
	int err = code__offset(code, address, &offset);

	if (err)
		return err;
	n = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), (off_t)offset);
	choice = uprobe_offset__choose(bytes, n > 0 ? (size_t)n : 0);
	if (places->entry && choice.single_stepped)
		return 0;
	places->entry = offset + choice.bytes;
	places->single_stepped = choice.single_stepped;
	return 0;
}

/* The first instruction of the prologue that the kernel emulates, else the first one. */
static int find_entry(const struct code *code, int fd, uint64_t address,
		      const struct code_exits *found, struct function_places *places)
{
	int err = consider_entry(code, fd, address, places);

	for (size_t i = 1; i < found->prologue.n && places->single_stepped && !err; i++)
		err = consider_entry(code, fd, found->prologue.data[i], places);
	return err;
}

static int add_exits(const struct code *code, const struct code_exits *found,
		     struct function_places *places)
{
	int err = 0;

	for (size_t i = 0; i < found->exits.n && !err; i++) {
		struct uprobe_place place = {
			.cookie = PROBE_EXIT_COOKIE(found->exits.data[i].condition)};

		err = code__offset(code, found->exits.data[i].address, &place.offset);
		err = err ? err : array__push(&places->exits, place);
	}
	return err;
}

int function_places__find(struct code *code, int fd, uint64_t address,
			  struct function_places *places)
{
	_cleanup_close_ int readable = reopen(fd);
	struct code_exits found = {};
	int swept = code__exits(code, address, &found);
	int err = swept == -ENOMEM ? swept : 0;

	if (swept)
		found.prologue.n = 0;
	places->return_probe = !code__has_exceptions(code);
	err = err ? err : find_entry(code, readable, address, &found, places);
	if (!err && !places->return_probe)
		err = swept ? -ENOTSUP : add_exits(code, &found, places);
	if (!err && code__is_go(code))
		err = -ENOTSUP;
	code_exits__free(&found);
	return err;
}

const char function_places__unsupported[] =
	"its exceptions or its runtime (Go) do not allow return probes, and its returns were not "
	"found";

bool function_places__is_new(struct map64 *searched, int fd)
{
	size_t n = searched->n;
	struct stat stats;

	return fd >= 0 && !fstat(fd, &stats) &&
	       map64__put(searched, hash__add(hash__mix(stats.st_dev), stats.st_ino), 1) &&
	       searched->n > n;
}

void function_places__free(struct function_places *places)
{
	array__free(&places->exits);
}
