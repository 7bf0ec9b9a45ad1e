// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>
#include <dwarf.h>

#include "arch/processor.h"
#include "symbols/dwarf/dwarf_read.h"
#include "symbols/unwind/unwind_input.h"

/* The largest .eh_frame seen is 200 MB; what is decompressed must fit in memory. */
#define MAX_SECTION (1ULL << 30)
/* The maximum compression ratio of deflate; others are assumed not to exceed it. */
#define MAX_RATIO 1032
/* Programs have one or two. Bounds the search for the segment of an address. */
#define MAX_SEGMENTS 64

/* Checks that @file is a 64-bit program or library for dwell's own processor. */
static int check_header(const struct elf_file *file, GElf_Ehdr *header)
{
	if (!gelf_getehdr(file->elf, header) || gelf_getclass(file->elf) != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != processor__own()->elf)
		return -ENOTSUP;
	return header->e_type == ET_EXEC || header->e_type == ET_DYN ? 0 : -ENOTSUP;
}

/* Whether the file has section headers and their names. Damaged ones count as none. */
static bool has_sections(const struct elf_file *file)
{
	size_t n, names;

	return !elf_getshdrnum(file->elf, &n) && n && !elf_getshdrstrndx(file->elf, &names) &&
	       elf_strptr(file->elf, names, 0);
}

/* Gets the header of section @name; false if there is none with bytes in the file. */
static bool find_section(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	return elf_file__section(file, name, header) && header->sh_type != SHT_NOBITS &&
	       header->sh_size;
}

static uint64_t section_address(const struct elf_file *file, const char *name)
{
	GElf_Shdr section;

	return find_section(file, name, &section) ? section.sh_addr : 0;
}

static int read_segments(struct unwind_input *input, const struct elf_file *file)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return -EINVAL;
	input->segments = calloc(MAX_SEGMENTS, sizeof(*input->segments));
	if (!input->segments)
		return -ENOMEM;
	for (size_t next = 0; elf_file__next_load(file, &next, &p);) {
		if (!(p.p_flags & PF_X) || !p.p_filesz)
			continue;
		if (p.p_vaddr > UINT32_MAX || p.p_filesz > UINT32_MAX - p.p_vaddr)
			return -ENOTSUP;
		if (p.p_offset > file->size || input->n_segments == MAX_SEGMENTS)
			return -EINVAL;
		input->segments[input->n_segments++] = (struct unwind_segment){
			.offset = p.p_offset,
			.size = p.p_filesz,
			.bias = (int64_t)(p.p_vaddr - p.p_offset),
		};
	}
	return input->n_segments ? 0 : -ENOENT;
}

/*
 * Replaces the compressed bytes of @input, which begin with a header of @header bytes; @type is
 * a ch_type, @size the size that they have to come to. Not by elf_compress(): before elfutils
 * 0.189 it knows no zstd.
 */
static int inflate_section(struct unwind_input *input, uint32_t type, size_t header, uint64_t size)
{
	size_t packed = input->section.size - header;
	_cleanup_free_ uint8_t *bytes = NULL;
	uLongf inflated = size;

	if (!size || size > MAX_SECTION || size / MAX_RATIO > packed)
		return -EINVAL;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB) {
		if (uncompress(bytes, &inflated, input->bytes + header, packed) != Z_OK ||
		    inflated != size)
			return -EINVAL;
	} else if (ZSTD_decompress(bytes, size, input->bytes + header, packed) != size) {
		return -EINVAL;
	}
	free(input->bytes);
	input->bytes = TAKE_PTR(bytes);
	input->section.data = input->bytes;
	input->section.size = size;
	return 0;
}

static int decompress(struct unwind_input *input, const GElf_Shdr *section)
{
	Elf64_Chdr header;

	if (!(section->sh_flags & SHF_COMPRESSED))
		return 0;
	if (input->section.size < sizeof(header))
		return -EINVAL;
	memcpy(&header, input->bytes, sizeof(header));
	return inflate_section(input, header.ch_type, sizeof(header), header.ch_size);
}

