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

/* Compressed; what distributions ship is a tenth of it. */
#define LARGEST_DEBUGDATA (16 << 20)
#define LARGEST_VDSO	  (1 << 20)

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
	/* Before Linux 5.6, or forbidden by a seccomp filter. */
	if (snprintf(joined, sizeof(joined), "%s/%s", root, path) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	fd = open(joined, flags);
	return fd < 0 ? -errno : fd;
}

static int fd__check_regular(int fd)
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
	err = fd__check_regular(fd);
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

static void elf__build_id(Elf *elf, char hex[BUILD_ID_HEX_SIZE])
{
	const void *bytes = NULL;
	ssize_t n = 0;

	if (elf && elf_kind(elf) == ELF_K_ELF)
		n = dwelf_elf_gnu_build_id(elf, &bytes);
	build_id__hex(bytes, n > 0 ? (size_t)n : 0, hex);
}

/* Puts @elf, which may be NULL, and what stands behind it into a new object. */
static int elf_file__wrap(Elf *elf, int fd, void *image, const char *path, struct elf_file **out)
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
	elf__build_id(elf, file->build_id);
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
	err = elf_file__wrap(elf_begin(fd, ELF_C_READ_MMAP, NULL), fd, NULL, path, out);
	if (err)
		return err;
	(*out)->size = (uint64_t)st.st_size;
	return 0;
}

int elf_file__share(int fd, const char *path, struct elf_file **out)
{
	_cleanup_close_ int own = -1;
	char link[64];
	int err;

	/* Not a copy of @fd, which would share its position and could be without access. */
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

int elf_file__open(const char *root, const char *path, struct elf_file **out)
{
	_cleanup_close_ int fd = file__open(root, path);
	int err;

	if (fd < 0)
		return fd;
	err = elf_file__adopt(fd, path, out);
	if (err)
		return err;
	TAKE_FD(fd);
	return 0;
}

/* The size of the mapping that starts at @start; 0 when it cannot be told. */
static size_t mapping__size(uint64_t start)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t from;
	uint64_t to;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && from == start)
			return to - from;
	return 0;
}

int elf_file__vdso(struct elf_file **out)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	size_t size = start ? mapping__size(start) : 0;
	_cleanup_free_ void *image = NULL;
	int err;

	if (!size || size > LARGEST_VDSO)
		return -ENOENT;
	image = malloc(size);
	if (!image)
		return -ENOMEM;
	memcpy(image, (const void *)(uintptr_t)start, size);
	elf_version(EV_CURRENT);
	err = elf_file__wrap(elf_memory(image, size), -1, image, "", out);
	if (err)
		return err;
	(*out)->size = size;
	TAKE_PTR(image);
	return 0;
}

/* libdw unpacks compressed ELF files, if they are files. */
int elf_file__mini(const struct elf_file *file, struct elf_file **out)
{
	Elf_Scn *section = elf_file__section(file, ".gnu_debugdata", NULL);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	_cleanup_close_ int fd = -1;
	int err;

	if (!data || !data->d_buf || !data->d_size)
		return -ENOENT;
	if (data->d_size > LARGEST_DEBUGDATA)
		return -EFBIG;
	fd = memfd_create("gnu_debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, data->d_buf, data->d_size) != (ssize_t)data->d_size)
		return -EIO;
	err = elf_file__wrap(dwelf_elf_begin(fd), fd, NULL, "", out);
	if (err)
		return err;
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

/*
 * A debug file keeps the addresses of the segments, not their offsets. Linkers
 * that give code its own pages (ld's default) place it at the offset that is
 * its distance from the first segment; others put code at odd addresses.
 */
static bool segment__guess(const GElf_Phdr *segment, uint64_t base, uint64_t offset,
			   uint64_t *vaddr)
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
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, (int)i, &segment))
			break;
		if (segment.p_type != PT_LOAD)
			continue;
		if (!based)
			base = segment.p_vaddr & -(segment.p_align ? segment.p_align : 1);
		based = true;
		if (offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
			*vaddr = offset - segment.p_offset + segment.p_vaddr;
			err = 0;
			/* Segments may share a page; code is what is asked for. */
			if (segment.p_flags & PF_X)
				break;
		} else if (stripped_of_code && (segment.p_flags & PF_X) &&
			   segment__guess(&segment, base, offset, vaddr)) {
			return 0;
		}
	}
	return err;
}

int elf_file__offset(const struct elf_file *file, uint64_t vaddr, uint64_t *offset)
{
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, (int)i, &segment))
			break;
		if (segment.p_type != PT_LOAD || vaddr < segment.p_vaddr ||
		    vaddr - segment.p_vaddr >= segment.p_filesz)
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
	elf__build_id(elf, found);
	elf_end(elf);
	if (!found[0])
		return -ENOENT;
	if (strlen(found) >= size)
		return -ENOSPC;
	memcpy(hex, found, strlen(found) + 1);
	return 0;
}
