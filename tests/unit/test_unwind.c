// SPDX-License-Identifier: BSD-2-Clause
/* Unwind tables of real files, against libdw's reading of the same information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "symbols/unwind/unwind_table.h"
#include "tests/unit/unwind_compare.h"

static char scratch[64];

static int scratch_make(void **state)
{
	strcpy(scratch, "/tmp/dwell-unwind-XXXXXX");
	elf_version(EV_CURRENT);
	return mkdtemp(scratch) ? 0 : -1;
}

static int __attribute__((format(printf, 1, 2))) run(const char *fmt, ...)
{
	char command[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

static int scratch_remove(void **state)
{
	return run("rm -rf %s", scratch);
}

/* A path in the scratch directory; four stay valid at a time. */
static const char *in_scratch(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

static struct unwind_table *build(const char *path)
{
	struct unwind_table *table = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(unwind_table__build(fd, &table), 0);
	return table;
}

static int build_error(const char *path)
{
	struct unwind_table *table = (void *)scratch;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = unwind_table__build(fd, &table);

	assert_ptr_equal(table, scratch); /* untouched */
	return err;
}

static bool same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->cfa == b->cfa && a->fp == b->fp && a->rule == b->rule;
}

static void check_order(const struct unwind_table *table)
{
	const struct unwind_row *rows = table->rows;

	assert_true(table->n_rows >= 2 && table->n_segments >= 1);
	for (size_t i = 1; i < table->n_rows; i++) {
		if (rows[i].pc <= rows[i - 1].pc || same_rule(&rows[i], &rows[i - 1]))
			fail_msg("rows %zu and %zu at %#x and %#x", i - 1, i, rows[i - 1].pc,
				 rows[i].pc);
	}
	assert_int_equal(UNWIND_CFA(&rows[table->n_rows - 1]), UNWIND_CFA_NONE);
}

static void check_find(const struct unwind_table *table)
{
	assert_null(unwind_rows__find(table->rows, table->n_rows, table->rows[0].pc - 1));
	for (size_t i = 0; i < table->n_rows; i += table->n_rows / 1000 + 1) {
		assert_ptr_equal(unwind_rows__find(table->rows, table->n_rows, table->rows[i].pc),
				 &table->rows[i]);
		if (i)
			assert_ptr_equal(unwind_rows__find(table->rows, table->n_rows,
							   table->rows[i].pc - 1),
					 &table->rows[i - 1]);
	}
	assert_ptr_equal(unwind_rows__find(table->rows, table->n_rows, UINT64_MAX),
			 &table->rows[table->n_rows - 1]);
}

static void check_segments(const struct unwind_table *table, Elf *elf)
{
	size_t n, found = 0;

	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		assert_non_null(gelf_getphdr(elf, (int)i, &p));
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		assert_true(found < table->n_segments);
		assert_int_equal(table->segments[found].offset, p.p_offset);
		assert_int_equal(table->segments[found].size, p.p_filesz);
		assert_int_equal(table->segments[found].bias, p.p_vaddr - p.p_offset);
		found++;
	}
	assert_int_equal(found, table->n_segments);
}

static void compare_with_libdw(const struct unwind_table *table, Elf *elf, Dwarf_CFI *cfi,
			       const char *name, size_t limit)
{
	size_t verdicts[VERDICTS] = {};

	check_order(table);
	check_find(table);
	check_segments(table, elf);
	compare_table(table, elf, cfi, limit, verdicts);
	print_message("%s: %zu rows; %zu same, %zu gaps, %zu unsupported, %zu refused\n", name,
		      table->n_rows, verdicts[VERDICT_SAME], verdicts[VERDICT_GAP],
		      verdicts[VERDICT_UNSUPPORTED], verdicts[VERDICT_REFUSED]);
	assert_int_equal(verdicts[VERDICT_DIFFERS], 0);
	assert_true(verdicts[VERDICT_SAME] >= table->n_rows / (table->n_rows / limit + 1));
	/* Frames on other registers: of code by hand, and in prologues that realign. */
	assert_true(verdicts[VERDICT_UNSUPPORTED] <
		    verdicts[VERDICT_SAME] / (table->n_rows < 100 ? 4 : 20) + 10);
	assert_true(verdicts[VERDICT_REFUSED] < 20);
}

