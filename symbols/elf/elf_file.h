/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open ELF file: the only place that reads ELF headers, with libelf. Its users are symbols,
 * debug information and unwind tables. Files come from anywhere, so nothing in them is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gelf.h>

#include "base/cleanup.h"
#include "symbols/ranges.h"

#define BUILD_ID_BYTES	  64
#define BUILD_ID_HEX_SIZE (2 * BUILD_ID_BYTES + 1)

struct elf_file {
	Elf *elf;
	int fd;				  /* owned; -1: an image in memory */
	void *image;			  /* owned; NULL: a file, or @bytes */
	const void *bytes;		  /* an image that is the caller's; else NULL */
	char *path;			  /* it was opened by, "" for an image */
	uint64_t size;			  /* bytes; 0 for MiniDebugInfo */
	char build_id[BUILD_ID_HEX_SIZE]; /* lower-case hex; "" when it has none or was not read */
};

/*
 * Opens a regular file for reading; never blocks on a FIFO or device. If @root is not NULL,
 * @path and the symbolic links in it are resolved inside @root. Returns the descriptor or
 * -errno: -ELOOP when @path itself is a symbolic link, -ENOENT also when it is not a
 * regular file.
 */
int file__open_no_link(const char *root, const char *path);

/* The same, but a symbolic link is followed. */
int file__open(const char *root, const char *path);

/*
 * Reads the rest of the file at @fd to new memory, with a NUL behind it; *@size is without the NUL.
 * 0, -EFBIG (more than @max bytes) or another -errno.
 */
int file__read(int fd, size_t max, char **text, size_t *size);

/*
 * The ELF file open at @fd, opened by @path, which is only kept for reference. Owns @fd on success.
 * 0, -ENOEXEC when it is not an ELF file, or another -errno.
 */
int elf_file__adopt(int fd, const char *path, struct elf_file **out);

/* As elf_file__adopt(), but @fd stays the caller's. */
int elf_file__share(int fd, const char *path, struct elf_file **out);

/* A copy of the vdso of this process. -ENOENT when it has none. */
int elf_file__vdso(struct elf_file **out);

/*
 * The file open at @fd, for unwind tables, which are built while programs run: it is read with
 * pread() and never mapped, so that a file that is cut short meanwhile is an error and not a
 * SIGBUS. @fd stays the caller's. No path, no build id. 0, -ENOEXEC when it is not a (regular)
 * ELF file, -ENOMEM or -EIO.
 */
int elf_file__open_unmapped(int fd, struct elf_file **out);

/* As elf_file__open_unmapped(), of @size bytes at @image, which must outlive the result. */
int elf_file__open_memory(const void *image, size_t size, struct elf_file **out);

/*
 * Copies @size bytes at @offset of the file to @to. 0, -EINVAL (they are not all in the file) or
 * -EIO. elf_file__read() does so to new memory, with a NUL behind them, for the caller to free;
 * -EINVAL also above 1 GiB, or if most of them are in a hole of the file; or -ENOMEM.
 */
int elf_file__read_into(const struct elf_file *file, uint64_t offset, void *to, uint64_t size);
int elf_file__read(const struct elf_file *file, uint64_t offset, uint64_t size, void **out);

/* The MiniDebugInfo of @file: the ELF file in .gnu_debugdata (xz). -ENOENT when there is none. */
int elf_file__minidebuginfo(const struct elf_file *file, struct elf_file **out);

void elf_file__free(struct elf_file *file);
DEFINE_CLEANUP(struct elf_file *, elf_file__free)
#define _cleanup_elf_file_ _cleanup_(elf_file__freep)

/* The section @name, or NULL; sets *@header if it is not NULL. */
Elf_Scn *elf_file__section(const struct elf_file *file, const char *name, GElf_Shdr *header);

/* Whether its headers name parts of it that lie behind its end. */
bool elf_file__is_cut_short(const struct elf_file *file);

/* Whether there is a section @name with bytes in the file. */
bool elf_file__has(const struct elf_file *file, const char *name);

/*
 * Iterates over the PT_LOAD segments: *@next is 0 at the start. False when there are no more, or
 * the program headers are damaged.
 */
bool elf_file__next_load(const struct elf_file *file, size_t *next, GElf_Phdr *segment);

/* Adds the linked addresses of the executable sections to @ranges, value 0. 0 or -ENOMEM. */
int elf_file__add_executable(const struct elf_file *file, struct ranges *ranges);

/*
 * The linked address of the byte at file offset @offset. With @stripped_of_code, @file is the
 * debug file of the program that @offset is in, and the usual layout is assumed. 0, or -ENOENT
 * if no PT_LOAD segment contains it.
 */
int elf_file__vaddr(const struct elf_file *file, bool stripped_of_code, uint64_t offset,
		    uint64_t *vaddr);

/* The file offset of linked address @vaddr. 0, or -ENOENT if it is not in the file. */
int elf_file__offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset);

/* Formats @n bytes as hex; at most BUILD_ID_BYTES. */
void build_id__hex(const uint8_t *bytes, size_t n, char hex[BUILD_ID_HEX_SIZE]);

/* The GNU build id among @size bytes of ELF notes, as hex; "" when there is none. */
void notes__build_id(const void *notes, size_t size, char hex[BUILD_ID_HEX_SIZE]);
