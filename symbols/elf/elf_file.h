/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file held open for its symbols and debug information, and the few
 * things the rest asks of it. Files come from anywhere, so nothing in them is
 * trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gelf.h>

#include "base/cleanup.h"

#define BUILD_ID_BYTES	  64
#define BUILD_ID_HEX_SIZE (2 * BUILD_ID_BYTES + 1)

struct elf_file {
	Elf *elf;
	int fd;	     /* -1: an image in memory */
	void *image; /* owned; NULL: a file */
	char *path;  /* by which it was opened, "" for an image */
	uint64_t size;
	char build_id[BUILD_ID_HEX_SIZE]; /* "" when it has none */
};

/*
 * A regular file, for reading: never waits on a FIFO or a device. With @root,
 * @path is looked up inside it, symbolic links included. Returns the
 * descriptor or -errno; -ENOENT too for what is no regular file.
 */
int file__open(const char *root, const char *path);

/* The same; -ELOOP when @path is a symbolic link. */
int file__open_no_link(const char *root, const char *path);

/* All of the file as NUL-terminated text, at most @max bytes. 0, -EFBIG or another -errno. */
int file__read(int fd, size_t max, char **text, size_t *size);

/* Takes over @fd on success. Returns 0, -ENOEXEC when it is no ELF file, or -errno. */
int elf_file__adopt(int fd, const char *path, struct elf_file **out);

/* As elf_file__adopt(), with a descriptor of its own: @fd stays the caller's. */
int elf_file__share(int fd, const char *path, struct elf_file **out);

/* file__open() and elf_file__adopt(). */
int elf_file__open(const char *root, const char *path, struct elf_file **out);

/* The vdso of this process, copied. */
int elf_file__vdso(struct elf_file **out);

/* The ELF file that is compressed (xz) in .gnu_debugdata of @file. -ENOENT when there is none. */
int elf_file__mini(const struct elf_file *file, struct elf_file **out);

void elf_file__free(struct elf_file *file);
DEFINE_CLEANUP(struct elf_file *, elf_file__free)
#define _cleanup_elf_file_ _cleanup_(elf_file__freep)

/* The section of that name, or NULL; @header (when not NULL) gets its header. */
Elf_Scn *elf_file__section(const struct elf_file *file, const char *name, GElf_Shdr *header);

/* Whether the section is there with bytes in the file. */
bool elf_file__has(const struct elf_file *file, const char *name);

/*
 * The address that the byte at @offset of the file is linked at. @stripped_of_code
 * says that @file is the separate debug file: offsets are those of the file it
 * was split from, and only the common layout can be assumed. Returns 0, or
 * -ENOENT when no loaded segment holds it.
 */
int elf_file__vaddr(const struct elf_file *file, bool stripped_of_code, uint64_t offset,
		    uint64_t *vaddr);

/* The place in the file of what is linked at @vaddr. 0, or -ENOENT when it is not in it. */
int elf_file__offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset);

/* @n bytes as hex; what is longer than any build id is cut. */
void build_id__hex(const uint8_t *bytes, size_t n, char hex[BUILD_ID_HEX_SIZE]);

/* The GNU build id among @size bytes of ELF notes, as hex; "" when there is none. */
void notes__build_id(const void *notes, size_t size, char hex[BUILD_ID_HEX_SIZE]);