/* @debug_frame: compare with .debug_frame instead of .eh_frame. */
static void compare_file(const char *path, size_t limit, bool debug_frame)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = build(path);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf *dwarf = debug_frame ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	Dwarf_CFI *cfi = debug_frame ? dwarf_getcfi(dwarf) : dwarf_getcfi_elf(elf);

	assert_non_null(cfi);
	compare_with_libdw(table, elf, cfi, strrchr(path, '/') + 1, limit);
	if (debug_frame)
		dwarf_end(dwarf);
	else
		dwarf_cfi_end(cfi);
	elf_end(elf);
}

static void installed_files_agree(void **state)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libgcrypt.so.20",
		"/usr/lib/x86_64-linux-gnu/libgfortran.so.5",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"/bin/bash",
		"/bin/sh",
		"/usr/bin/gdb",
		"/usr/bin/perf",
		"/usr/bin/python3",
		"/usr/bin/python3.11",
		"/usr/sbin/mariadbd",
		"/usr/bin/node",
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_close_ int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		char magic[4] = "";

		if (fd < 0 || read(fd, magic, 4) != 4 || memcmp(magic, ELFMAG, 4) != 0)
			continue;
		compare_file(paths[i], 20000, false);
		n++;
	}
	assert_true(n >= 4);
}

static void compiled_programs_agree(void **state)
{
	static const char *const flags[] = {
		"gcc -O0",
		"gcc -O2 -fomit-frame-pointer",
		"gcc -Os -fno-plt",
		"gcc -O2 -mstackrealign -no-pie",
		"gcc -O3 -march=x86-64-v3 -flto",
		"gcc -O2 -mcmodel=large -fcf-protection=full",
		"gcc -O2 -static",
		"gcc -O2 -static-pie",
		"gcc -O2 -fsplit-stack -Wl,-Ttext-segment=0x10000000 -no-pie",
		"gcc -O1 -mno-red-zone -Wl,--no-ld-generated-unwind-info",
		"gcc -O2 -fuse-ld=gold",
		"clang -O2 -fuse-ld=lld",
		"clang -O0",
		"clang -O2 -fno-omit-frame-pointer -mstackrealign",
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const char *path = in_scratch("compiled");

		if (run("%s -x c++ -w -o %s tests/data/unwind/frames.cc -lstdc++ 2>/dev/null",
			flags[i], path)) {
			print_message("%s: does not work here\n", flags[i]);
			assert_false(i < 4);
			continue;
		}
		print_message("%s: ", flags[i]);
		compare_file(path, 20000, false);
	}
}

/* .debug_frame: as it is, compressed in three ways, of DWARF 64 and with CIEs last. */
static void debug_frame_agrees(void **state)
{
	static const char *const flags[] = {
		"-gz=none", "-gz=zlib", "-gz=zlib-gnu", "-gz=zstd", "-gdwarf64", "-gdwarf-2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const char *path = in_scratch("debug");

		if (run("gcc -g -O2 -ffreestanding -nostdlib -fno-asynchronous-unwind-tables "
			"-fno-unwind-tables %s -w -o %s tests/data/unwind/plain.c -Wl,-e,entry "
			"2>/dev/null",
			flags[i], path)) {
			print_message("%s: does not work here\n", flags[i]);
			assert_true(i > 1);
			continue;
		}
		compare_file(path, 20000, true);
	}
}

/* Without section headers the table comes from PT_GNU_EH_FRAME, and lacks only _init and _fini. */
static void sections_are_not_needed(void **state)
{
	static const char *const flags[] = {"-O2", "-O2 -no-pie", "-O2 -static-pie"};
	static const uint64_t nothing;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		_cleanup_(unwind_table__freep) struct unwind_table *with = NULL;
		_cleanup_(unwind_table__freep) struct unwind_table *without = NULL;
		const char *path = in_scratch("sectionless");
		int fd;

		assert_int_equal(run("gcc %s -w -o %s tests/data/unwind/plain.c", flags[i], path),
				 0);
		with = build(path);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_int_equal(pwrite(fd, &nothing, 8, offsetof(Elf64_Ehdr, e_shoff)), 8);
		close(fd);
		without = build(path);
		assert_in_range(with->n_rows - without->n_rows, 6, 8);
		for (size_t k = 0; k < without->n_rows; k++) {
			const struct unwind_row *row = &without->rows[k];

			if (UNWIND_CFA(row) != UNWIND_CFA_NONE)
				assert_memory_equal(
					unwind_rows__find(with->rows, with->n_rows, row->pc), row,
					sizeof(*row));
		}
	}
}

