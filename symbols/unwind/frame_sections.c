// SPDX-License-Identifier: BSD-2-Clause
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>
#include <dwarf.h>

#include "symbols/unwind/cfi_read.h"
#include "symbols/unwind/frame_sections.h"

/* The largest .eh_frame seen is 200 MB; what comes must fit in memory. */
#define MAX_SECTION (1ULL << 30)
/* No compression in use does better than deflate's best. */
#define MAX_RATIO 1032
/* Programs have one or two; bounds the search for the one of an address. */
#define MAX_SEGMENTS 64

/* The ELF file being read. */
struct elf {
	int fd;
	const uint8_t *memory;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t n_segments;
	Elf64_Shdr *sections;
	size_t n_sections;
	char *names; /* of sections, NUL at the end */
	uint64_t names_size;
};

static void elf__release(struct elf *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
}

static int elf__read_into(const struct elf *elf, uint64_t offset, void *to, uint64_t size)
{
	if (offset > elf->size || size > elf->size - offset)
		return -EINVAL;
	if (elf->fd < 0) {
		memcpy(to, elf->memory + offset, size);
		return 0;
	}
	while (size) {
		ssize_t n = pread(elf->fd, to, size, (off_t)offset);

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

/* The @size bytes at @offset in new memory, with a NUL behind them. */
static int elf__read(const struct elf *elf, uint64_t offset, uint64_t size, void **out)
{
	_cleanup_free_ char *bytes = NULL;
	int err;

	if (offset > elf->size || size > elf->size - offset || size > MAX_SECTION)
		return -EINVAL;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	err = elf__read_into(elf, offset, bytes, size);
	if (err)
		return err;
	bytes[size] = 0;
	*out = TAKE_PTR(bytes);
	return 0;
}

static int elf__read_header(struct elf *elf)
{
	Elf64_Ehdr *h = &elf->header;

	if (elf__read_into(elf, 0, h, sizeof(*h)))
		return -ENOTSUP;
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != EM_X86_64)
		return -ENOTSUP;
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return -ENOTSUP;
	if (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr))
		return -EINVAL;
	return 0;
}

/* Section headers and names; files without any, or with damaged ones, do without. */
static int elf__read_sections(struct elf *elf)
{
	const Elf64_Ehdr *h = &elf->header;
	uint64_t n = h->e_shnum, names = h->e_shstrndx;
	Elf64_Shdr zero;
	void *bytes;
	int err;

	if (!h->e_shoff || h->e_shentsize != sizeof(zero))
		return 0;
	if (elf__read_into(elf, h->e_shoff, &zero, sizeof(zero)))
		return 0;
	if (!n)
		n = zero.sh_size;
	if (names == SHN_XINDEX)
		names = zero.sh_link;
	if (n > elf->size / sizeof(zero) || names >= n)
		return 0;
	err = elf__read(elf, h->e_shoff, n * sizeof(zero), &bytes);
	if (err)
		return err == -EINVAL ? 0 : err;
	elf->sections = bytes;

	elf->names_size = elf->sections[names].sh_size;
	err = elf__read(elf, elf->sections[names].sh_offset, elf->names_size, &bytes);
	if (err)
		return err == -EINVAL ? 0 : err;
	elf->names = bytes;
	elf->n_sections = n;
	return 0;
}

static int elf__open(struct elf *elf)
{
	struct stat st;
	void *bytes;
	int err;

	if (elf->fd >= 0) {
		if (fstat(elf->fd, &st))
			return -EIO;
		elf->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	}
	err = elf__read_header(elf);
	if (err)
		return err;
	err = elf__read(elf, elf->header.e_phoff, elf->header.e_phnum * sizeof(Elf64_Phdr), &bytes);
	if (err)
		return err;
	elf->segments = bytes;
	elf->n_segments = elf->header.e_phnum;
	return elf__read_sections(elf);
}

/* The section @name that has bytes in the file, or NULL. */
static const Elf64_Shdr *elf__section(const struct elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if (section->sh_name < elf->names_size && section->sh_type != SHT_NOBITS &&
		    section->sh_size && !strcmp(elf->names + section->sh_name, name))
			return section;
	}
	return NULL;
}

static uint64_t elf__section_address(const struct elf *elf, const char *name)
{
	const Elf64_Shdr *section = elf__section(elf, name);

	return section ? section->sh_addr : 0;
}

