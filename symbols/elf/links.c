// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/links.h"

#include <limits.h>
#include <string.h>

#include "symbols/elf/elf_file.h"

/* Whether @name is a function that loads a library or executes a program. */
static bool is_loader(const char *name)
{
	static const char *const names[] = {"dlopen", "dlmopen", "system", "popen", "fexecve"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "exec", 4) || !strncmp(name, "posix_spawn", 11);
}

static bool imports_loader(const struct elf_file *file)
{
	GElf_Shdr shdr;
	Elf_Scn *section = elf_file__section(file, ".dynsym", &shdr);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	if (!data || !shdr.sh_entsize)
		return true;
	for (size_t i = 0; i < shdr.sh_size / shdr.sh_entsize && i < INT_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		name = elf_strptr(file->elf, shdr.sh_link, symbol.st_name);
		if (symbol.st_shndx == SHN_UNDEF && name && is_loader(name))
			return true;
	}
	return false;
}

int elf_links__each(int fd, bool *loads, elf_link_fn each, void *arg)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	int err = elf_file__share(fd, "", &file);
	GElf_Shdr shdr;
	Elf_Scn *section;
	Elf_Data *data;

	if (err)
		return err;
	section = elf_file__section(file, ".dynamic", &shdr);
	data = section ? elf_getdata(section, NULL) : NULL;
	*loads = !data || imports_loader(file);
	for (size_t i = 0; data && shdr.sh_entsize && i < shdr.sh_size / shdr.sh_entsize; i++) {
		enum elf_link_kind kind = ELF_LINK_RUN_PATH;
		const char *text;
		GElf_Dyn entry;

		if (i >= INT_MAX || !gelf_getdyn(data, (int)i, &entry))
			break;
		if (entry.d_tag == DT_NEEDED)
			kind = ELF_LINK_NEEDED;
		else if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH)
			continue;
		text = elf_strptr(file->elf, shdr.sh_link, entry.d_un.d_val);
		if (text && each(arg, kind, text))
			break;
	}
	return 0;
}
