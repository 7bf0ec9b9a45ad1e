// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/usdt.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "symbols/elf/elf_file.h"

#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3
#define NUMBERS	  3 /* of 64 bits: addresses of the probe, .stapsdt.base, the semaphore */

struct probe {
	uint64_t address;
	uint64_t base; /* address of .stapsdt.base when the note was written */
	uint64_t semaphore;
	const char *provider;
	const char *name;
};

typedef bool (*each_probe_fn)(void *arg, const struct probe *probe);

/* The string at *@at, which advances behind it; NULL if it is not terminated. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at;
	const char *zero = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

	if (zero)
		*at = zero + 1;
	return zero ? text : NULL;
}

static bool read_probe(const char *from, size_t size, struct probe *probe)
{
	const char *at = from + NUMBERS * sizeof(uint64_t), *end = from + size;
	uint64_t numbers[NUMBERS];

	if (size < sizeof(numbers))
		return false;
	memcpy(numbers, from, sizeof(numbers));
	probe->address = numbers[0];
	probe->base = numbers[1];
	probe->semaphore = numbers[2];
	probe->provider = take_text(&at, end);
	probe->name = probe->provider ? take_text(&at, end) : NULL;
	return probe->name;
}

static void each_probe(const struct elf_file *file, each_probe_fn each, void *arg)
{
	Elf_Scn *section = elf_file__section(file, ".note.stapsdt", NULL);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t offset = 0, next, name, text;
	GElf_Nhdr note;

	while (data && data->d_buf && (next = gelf_getnote(data, offset, &note, &name, &text))) {
		const char *bytes = data->d_buf;
		struct probe probe;

		offset = next;
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(bytes + name, NOTE_NAME, sizeof(NOTE_NAME)) &&
		    read_probe(bytes + text, note.n_descsz, &probe) && each(arg, &probe))
			return;
	}
}

struct search {
	const struct elf_file *file;
	const char *provider;
	const char *name;
	uint64_t base; /* address of .stapsdt.base; 0: unknown */
	struct usdt_places *places;
	int err;
};

static bool take_place(void *arg, const struct probe *probe)
{
	struct search *search = arg;
	/* prelink moves code without updating the notes. */
	uint64_t moved = search->base && probe->base ? search->base - probe->base : 0;
	struct usdt_place place = {.address = probe->address + moved};

	if (strcmp(probe->name, search->name) != 0 ||
	    (search->provider && strcmp(probe->provider, search->provider) != 0) ||
	    elf_file__offset(search->file, place.address, &place.offset))
		return false;
	if (probe->semaphore &&
	    elf_file__offset(search->file, probe->semaphore + moved, &place.semaphore))
		return false;
	search->err = array__push(&search->places->places, place);
	return search->err;
}

int usdt__find(int fd, const char *provider, const char *name, struct usdt_places *places)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	size_t before = places->places.n;
	GElf_Shdr base;
	struct search search = {.provider = provider, .name = name, .places = places};
	int err = elf_file__share(fd, "", &file);

	if (err)
		return err;
	search.file = file;
	if (elf_file__section(file, ".stapsdt.base", &base))
		search.base = base.sh_addr;
	each_probe(file, take_place, &search);
	if (search.err)
		return search.err;
	return places->places.n > before ? 0 : -ENOENT;
}

struct listing {
	bool (*each)(void *arg, const char *provider, const char *name);
	void *arg;
};

static bool list_probe(void *arg, const struct probe *probe)
{
	const struct listing *listing = arg;

	return listing->each(listing->arg, probe->provider, probe->name);
}

void usdt__each(int fd, bool (*each)(void *arg, const char *provider, const char *name), void *arg)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	struct listing listing = {each, arg};

	if (!elf_file__share(fd, "", &file))
		each_probe(file, list_probe, &listing);
}
