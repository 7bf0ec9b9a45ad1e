// SPDX-License-Identifier: BSD-2-Clause
/* Parsing the CIEs and FDEs of .eh_frame and .debug_frame, without their instructions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <dwarf.h>

#include "symbols/unwind/cfi.h"
#include "symbols/dwarf/dwarf_read.h"

#define LENGTH_64 0xffffffffu

/* A CIE or FDE. The cursor is behind the length, and behind the id once that is read. */
struct entry {
	size_t offset;
	size_t id_offset;
	bool wide; /* 64-bit DWARF */
	uint64_t id;
	struct cursor c;
};

static uint64_t address_of(const struct cfi_section *section, const struct cursor *c)
{
	return section->address + (uint64_t)(c->at - section->data);
}

static uint64_t read_pointer(struct cursor *c, uint8_t encoding)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
	case DW_EH_PE_signed:
		return dwarf_read__uint64_t(c);
	case DW_EH_PE_uleb128:
		return dwarf_read__uleb(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)dwarf_read__sleb(c);
	case DW_EH_PE_udata2:
		return dwarf_read__uint16_t(c);
	case DW_EH_PE_sdata2:
		return (uint64_t)dwarf_read__int16_t(c);
	case DW_EH_PE_udata4:
		return dwarf_read__uint32_t(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)dwarf_read__int32_t(c);
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t cfi__pointer(const struct cfi_section *section, struct cursor *c, uint8_t encoding,
		      uint64_t function)
{
	uint64_t here = address_of(section, c);

	if (encoding & DW_EH_PE_indirect) /* DW_EH_PE_omit has this bit, too */
		c->bad = true;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return read_pointer(c, encoding);
	case DW_EH_PE_pcrel:
		return here + read_pointer(c, encoding);
	case DW_EH_PE_textrel:
		return section->text + read_pointer(c, encoding);
	case DW_EH_PE_datarel:
		return section->got + read_pointer(c, encoding);
	case DW_EH_PE_funcrel:
		return function + read_pointer(c, encoding);
	case DW_EH_PE_aligned:
		dwarf_read__skip(c, -here & 7);
		return dwarf_read__uint64_t(c);
	default:
		c->bad = true;
		return 0;
	}
}

/*
 * Gets the next entry and advances *@at behind it. Skips entries of length 0, which partial links
 * leave in the middle. False at the end, or where lengths are malformed.
 */
static bool next_entry(const struct cfi_section *section, size_t *at, struct entry *entry)
{
	struct cursor c = {.at = section->data + *at, .end = section->data + section->size};
	uint64_t length;

	do {
		entry->offset = (size_t)(c.at - section->data);
		length = dwarf_read__uint32_t(&c);
		if (!length && section->terminated)
			return false;
	} while (!length && !c.bad);
	entry->wide = length == LENGTH_64;
	if (entry->wide)
		length = dwarf_read__uint64_t(&c);
	if (c.bad || length > cursor__left(&c))
		return false;

	entry->id_offset = (size_t)(c.at - section->data);
	c.end = c.at + length;
	*at = (size_t)(c.end - section->data);
	entry->c = c;
	return true;
}

/*
 * The size of the id field. For .eh_frame in 64-bit DWARF, the LSB says 4 bytes, but some tools
 * write 8. In a CIE they can be distinguished: its id is 0, and its version follows.
 */
static uint8_t cie_id_size(const struct cfi_section *section, const struct entry *entry)
{
	static const uint8_t zeros[8];

	if (!entry->wide)
		return 4;
	if (section->debug_frame)
		return 8;
	return cursor__left(&entry->c) >= 8 && !memcmp(entry->c.at, zeros, 8) ? 8 : 4;
}

static uint64_t read_id(struct entry *entry, uint8_t size)
{
	return size == 8 ? dwarf_read__uint64_t(&entry->c) : dwarf_read__uint32_t(&entry->c);
}

static bool is_cie_id(const struct cfi_section *section, uint64_t id, uint8_t size)
{
	if (!section->debug_frame)
		return id == 0;
	return id == (size == 8 ? UINT64_MAX : UINT32_MAX);
}

/* Reads the augmentation data as the augmentation string @text describes it. */
static void read_augmentation(const struct cfi_section *section, struct cfi_cie *cie,
			      struct cursor *c, const char *text)
{
	struct cursor data = {};
	uint64_t size = dwarf_read__uleb(c);

	data.at = dwarf_read__skip(c, size);
	if (!data.at)
		return;
	data.end = data.at + size;
	cie->has_augmentation_size = true;
	for (const char *letter = text + 1; *letter; letter++) {
		if (*letter == 'R') {
			cie->encoding = dwarf_read__uint8_t(&data);
		} else if (*letter == 'L') {
			dwarf_read__uint8_t(&data);
		} else if (*letter == 'P') {
			uint8_t encoding = dwarf_read__uint8_t(&data);

			/* The personality routine: skipped, so it may be indirect. */
			if (encoding != DW_EH_PE_omit)
				cfi__pointer(section, &data, encoding & ~DW_EH_PE_indirect, 0);
		} else if (!strchr("SBG", *letter)) {
			/* Unknown data follows: an error only if the pointer encoding is behind it.
			 */
			data.bad |= strchr(letter, 'R') != NULL;
			break;
		}
	}
	c->bad |= data.bad;
}