/* Found by fuzzing: the rows of an entry and of what lies before it were twice the same. */
static void entry_joins_its_neighbour(void **state)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	const char *path = in_scratch("entry");

	assert_int_equal(
		run("gcc -nostdlib -static -Wl,-e,entry -o %s tests/data/unwind/entry.s", path), 0);
	table = build(path);
	check_order(table);
	check_find(table);
	assert_int_equal(UNWIND_CFA(&table->rows[0]), UNWIND_CFA_END);
	assert_int_equal(UNWIND_CFA(&table->rows[1]), UNWIND_CFA_SP);
}

static void vdso_agrees(void **state)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	size_t size;
	Dwarf_CFI *cfi;
	Elf *elf;

	if (!image)
		skip();
	size = header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr);
	assert_int_equal(unwind_table__build_memory(image, size, &table), 0);
	elf = elf_memory(image, size);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	compare_with_libdw(table, elf, cfi, "vdso", 100000);
	dwarf_cfi_end(cfi);
	elf_end(elf);
}

static size_t count_cfa(const struct unwind_table *table, enum unwind_cfa cfa)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n_rows; i++)
		n += UNWIND_CFA(&table->rows[i]) == cfa;
	return n;
}

/* The special rows are there, in the places known for them. */
static void special_rows_are_found(void **state)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	const struct unwind_row *row;
	const char *path = in_scratch("special");
	char line[64], command[256];
	FILE *nm;

	assert_int_equal(run("gcc -O2 -static -w -o %s tests/data/unwind/plain.c", path), 0);
	table = build(path);
	assert_int_equal(count_cfa(table, UNWIND_CFA_SIGNAL), 1);
	assert_true(count_cfa(table, UNWIND_CFA_END) >= 1);
	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" { print $1 }'", path,
			 i ? "_start" : "__restore_rt");
		nm = popen(command, "re");
		assert_non_null(fgets(line, sizeof(line), nm));
		pclose(nm);
		/* A return address is looked up one byte earlier. */
		row = unwind_rows__find(table->rows, table->n_rows, strtoull(line, NULL, 16) - !i);
		assert_non_null(row);
		assert_int_equal(UNWIND_CFA(row), i ? UNWIND_CFA_END : UNWIND_CFA_SIGNAL);
	}
}

static void others_are_refused(void **state)
{
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct unwind_table *table = NULL;

	assert_int_equal(run("echo hello > %s", in_scratch("text")), 0);
	assert_int_equal(build_error(in_scratch("text")), -ENOTSUP);
	assert_int_equal(run(": > %s", in_scratch("empty")), 0);
	assert_int_equal(build_error(in_scratch("empty")), -ENOTSUP);
	assert_int_equal(run("gcc -w -c -o %s tests/data/unwind/plain.c", in_scratch("object")), 0);
	assert_int_equal(build_error(in_scratch("object")), -ENOTSUP);
	assert_int_equal(run("gcc -w -o %s tests/data/unwind/plain.c && strip %s && "
			     "objcopy -R .eh_frame -R .eh_frame_hdr %s",
			     in_scratch("bare"), in_scratch("bare"), in_scratch("bare")),
			 0);
	assert_int_equal(build_error(in_scratch("bare")), -ENOENT);
	assert_int_equal(run("gcc -w -o %s tests/data/unwind/plain.c && "
			     "objcopy --only-keep-debug %s",
			     in_scratch("debug-only"), in_scratch("debug-only")),
			 0);
	assert_int_equal(build_error(in_scratch("debug-only")), -ENOENT);
	assert_int_equal(run("gcc -w -no-pie -nostdlib -ffreestanding -mcmodel=large "
			     "-Wl,-Ttext-segment=0x200000000,-e,entry -o %s "
			     "tests/data/unwind/plain.c",
			     in_scratch("high")),
			 0);
	assert_int_equal(build_error(in_scratch("high")), -ENOTSUP);
	assert_int_equal(unwind_table__build(null, &table), -ENOTSUP);
	assert_int_equal(unwind_table__build(-1, &table), -EINVAL);
	assert_int_equal(unwind_table__build_memory("", 0, &table), -ENOTSUP);
	assert_null(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installed_files_agree),
		cmocka_unit_test(compiled_programs_agree),
		cmocka_unit_test(debug_frame_agrees),
		cmocka_unit_test(sections_are_not_needed),
		cmocka_unit_test(entry_joins_its_neighbour),
		cmocka_unit_test(vdso_agrees),
		cmocka_unit_test(special_rows_are_found),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