static int source__read_segments(struct unwind_source *source, const struct elf *elf)
{
	source->segments = calloc(elf->n_segments + 1, sizeof(*source->segments));
	if (!source->segments)
		return -ENOMEM;
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *p = &elf->segments[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
			continue;
		if (p->p_vaddr > UINT32_MAX || p->p_filesz > UINT32_MAX - p->p_vaddr)
			return -ENOTSUP;
		if (p->p_offset > elf->size || source->n_segments == MAX_SEGMENTS)
			return -EINVAL;
		source->segments[source->n_segments++] = (struct unwind_segment){
			.offset = p->p_offset,
			.size = p->p_filesz,
			.bias = (int64_t)(p->p_vaddr - p->p_offset),
		};
	}
	return source->n_segments ? 0 : -ENOENT;
}

/* Replaces the compressed bytes of @source; @type as ch_type. */
static int source__inflate(struct unwind_source *source, uint32_t type, size_t header,
			   uint64_t size)
{
	size_t packed = source->section.size - header;
	_cleanup_free_ uint8_t *bytes = NULL;
	uLongf inflated = size;

	if (!size || size > MAX_SECTION || size / MAX_RATIO > packed)
		return -EINVAL;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB) {
		if (uncompress(bytes, &inflated, source->bytes + header, packed) != Z_OK ||
		    inflated != size)
			return -EINVAL;
	} else if (ZSTD_decompress(bytes, size, source->bytes + header, packed) != size) {
		return -EINVAL;
	}
	free(source->bytes);
	source->bytes = TAKE_PTR(bytes);
	source->section.size = size;
	return 0;
}

static int source__decompress(struct unwind_source *source, const Elf64_Shdr *section)
{
	Elf64_Chdr header;

	if (!(section->sh_flags & SHF_COMPRESSED))
		return 0;
	if (source->section.size < sizeof(header))
		return -EINVAL;
	memcpy(&header, source->bytes, sizeof(header));
	return source__inflate(source, header.ch_type, sizeof(header), header.ch_size);
}

/* .zdebug_frame, as Go's linker and older tools write it: "ZLIB", size, data. */
static int source__decompress_gnu(struct unwind_source *source)
{
	uint64_t size;

	if (source->section.size < 12 || memcmp(source->bytes, "ZLIB", 4))
		return -EINVAL;
	memcpy(&size, source->bytes + 4, sizeof(size));
	return source__inflate(source, ELFCOMPRESS_ZLIB, 12, __builtin_bswap64(size));
}

static int source__read_bytes(struct unwind_source *source, const struct elf *elf, uint64_t offset,
			      uint64_t size, uint64_t address)
{
	void *bytes;
	int err;

	err = elf__read(elf, offset, size, &bytes);
	if (err)
		return err;
	source->bytes = bytes;
	source->section.size = size;
	source->section.address = address;
	return 0;
}

/* Reads section @name. -ENOENT: there is none. */
static int source__read_section(struct unwind_source *source, const struct elf *elf,
				const char *name)
{
	const Elf64_Shdr *section = elf__section(elf, name);
	int err;

	if (!section)
		return -ENOENT;
	err = source__read_bytes(source, elf, section->sh_offset, section->sh_size,
				 section->sh_addr);
	if (err)
		return err;
	if (!strcmp(name, ".zdebug_frame"))
		return source__decompress_gnu(source);
	return source__decompress(source, section);
}

/* The loaded bytes from @address to the end of their segment. */
static bool elf__loaded(const struct elf *elf, uint64_t address, uint64_t *offset, uint64_t *size)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *p = &elf->segments[i];
		uint64_t in = address - p->p_vaddr;

		if (p->p_type != PT_LOAD || address < p->p_vaddr || in >= p->p_filesz)
			continue;
		if (p->p_offset > elf->size || in > elf->size - p->p_offset)
			return false;
		*offset = p->p_offset + in;
		*size = p->p_filesz - in;
		if (*size > elf->size - *offset)
			*size = elf->size - *offset;
		return true;
	}
	return false;
}