/* .zdebug_frame, as Go's linker and older tools write it: "ZLIB", size, data. */
static int decompress_gnu(struct unwind_input *input)
{
	uint64_t size;

	if (input->section.size < 12 || memcmp(input->bytes, "ZLIB", 4))
		return -EINVAL;
	memcpy(&size, input->bytes + 4, sizeof(size));
	return inflate_section(input, ELFCOMPRESS_ZLIB, 12, __builtin_bswap64(size));
}

static int read_bytes(struct unwind_input *input, const struct elf_file *file, uint64_t offset,
		      uint64_t size, uint64_t address)
{
	void *bytes;
	int err;

	err = elf_file__read(file, offset, size, &bytes);
	if (err)
		return err;
	input->bytes = bytes;
	input->section.data = bytes;
	input->section.size = size;
	input->section.address = address;
	return 0;
}

/* Reads and decompresses section @name. -ENOENT if there is none. */
static int read_section(struct unwind_input *input, const struct elf_file *file, const char *name)
{
	GElf_Shdr section;
	int err;

	if (!find_section(file, name, &section))
		return -ENOENT;
	err = read_bytes(input, file, section.sh_offset, section.sh_size, section.sh_addr);
	if (err)
		return err;
	if (!strcmp(name, ".zdebug_frame"))
		return decompress_gnu(input);
	return decompress(input, &section);
}

/* The bytes in the file from the linked @address to the end of its segment. */
static bool find_loaded(const struct elf_file *file, uint64_t address, uint64_t *offset,
			uint64_t *size)
{
	GElf_Phdr p;

	for (size_t next = 0; elf_file__next_load(file, &next, &p);) {
		uint64_t in = address - p.p_vaddr;

		if (address < p.p_vaddr || in >= p.p_filesz)
			continue;
		if (p.p_offset > file->size || in > file->size - p.p_offset)
			return false;
		*offset = p.p_offset + in;
		*size = p.p_filesz - in;
		if (*size > file->size - *offset)
			*size = file->size - *offset;
		return true;
	}
	return false;
}

/* Reads the address of .eh_frame from .eh_frame_hdr, which is segment @p. 0 or -EINVAL. */
static int read_eh_frame_address(const struct elf_file *file, const GElf_Phdr *p, uint64_t *address)
{
	uint8_t bytes[16] = {};
	struct cfi_section header = {
		.data = bytes,
		.size = sizeof(bytes),
		.address = p->p_vaddr,
		.got = p->p_vaddr, /* DW_EH_PE_datarel in this header */
	};
	struct cursor c = {.at = bytes, .end = bytes + sizeof(bytes)};
	uint64_t size = p->p_filesz < sizeof(bytes) ? p->p_filesz : sizeof(bytes);
	uint8_t encoding;

	if (elf_file__read_into(file, p->p_offset, bytes, size) || dwarf_read__uint8_t(&c) != 1)
		return -EINVAL;
	encoding = dwarf_read__uint8_t(&c);
	dwarf_read__skip(&c, 2); /* encodings of the search table */
	*address = cfi__pointer(&header, &c, encoding, 0);
	return c.bad ? -EINVAL : 0;
}

/*
 * Without section headers only the start of .eh_frame is known: reads to the end of its
 * segment; the entry of length 0 ends it.
 */
static int read_frames_by_segment(struct unwind_input *input, const struct elf_file *file)
{
	uint64_t address = 0, offset, size;
	int err = -ENOENT;
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(file->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n && err == -ENOENT && gelf_getphdr(file->elf, (int)i, &p); i++)
		if (p.p_type == PT_GNU_EH_FRAME)
			err = read_eh_frame_address(file, &p, &address);
	if (err)
		return err;
	if (!find_loaded(file, address, &offset, &size))
		return -EINVAL;
	input->section.terminated = true;
	return read_bytes(input, file, offset, size, address);
}

