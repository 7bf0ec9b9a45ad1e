// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

/* Opens @path if its build id is @build_id, which is not "". */
static int open_identified(const char *root, const char *path, const char *build_id,
			   struct elf_file **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;

	if (elf_file__open(root, path, &file) || strcmp(file->build_id, build_id) != 0)
		return -ENOENT;
	*out = TAKE_PTR(file);
	return 0;
}

/* DEBUG_ROOT/.build-id/xx/yyyySUFFIX, in the process's mount namespace, then in dwell's. */
static int find_by_build_id(const struct debug_search *search, const char *build_id,
			    const char *suffix, struct elf_file **out)
{
	char path[PATH_MAX];

	if (strlen(build_id) < 3 ||
	    snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", search->debug_root, build_id,
		     build_id + 2, suffix) >= (int)sizeof(path))
		return -ENOENT;
	if (search->root && !open_identified(search->root, path, build_id, out))
		return 0;
	return open_identified(NULL, path, build_id, out);
}

static int find_on_servers(const struct debug_search *search, enum debuginfod_file kind,
			   const char *build_id, struct elf_file **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	_cleanup_close_ int fd = -1;

	if (!search->debuginfod || !*build_id)
		return -ENOENT;
	fd = debuginfod__fetch(search->debuginfod, kind, build_id);
	if (fd < 0 || elf_file__adopt(fd, "", &file))
		return -ENOENT;
	TAKE_FD(fd);
	if (strcmp(file->build_id, build_id) != 0)
		return -ENOENT;
	*out = TAKE_PTR(file);
	return 0;
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
static int open_linked(const char *root, const char *path, const struct elf_file *program,
		       uint32_t crc, struct elf_file **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;

	if (elf_file__open(root, path, &file))
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

/* DIRECTORY/link, DIRECTORY/.debug/link, DEBUG_ROOT/DIRECTORY/link, under @root. */
static int find_by_link_under(const struct debug_search *search, const char *root,
			      const struct elf_file *program, const char *link, uint32_t crc,
			      struct elf_file **out)
{
	int directory = (int)(strrchr(search->path, '/') - search->path);
	const struct {
		const char *before;
		const char *between;
	} places[] = {{"", "/"}, {"", "/.debug/"}, {search->debug_root, "/"}};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].before, directory,
			     search->path, places[i].between, link) >= (int)sizeof(path))
			continue;
		/* Not the program itself, if its link has its own name. */
		if (strcmp(path, search->path) != 0 && !open_linked(root, path, program, crc, out))
			return 0;
	}
	return -ENOENT;
}

static int find_by_link(const struct debug_search *search, const struct elf_file *program,
			struct elf_file **out)
{
	GElf_Word crc = 0;
	const char *link = dwelf_elf_gnu_debuglink(program->elf, &crc);

	if (!link || !*link || strchr(link, '/') || !strchr(search->path, '/'))
		return -ENOENT;
	if (search->root && !find_by_link_under(search, search->root, program, link, crc, out))
		return 0;
	return find_by_link_under(search, NULL, program, link, crc, out);
}

int debug_file__find(const struct debug_search *search, const struct elf_file *program,
		     const char *build_id, struct elf_file **out)
{
	if (!find_by_build_id(search, build_id, ".debug", out))
		return 0;
	if (program && !find_by_link(search, program, out))
		return 0;
	return find_on_servers(search, DEBUGINFOD_DEBUG_FILE, build_id, out);
}

int debug_file__program(const struct debug_search *search, const char *build_id,
			struct elf_file **out)
{
	if (!find_by_build_id(search, build_id, "", out))
		return 0;
	return find_on_servers(search, DEBUGINFOD_PROGRAM, build_id, out);
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
	if (search->root && !open_identified(search->root, path, build_id, out))
		return 0;
	return open_identified(NULL, path, build_id, out);
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
	if (!find_by_build_id(search, build_id, ".debug", out))
		return 0;
	if (!find_alternate_by_name(search, file, name, build_id, out))
		return 0;
	return find_on_servers(search, DEBUGINFOD_DEBUG_FILE, build_id, out);
}
