// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "symbols/symbols.h"

/* Compressed size; distributions ship a tenth of it. */
#define MAX_DEBUGDATA_SIZE (16 << 20)
#define MAX_VDSO_SIZE	   (1 << 20)
/* The largest .eh_frame seen is 200 MB; what is read must fit in memory. */
#define MAX_READ (1ULL << 30)
/* What lies in holes of a file is read up to this size. */
#define MAX_HOLE (1ULL << 20)

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

static int open_inside(const char *root, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT};
	_cleanup_close_ int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char joined[PATH_MAX];
	int fd;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* openat2() is missing before Linux 5.6, or forbidden by seccomp. */
	if (snprintf(joined, sizeof(joined), "%s/%s", root, path) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	fd = open(joined, flags);
	return fd < 0 ? -errno : fd;
}

static int check_regular(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -ENOENT;
}

static int open_with(const char *root, const char *path, int flags)
{
	_cleanup_close_ int fd = -1;
	int err;

	if (root) {
		fd = open_inside(root, path, flags);
		if (fd < 0)
			return fd;
	} else {
		fd = open(path, flags);
		if (fd < 0)
			return -errno;
	}
	err = check_regular(fd);
	if (err)
		return err;
	return TAKE_FD(fd);
}

int file__open(const char *root, const char *path)
{
	return open_with(root, path, OPEN_FLAGS);
}

int file__open_no_link(const char *root, const char *path)
{
	return open_with(root, path, OPEN_FLAGS | O_NOFOLLOW);
}