static int read_frames(struct unwind_input *input, const struct elf_file *file)
{
	int err;

	input->section.text = section_address(file, ".text");
	input->section.got = section_address(file, ".got.plt");
	if (!input->section.got)
		input->section.got = section_address(file, ".got");

	err = read_section(input, file, ".eh_frame");
	if (err == -ENOENT && !has_sections(file))
		err = read_frames_by_segment(input, file);
	if (err != -ENOENT)
		return err;
	input->section.debug_frame = true;
	err = read_section(input, file, ".debug_frame");
	if (err == -ENOENT)
		err = read_section(input, file, ".zdebug_frame");
	return err;
}

/* Finds the assembly of cgo, which has no call frame information. */
static int find_crosscall(struct unwind_input *input, const struct elf_file *file)
{
	const struct processor_unwind *unwind = processor__own()->unwind;
	_cleanup_free_ void *bytes = NULL;
	const uint8_t *found;
	GElf_Shdr section;
	int err;

	if (!unwind->crosscall_size || input->section.debug_frame ||
	    !find_section(file, ".text", &section))
		return 0;
	err = elf_file__read(file, section.sh_offset, section.sh_size, &bytes);
	if (err)
		return err == -ENOMEM ? err : 0;
	found = memmem(bytes, section.sh_size, unwind->crosscall, unwind->crosscall_size);
	if (found)
		input->crosscall = section.sh_addr + (uint64_t)(found - (uint8_t *)bytes);
	return 0;
}

/* Reads .gopclntab of a Go program. 0, -ENOENT if there is none, or another -errno. */
static int read_go(struct unwind_input *input, const struct elf_file *file)
{
	GElf_Shdr section;
	void *bytes;
	int err;

	if (!find_section(file, ".gopclntab", &section) &&
	    !find_section(file, ".data.rel.ro.gopclntab", &section))
		return -ENOENT;
	err = elf_file__read(file, section.sh_offset, section.sh_size, &bytes);
	if (err)
		return err;
	input->go = bytes;
	input->go_size = section.sh_size;
	return find_crosscall(input, file);
}

static void read_crt(struct unwind_input *input, const struct elf_file *file)
{
	static const char *const names[UNWIND_CRT_FUNCTIONS] = {".init", ".fini"};

	for (int i = 0; i < UNWIND_CRT_FUNCTIONS; i++) {
		struct unwind_crt_function *function = &input->crt[i];
		GElf_Shdr section;

		if (!find_section(file, names[i], &section) ||
		    section.sh_size > sizeof(function->code) ||
		    elf_file__read_into(file, section.sh_offset, function->code, section.sh_size))
			continue;
		function->address = section.sh_addr;
		function->size = section.sh_size;
	}
}

static void read_plt(struct unwind_input *input, const struct elf_file *file)
{
	static const char *const names[UNWIND_PLT_SECTIONS] = {".plt", ".plt.got", ".plt.sec",
							       ".iplt"};

	for (int i = 0; i < UNWIND_PLT_SECTIONS; i++) {
		struct unwind_plt *plt = &input->plt[i];
		uint64_t size = sizeof(plt->code);
		GElf_Shdr section;

		if (!find_section(file, names[i], &section))
			continue;
		if (section.sh_size < size)
			size = section.sh_size;
		if (elf_file__read_into(file, section.sh_offset, plt->code, size))
			continue;
		plt->address = section.sh_addr;
		plt->size = section.sh_size;
	}
}

int unwind_input__read(struct unwind_input *input, const struct elf_file *file)
{
	GElf_Ehdr header;
	int err;

	*input = (struct unwind_input){};
	err = check_header(file, &header);
	if (!err)
		err = read_segments(input, file);
	if (!err)
		err = read_frames(input, file);
	if (!err || err == -ENOENT) {
		int go = read_go(input, file);

		if (!go || go == -ENOMEM)
			err = go;
	}
	if (err)
		return err;
	read_crt(input, file);
	read_plt(input, file);
	input->entry = header.e_entry;
	return 0;
}

void unwind_input__release(struct unwind_input *input)
{
	free(input->segments);
	free(input->bytes);
	free(input->go);
}