/* Reads from the version to the augmentation data. False if the CIE is not usable. */
static bool read_cie_head(const struct cfi_section *section, struct cfi_cie *cie, struct cursor *c)
{
	uint8_t version = dwarf_read__uint8_t(c);
	const char *text = (const char *)c->at;
	const void *nul = memchr(text, 0, cursor__left(c));
	uint64_t ra;

	if (!nul || (version != 1 && version != 3 && version != 4))
		return false;
	c->at = (const uint8_t *)nul + 1;
	if (!strcmp(text, "eh"))
		dwarf_read__uint64_t(c);
	else if (*text && *text != 'z')
		return false;
	if (version == 4) {
		uint8_t address_size = dwarf_read__uint8_t(c);
		uint8_t segment_size = dwarf_read__uint8_t(c);

		if (address_size != 8 || segment_size != 0)
			return false;
	}
	cie->code_align = dwarf_read__uleb(c);
	cie->data_align = dwarf_read__sleb(c);
	ra = version == 1 ? dwarf_read__uint8_t(c) : dwarf_read__uleb(c);
	cie->encoding = DW_EH_PE_absptr;
	if (*text == 'z')
		read_augmentation(section, cie, c, text);
	return !c->bad && ra == DWARF_RETURN;
}

/* Adds @entry if it is a usable CIE. 0 or -ENOMEM. */
static int add_cie(const struct cfi_section *section, struct cfi_entries *entries,
		   struct entry *entry)
{
	struct cfi_cie cie = {
		.offset = entry->offset,
		.id_size = cie_id_size(section, entry),
	};

	entry->id = read_id(entry, cie.id_size);
	if (entry->c.bad || !is_cie_id(section, entry->id, cie.id_size))
		return 0;
	if (!read_cie_head(section, &cie, &entry->c) || cfi__run_initial(section, &cie, entry->c))
		return 0;
	if (entries->max && entries->cies.n >= entries->max)
		return -ENOMEM;
	return array__push(&entries->cies, cie);
}

/* Finds the CIE at @offset in the section. *@hint is the index of the last one found. */
static bool find_cie(const struct cfi_entries *entries, uint64_t offset, uint32_t *hint)
{
	size_t low = 0, high = entries->cies.n;

	if (*hint < high && entries->cies.data[*hint].offset == offset)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries->cies.data[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == entries->cies.n || entries->cies.data[low].offset != offset)
		return false;
	*hint = (uint32_t)low;
	return true;
}

/* The offset of the CIE of an FDE, whose id field has @size bytes. */
static uint64_t cie_offset(const struct cfi_section *section, struct entry *entry, uint8_t size)
{
	entry->id = read_id(entry, size);
	if (section->debug_frame)
		return entry->id;
	return entry->id_offset - entry->id;
}

/* Adds @entry if it is a usable FDE. 0 or -ENOMEM. */
static int add_fde(const struct cfi_section *section, struct cfi_entries *entries,
		   struct entry *entry, uint32_t *hint)
{
	uint8_t id_size = section->debug_frame && entry->wide ? 8 : 4;
	struct cursor *c = &entry->c;
	const struct cfi_cie *cie;
	struct cfi_fde fde = {};
	uint64_t begin, size;

	if (!find_cie(entries, cie_offset(section, entry, id_size), hint))
		return 0;
	cie = &entries->cies.data[*hint];
	if (cie->id_size > id_size)
		dwarf_read__uint32_t(c);
	begin = cfi__pointer(section, c, cie->encoding, 0);
	size = read_pointer(c, cie->encoding);
	if (cie->has_augmentation_size)
		dwarf_read__skip(c, dwarf_read__uleb(c));
	if (c->bad || !size || begin > UINT32_MAX || size > UINT32_MAX - begin)
		return 0;

	fde.begin = (uint32_t)begin;
	fde.end = (uint32_t)(begin + size);
	fde.program = (uint32_t)(c->at - section->data);
	fde.program_size = (uint32_t)cursor__left(c);
	fde.cie = *hint;
	if (entries->max && entries->fdes.n >= entries->max)
		return -ENOMEM;
	return array__push(&entries->fdes, fde);
}

int cfi__read(const struct cfi_section *section, struct cfi_entries *entries)
{
	struct entry entry;
	uint32_t hint = 0;
	int err = 0;

	*entries = (struct cfi_entries){.max = entries->max};
	/* CIEs first: in .debug_frame they may follow their FDEs. */
	for (size_t at = 0; !err && next_entry(section, &at, &entry);)
		err = add_cie(section, entries, &entry);
	for (size_t at = 0; !err && next_entry(section, &at, &entry);)
		err = add_fde(section, entries, &entry, &hint);
	return err;
}

void cfi__free(struct cfi_entries *entries)
{
	array__free(&entries->cies);
	array__free(&entries->fdes);
}