int file__read(int fd, size_t max, char **text, size_t *size)
{
	_cleanup_free_ char *bytes = NULL;
	size_t capacity = 0;
	size_t used = 0;

	for (;;) {
		ssize_t n;

		if (capacity - used < 2) {
			char *grown;

			capacity = capacity ? capacity * 2 : 1 << 16;
			grown = realloc(bytes, capacity);
			if (!grown)
				return -ENOMEM;
			bytes = grown;
		}
		n = read(fd, bytes + used, capacity - used - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		used += (size_t)n;
		if (used > max)
			return -EFBIG;
	}
	bytes[used] = '\0';
	*text = TAKE_PTR(bytes);
	*size = used;
	return 0;
}

void build_id__hex(const uint8_t *bytes, size_t n, char hex[BUILD_ID_HEX_SIZE])
{
	hex[0] = '\0';
	for (size_t i = 0; i < n && i < BUILD_ID_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

void notes__build_id(const void *notes, size_t size, char hex[BUILD_ID_HEX_SIZE])
{
	const uint8_t *at = notes;

	hex[0] = '\0';
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name;
		size_t bytes;

		memcpy(&note, at, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		bytes = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		at += sizeof(note);
		size -= sizeof(note);
		if (name > size || bytes > size - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at, "GNU", 4)) {
			build_id__hex(at + name, note.n_descsz, hex);
			return;
		}
		at += name + bytes;
		size -= name + bytes;
	}
}

static void read_build_id(Elf *elf, char hex[BUILD_ID_HEX_SIZE])
{
	const void *bytes = NULL;
	ssize_t n = 0;

	if (elf && elf_kind(elf) == ELF_K_ELF)
		n = dwelf_elf_gnu_build_id(elf, &bytes);
	build_id__hex(bytes, n > 0 ? (size_t)n : 0, hex);
}

/*
 * Makes an elf_file of @elf (NULL: libelf failed). It owns @elf from now on, also on errors;
 * @fd and @image only on success.
 */
static int wrap_elf(Elf *elf, int fd, void *image, const char *path, struct elf_file **out)
{
	_cleanup_elf_file_ struct elf_file *file = calloc(1, sizeof(*file));

	if (!file) {
		elf_end(elf);
		return -ENOMEM;
	}
	file->fd = -1;
	file->elf = elf;
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	file->path = strdup(path);
	if (!file->path)
		return -ENOMEM;
	/* Only now, so that on failure they stay the caller's. */
	file->fd = fd;
	file->image = image;
	*out = TAKE_PTR(file);
	return 0;
}

int elf_file__adopt(int fd, const char *path, struct elf_file **out)
{
	struct stat st;
	int err;

	elf_version(EV_CURRENT);
	if (fstat(fd, &st))
		return -errno;
	err = wrap_elf(elf_begin(fd, ELF_C_READ_MMAP, NULL), fd, NULL, path, out);
	if (err)
		return err;
	read_build_id((*out)->elf, (*out)->build_id);
	(*out)->size = (uint64_t)st.st_size;
	return 0;
}

int elf_file__share(int fd, const char *path, struct elf_file **out)
{
	_cleanup_close_ int own = -1;
	char link[64];
	int err;

	/* Not a duplicate, which shares the file position and may not be readable (O_PATH). */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	own = file__open(NULL, link);
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	err = elf_file__adopt(own, path, out);
	if (err)
		return err;
	TAKE_FD(own);
	return 0;
}

/*
 * The size of the vdso, which the kernel made: its section headers are at its end. (A process in a
 * sandbox has no /proc to ask.)
 */
static size_t vdso_size(const Elf64_Ehdr *header)
{
	return header && header->e_shoff
		       ? header->e_shoff + (size_t)header->e_shnum * header->e_shentsize
		       : 0;
}

int elf_file__vdso(struct elf_file **out)
{
	const void *start = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	size_t size = vdso_size(start);
	_cleanup_free_ void *image = NULL;
	int err;

	if (!size || size > MAX_VDSO_SIZE)
		return -ENOENT;
	image = malloc(size);
	if (!image)
		return -ENOMEM;
	memcpy(image, start, size);
	elf_version(EV_CURRENT);
	err = wrap_elf(elf_memory(image, size), -1, image, "", out);
	if (err)
		return err;
	read_build_id((*out)->elf, (*out)->build_id);
	(*out)->size = size;
	TAKE_PTR(image);
	return 0;
}

int elf_file__open_unmapped(int fd, struct elf_file **out)
{
	_cleanup_close_ int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct stat st;
	int err;

	if (own < 0 || fstat(own, &st))
		return -EIO;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	err = wrap_elf(elf_begin(own, ELF_C_READ, NULL), own, NULL, "", out);
	if (err)
		return err;
	(*out)->size = (uint64_t)st.st_size;
	TAKE_FD(own);
	return 0;
}

int elf_file__open_memory(const void *image, size_t size, struct elf_file **out)
{
	int err;

	elf_version(EV_CURRENT);
	/* libelf only writes to images that are opened for writing. */
	err = wrap_elf(elf_memory((char *)(uintptr_t)image, size), -1, NULL, "", out);
	if (err)
		return err;
	(*out)->bytes = image;
	(*out)->size = size;
	return 0;
}

int elf_file__read_into(const struct elf_file *file, uint64_t offset, void *to, uint64_t size)
{
	if (offset > file->size || size > file->size - offset)
		return -EINVAL;
	if (file->fd < 0) {
		memcpy(to, (const char *)(file->image ? file->image : file->bytes) + offset, size);
		return 0;
	}
	while (size) {
		ssize_t n = pread(file->fd, to, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		to = (char *)to + n;
		offset += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return 0;
}

/* How many of the @size bytes at @offset are not in a hole, at least; counts up to @enough. */
static uint64_t count_data(int fd, uint64_t offset, uint64_t size, uint64_t enough)
{
	const off_t end = (off_t)(offset + size);
	off_t at = (off_t)offset;
	uint64_t found = 0;

	while (at < end && found < enough) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0) /* ENXIO: no more data. Other errors: this file system cannot tell */
			return errno == ENXIO ? found : enough;
		hole = data < end ? lseek(fd, data, SEEK_HOLE) : end;
		if (data >= end || hole <= data)
			break;
		found += (uint64_t)((hole < end ? hole : end) - data);
		at = hole;
	}
	return found;
}

/*
 * Whether the @size bytes at @offset, which a header names, take room on the disk: else a small
 * file could take any amount of memory. What is copied by tools that make holes has few of them.
 */
static bool has_data(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	return file->fd < 0 || size <= MAX_HOLE ||
	       count_data(file->fd, offset, size, size / 2) >= size / 2;
}

int elf_file__read(const struct elf_file *file, uint64_t offset, uint64_t size, void **out)
{
	_cleanup_free_ char *bytes = NULL;
	int err;

	if (offset > file->size || size > file->size - offset || size > MAX_READ ||
	    !has_data(file, offset, size))
		return -EINVAL;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file__read_into(file, offset, bytes, size);
	if (err)
		return err;
	bytes[size] = '\0';
	*out = TAKE_PTR(bytes);
	return 0;
}

/* libdw decompresses ELF files, but only from a descriptor. */
int elf_file__minidebuginfo(const struct elf_file *file, struct elf_file **out)
{
	Elf_Scn *section = elf_file__section(file, ".gnu_debugdata", NULL);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	_cleanup_close_ int fd = -1;
	int err;

	if (!data || !data->d_buf || !data->d_size)
		return -ENOENT;
	if (data->d_size > MAX_DEBUGDATA_SIZE)
		return -EFBIG;
	fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, data->d_buf, data->d_size) != (ssize_t)data->d_size)
		return -EIO;
	err = wrap_elf(dwelf_elf_begin(fd), fd, NULL, "", out);
	if (err)
		return err;
	read_build_id((*out)->elf, (*out)->build_id);
	TAKE_FD(fd);
	return 0;
}