/* The address of .eh_frame, as .eh_frame_hdr at @p tells it. 0 or -EINVAL. */
static int elf__eh_frame_address(const struct elf *elf, const Elf64_Phdr *p, uint64_t *address)
{
	uint8_t bytes[16] = {};
	struct cfi_section header = {
		.data = bytes,
		.size = sizeof(bytes),
		.address = p->p_vaddr,
		.got = p->p_vaddr, /* what datarel means in this header */
	};
	struct cursor c = {.at = bytes, .end = bytes + sizeof(bytes)};
	uint64_t size = p->p_filesz < sizeof(bytes) ? p->p_filesz : sizeof(bytes);
	uint8_t encoding;

	if (elf__read_into(elf, p->p_offset, bytes, size) || cfi_read__uint8_t(&c) != 1)
		return -EINVAL;
	encoding = cfi_read__uint8_t(&c);
	cfi_read__skip(&c, 2); /* how the search table is encoded */
	*address = cfi__pointer(&header, &c, encoding, 0);
	return c.bad ? -EINVAL : 0;
}

/*
 * Without section headers only the start of .eh_frame is known: it is read to
 * the end of its segment and ends at its terminator.
 */
static int source__read_by_segment(struct unwind_source *source, const struct elf *elf)
{
	uint64_t address = 0, offset, size;
	int err = -ENOENT;

	for (size_t i = 0; i < elf->n_segments && err == -ENOENT; i++)
		if (elf->segments[i].p_type == PT_GNU_EH_FRAME)
			err = elf__eh_frame_address(elf, &elf->segments[i], &address);
	if (err)
		return err;
	if (!elf__loaded(elf, address, &offset, &size))
		return -EINVAL;
	source->section.terminated = true;
	return source__read_bytes(source, elf, offset, size, address);
}

static int source__read_frames(struct unwind_source *source, const struct elf *elf)
{
	int err;

	source->section.text = elf__section_address(elf, ".text");
	source->section.got = elf__section_address(elf, ".got.plt");
	if (!source->section.got)
		source->section.got = elf__section_address(elf, ".got");

	err = source__read_section(source, elf, ".eh_frame");
	if (err == -ENOENT && !elf->n_sections)
		err = source__read_by_segment(source, elf);
	if (err != -ENOENT)
		return err;
	source->section.debug_frame = true;
	err = source__read_section(source, elf, ".debug_frame");
	if (err == -ENOENT)
		err = source__read_section(source, elf, ".zdebug_frame");
	return err;
}

static void source__read_crt(struct unwind_source *source, const struct elf *elf)
{
	static const char *const names[UNWIND_CRT_FUNCTIONS] = {".init", ".fini"};

	for (int i = 0; i < UNWIND_CRT_FUNCTIONS; i++) {
		const Elf64_Shdr *section = elf__section(elf, names[i]);
		struct unwind_crt_function *function = &source->crt[i];

		if (!section || section->sh_size > sizeof(function->code) ||
		    elf__read_into(elf, section->sh_offset, function->code, section->sh_size))
			continue;
		function->address = section->sh_addr;
		function->size = section->sh_size;
	}
}

static void source__read_plt(struct unwind_source *source, const struct elf *elf)
{
	static const char *const names[UNWIND_PLT_SECTIONS] = {".plt", ".plt.got", ".plt.sec",
							       ".iplt"};

	for (int i = 0; i < UNWIND_PLT_SECTIONS; i++) {
		const Elf64_Shdr *section = elf__section(elf, names[i]);
		struct unwind_plt *plt = &source->plt[i];
		uint64_t size = sizeof(plt->code);

		if (section && section->sh_size < size)
			size = section->sh_size;
		if (!section || elf__read_into(elf, section->sh_offset, plt->code, size))
			continue;
		plt->address = section->sh_addr;
		plt->size = section->sh_size;
	}
}

int unwind_source__read(struct unwind_source *source, int fd, const void *memory, size_t size)
{
	_cleanup_(elf__release) struct elf elf = {.fd = fd, .memory = memory, .size = size};
	int err;

	*source = (struct unwind_source){};
	err = elf__open(&elf);
	if (!err)
		err = source__read_segments(source, &elf);
	if (!err)
		err = source__read_frames(source, &elf);
	if (!err) {
		source__read_crt(source, &elf);
		source__read_plt(source, &elf);
	}
	source->entry = elf.header.e_entry;
	source->section.data = source->bytes;
	return err;
}

void unwind_source__release(struct unwind_source *source)
{
	free(source->segments);
	free(source->bytes);
}
