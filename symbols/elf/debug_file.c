// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

/* Opens what @request names, with its path for messages and relative names. 0 or -ENOENT. */
static int open_file(const struct debug_search *search, const struct symbol_file_request *request,
		     struct elf_file **out)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX] = "";

	if (!request->outside && !search->source->root)
		return -ENOENT;
	if (request->kind < SYMBOL_FILE_FETCH_DEBUG &&
	    symbol_file__path(search->source, search->debug_root, request, path, sizeof(path)))
		return -ENOENT;
	fd = search->open(search->context, search->source, request);
	if (fd < 0 || elf_file__adopt(fd, path, out))
		return -ENOENT;
	TAKE_FD(fd);
	return 0;
}

/* The same, if its build id is @build_id, which is not "". */
static int open_identified(const struct debug_search *search,
			   const struct symbol_file_request *request, const char *build_id,
			   struct elf_file **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;

	if (open_file(search, request, &file) || strcmp(file->build_id, build_id) != 0)
		return -ENOENT;
	*out = TAKE_PTR(file);
	return 0;
}

/* In the process's mount namespace, then in dwell's. */
static int find_identified(const struct debug_search *search, enum symbol_file_kind kind,
			   const char *name, const char *build_id, struct elf_file **out)
{
	struct symbol_file_request request = {.kind = kind, .name = name};
	int err = open_identified(search, &request, build_id, out);

	request.outside = true;
	return err ? open_identified(search, &request, build_id, out) : 0;
}

static int find_by_build_id(const struct debug_search *search, enum symbol_file_kind kind,
			    const char *build_id, struct elf_file **out)
{
	return find_identified(search, kind, build_id, build_id, out);
}

static int find_on_servers(const struct debug_search *search, enum symbol_file_kind kind,
			   const char *build_id, struct elf_file **out)
{
	const struct symbol_file_request request = {
		.kind = kind, .outside = true, .name = build_id};

	return *build_id ? open_identified(search, &request, build_id, out) : -ENOENT;
}

static uint32_t file_crc(int fd)
{
	uint8_t bytes[1 << 16];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		crc = crc32(crc, bytes, (uInt)n);
		at += n;
	}
	return (uint32_t)crc;
}

/* If both files have build ids, they must be equal; else the CRC must be right. */
static int open_linked(const struct debug_search *search, const struct symbol_file_request *request,
		       const struct elf_file *program, uint32_t crc, struct elf_file **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;

	if (open_file(search, request, &file))
		return -ENOENT;
	if (program->build_id[0] && file->build_id[0]) {
		if (strcmp(program->build_id, file->build_id) != 0)
			return -ENOENT;
	} else if (file_crc(file->fd) != crc) {
		return -ENOENT;
	}
	*out = TAKE_PTR(file);
	return 0;
}

static int find_by_link(const struct debug_search *search, const struct elf_file *program,
			struct elf_file **out)
{
	static const enum symbol_file_kind kinds[] = {
		SYMBOL_FILE_LINK_BESIDE, SYMBOL_FILE_LINK_BELOW, SYMBOL_FILE_LINK_DEBUG};
	GElf_Word crc = 0;
	const char *link = dwelf_elf_gnu_debuglink(program->elf, &crc);

	if (!link)
		return -ENOENT;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		const struct symbol_file_request request = {
			.kind = kinds[i % ARRAY_SIZE(kinds)],
			.outside = i >= ARRAY_SIZE(kinds),
			.name = link,
		};

		if (!open_linked(search, &request, program, crc, out))
			return 0;
	}
	return -ENOENT;
}

int debug_file__find(const struct debug_search *search, const struct elf_file *program,
		     const char *build_id, struct elf_file **out)
{
	if (!find_by_build_id(search, SYMBOL_FILE_DEBUG_ID, build_id, out))
		return 0;
	if (program && !find_by_link(search, program, out))
		return 0;
	return find_on_servers(search, SYMBOL_FILE_FETCH_DEBUG, build_id, out);
}

int debug_file__program(const struct debug_search *search, const char *build_id,
			struct elf_file **out)
{
	if (!find_by_build_id(search, SYMBOL_FILE_PROGRAM_ID, build_id, out))
		return 0;
	return find_on_servers(search, SYMBOL_FILE_FETCH_PROGRAM, build_id, out);
}

/* @name is absolute or relative to the directory of the file that holds the link. */
static int find_alternate_by_name(const struct debug_search *search, const struct elf_file *file,
				  const char *name, const char *build_id, struct elf_file **out)
{
	const char *slash = strrchr(file->path, '/');
	char path[PATH_MAX];
	int n;

	if (name[0] == '/' || !slash)
		n = snprintf(path, sizeof(path), "%s", name);
	else
		n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - file->path), file->path,
			     name);
	if (n >= (int)sizeof(path))
		return -ENOENT;
	return find_identified(search, SYMBOL_FILE_ALTERNATE, path, build_id, out);
}

int debug_file__alternate(const struct debug_search *search, const struct elf_file *file,
			  Dwarf *dwarf, struct elf_file **out)
{
	char build_id[BUILD_ID_HEX_SIZE] = "";
	const void *bytes = NULL;
	const char *name = NULL;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);

	if (n <= 0)
		return -ENOENT;
	build_id__hex(bytes, (size_t)n, build_id);
	if (!find_by_build_id(search, SYMBOL_FILE_DEBUG_ID, build_id, out))
		return 0;
	if (!find_alternate_by_name(search, file, name, build_id, out))
		return 0;
	return find_on_servers(search, SYMBOL_FILE_FETCH_DEBUG, build_id, out);
}