void elf_file__free(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->image);
	free(file->path);
	free(file);
}

Elf_Scn *elf_file__section(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	GElf_Shdr own;
	size_t names;

	if (!header)
		header = &own;
	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *found;

		if (!gelf_getshdr(section, header))
			continue;
		found = elf_strptr(file->elf, names, header->sh_name);
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

bool elf_file__has(const struct elf_file *file, const char *name)
{
	GElf_Shdr header;

	return elf_file__section(file, name, &header) && header.sh_type != SHT_NOBITS &&
	       header.sh_size;
}

bool elf_file__is_cut_short(const struct elf_file *file)
{
	GElf_Ehdr header;
	GElf_Phdr segment;

	if (!gelf_getehdr(file->elf, &header))
		return false;
	if (header.e_shoff > file->size ||
	    file->size - header.e_shoff < (uint64_t)header.e_shnum * header.e_shentsize)
		return true;
	for (size_t next = 0; elf_file__next_load(file, &next, &segment);)
		if (segment.p_offset > file->size ||
		    file->size - segment.p_offset < segment.p_filesz)
			return true;
	return false;
}

bool elf_file__next_load(const struct elf_file *file, size_t *next, GElf_Phdr *segment)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return false;
	while (*next < n && *next < INT_MAX && gelf_getphdr(file->elf, (int)(*next)++, segment))
		if (segment->p_type == PT_LOAD)
			return true;
	return false;
}

int elf_file__add_executable(const struct elf_file *file, struct ranges *ranges)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR) &&
		    ranges__add(ranges, header.sh_addr, header.sh_addr + header.sh_size, 0))
			return -ENOMEM;
	return 0;
}

/*
 * A debug file has the addresses of segments, but not their offsets in the program. Linkers that
 * align code to pages (ld's default) place a segment at an offset equal to its distance from
 * the first segment. Others use unaligned addresses, for which this fails.
 */
static bool guess_vaddr(const GElf_Phdr *segment, uint64_t base, uint64_t offset, uint64_t *vaddr)
{
	uint64_t align = segment->p_align ? segment->p_align : 1;

	if (segment->p_vaddr % align || offset + base < segment->p_vaddr ||
	    offset + base - segment->p_vaddr >= segment->p_memsz)
		return false;
	*vaddr = offset + base;
	return true;
}

int elf_file__vaddr(const struct elf_file *file, bool stripped_of_code, uint64_t offset,
		    uint64_t *vaddr)
{
	bool based = false;
	uint64_t base = 0;
	int err = -ENOENT;
	GElf_Phdr segment;

	for (size_t next = 0; elf_file__next_load(file, &next, &segment);) {
		if (!based)
			base = segment.p_vaddr & -(segment.p_align ? segment.p_align : 1);
		based = true;
		if (offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
			*vaddr = offset - segment.p_offset + segment.p_vaddr;
			err = 0;
			/* Segments may share a page; the executable one is wanted. */
			if (segment.p_flags & PF_X)
				break;
		} else if (stripped_of_code && (segment.p_flags & PF_X) &&
			   guess_vaddr(&segment, base, offset, vaddr)) {
			return 0;
		}
	}
	return err;
}

int elf_file__offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset)
{
	GElf_Phdr segment;

	for (size_t next = 0; elf_file__next_load(file, &next, &segment);) {
		if (vaddr < segment.p_vaddr || vaddr - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = vaddr - segment.p_vaddr + segment.p_offset;
		return 0;
	}
	return -ENOENT;
}

int symbols__build_id(int fd, char *hex, size_t size)
{
	char found[BUILD_ID_HEX_SIZE];
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	read_build_id(elf, found);
	elf_end(elf);
	if (!found[0])
		return -ENOENT;
	if (strlen(found) >= size)
		return -ENOSPC;
	memcpy(hex, found, strlen(found) + 1);
	return 0;
}
