// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables of damaged files: whatever comes in, what comes out keeps the
 * promises of unwind_table.h, and is bounded by the size of the file.
 */
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
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/hash.h"
#include "symbols/unwind/unwind_table.h"
#include "tests/unit/hang.h"

/* A real ELF file in memory. */
struct image {
	uint8_t *bytes;
	size_t size;
};

static struct image plain;	/* with .eh_frame */
static struct image compressed; /* with compressed .debug_frame */

static int image_compile(struct image *image, const char *flags)
{
	char path[] = "/tmp/dwell-unwind-XXXXXX", command[512];
	_cleanup_close_ int fd = mkstemp(path);
	_cleanup_close_ int built = -1;
	struct stat st;

	snprintf(command, sizeof(command),
		 "gcc -O2 -w -ffreestanding -nostdlib -Wl,-e,entry -Wl,-z,noseparate-code %s "
		 "-o %s tests/data/unwind/plain.c",
		 flags, path);
	if (fd < 0 || system(command))
		return -1;
	built = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (built < 0 || fstat(built, &st))
		return -1;
	image->size = (size_t)st.st_size;
	image->bytes = malloc(image->size);
	return read(built, image->bytes, image->size) == st.st_size ? 0 : -1;
}

static int images_make(void **state)
{
	hang__limit(300); /* a hang is a fault, too */
	return image_compile(&plain, "") ||
	       image_compile(&compressed, "-fno-asynchronous-unwind-tables -g -gz=zlib");
}

static int images_free(void **state)
{
	free(plain.bytes);
	free(compressed.bytes);
	return 0;
}

static void check_promises(const struct unwind_table *table, size_t limit)
{
	assert_true(table->n_rows >= 2 && table->n_rows <= limit);
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct unwind_row *a = &table->rows[i], *b = a - 1;

		assert_true(UNWIND_CFA(a) <= UNWIND_CFA_FP_SWITCH);
		assert_true(UNWIND_FP(a) <= UNWIND_FP_FRAME);
		if (i &&
		    (a->pc <= b->pc || (a->cfa == b->cfa && a->fp == b->fp && a->rule == b->rule)))
			fail();
	}
	assert_int_equal(UNWIND_CFA(&table->rows[table->n_rows - 1]), UNWIND_CFA_NONE);
	assert_true(table->n_segments >= 1);
}

/* Builds from a copy that ends where its memory ends; says whether it was a table. */
static bool try_image(const uint8_t *bytes, size_t size)
{
	struct unwind_table *table = NULL;
	uint8_t *copy = malloc(size ? size : 1);
	int err;

	memcpy(copy, bytes, size);
	err = unwind_table__build_memory(copy, size, &table);
	free(copy);
	if (err) {
		assert_null(table);
		assert_true(err == -ENOENT || err == -ENOTSUP || err == -EINVAL || err == -ENOMEM);
		return false;
	}
	/* Compressed sections grow, by their format's best at most. */
	check_promises(table, size * 1100);
	unwind_table__free(table);
	return true;
}

static void every_truncation(void **state)
{
	size_t tables = 0;

	for (size_t size = 0; size < plain.size; size++)
		tables += try_image(plain.bytes, size);
	assert_true(tables > 0 && tables < plain.size);
	for (size_t size = 0; size < compressed.size; size++)
		try_image(compressed.bytes, size);
	assert_true(try_image(plain.bytes, plain.size));
	assert_true(try_image(compressed.bytes, compressed.size));
}

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return hash__mix(*state);
}

/* Where section @name of the undamaged @image is. */
static const Elf64_Shdr *find_section(const struct image *image, const char *name)
{
	const Elf64_Ehdr *h = (const void *)image->bytes;
	const Elf64_Shdr *sections = (const void *)(image->bytes + h->e_shoff);
	const char *names = (const char *)image->bytes + sections[h->e_shstrndx].sh_offset;

	for (size_t i = 0; i < h->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	fail();
	return NULL;
}

static void damage(uint8_t *bytes, size_t offset, size_t size, uint64_t *seed)
{
	static const uint64_t values[] = {0,	  1,	      0x7f,	  0x80, 0xff,
					  0xffff, 0x7fffffff, 0xffffffff, ~0ULL};
	size_t n = 1 + next_random(seed) % 6;

	while (n--) {
		size_t at = offset + next_random(seed) % size;
		size_t width = 1ULL << next_random(seed) % 4;
		uint64_t value =
			next_random(seed) % 2 ? next_random(seed) : values[next_random(seed) % 9];

		if (width > offset + size - at)
			width = offset + size - at;
		memcpy(bytes + at, &value, width);
	}
}

/* Thousands of files with damage in @offset..+@size, within some seconds. */
static size_t fuzz(const struct image *image, size_t offset, size_t size, uint64_t seed)
{
	_cleanup_free_ uint8_t *bytes = malloc(image->size);
	struct timespec start, now;
	size_t tables = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < 8000; i++) {
		memcpy(bytes, image->bytes, image->size);
		damage(bytes, offset, size, &seed);
		tables += try_image(bytes, image->size);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - start.tv_sec > 5)
			break;
	}
	return tables;
}

static void damaged_frames(void **state)
{
	const Elf64_Shdr *frames = find_section(&plain, ".eh_frame");
	const Elf64_Shdr *packed = find_section(&compressed, ".debug_frame");

	assert_true(fuzz(&plain, frames->sh_offset, frames->sh_size, 1) > 100);
	fuzz(&compressed, packed->sh_offset, packed->sh_size, 2);
}

static void damaged_headers(void **state)
{
	const Elf64_Ehdr *h = (const void *)plain.bytes;
	const Elf64_Shdr *header = find_section(&plain, ".eh_frame_hdr");
	struct image without = {.bytes = malloc(plain.size), .size = plain.size};

	fuzz(&plain, 0, sizeof(*h) + h->e_phnum * sizeof(Elf64_Phdr), 3);
	fuzz(&plain, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr), 4);
	fuzz(&compressed, 16, sizeof(*h) - 16, 5);
	/* Through PT_GNU_EH_FRAME */
	memcpy(without.bytes, plain.bytes, plain.size);
	((Elf64_Ehdr *)without.bytes)->e_shoff = 0;
	assert_true(try_image(without.bytes, without.size));
	fuzz(&without, header->sh_offset, header->sh_size, 6);
	fuzz(&without, 0, sizeof(*h) + h->e_phnum * sizeof(Elf64_Phdr), 7);
	free(without.bytes);
}

/* A file that shrinks, grows and changes between two builds. */
static void files_that_are_cut_short(void **state)
{
	char path[] = "/tmp/dwell-unwind-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	struct unwind_table *table = NULL;

	unlink(path);
	assert_int_equal(write(fd, plain.bytes, plain.size), plain.size);
	assert_int_equal(unwind_table__build(fd, &table), 0);
	check_promises(table, plain.size);
	unwind_table__free(table);
	for (size_t size = plain.size; size > 100; size -= size / 50 + 1) {
		table = NULL;
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		if (!unwind_table__build(fd, &table))
			check_promises(table, plain.size);
		unwind_table__free(table);
	}
}

/* Nothing, behind headers that say that all of it is .eh_frame. */
static void holes_are_not_read(void **state)
{
	static const uint64_t sizes[] = {8ULL << 40, 512ULL << 20};
	const Elf64_Ehdr *h = (const void *)plain.bytes;
	const Elf64_Shdr *frames = find_section(&plain, ".eh_frame");
	char path[] = "/tmp/dwell-unwind-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);

	unlink(path);
	assert_int_equal(write(fd, plain.bytes, plain.size), plain.size);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct unwind_table *table = NULL;
		Elf64_Shdr huge = *frames;

		if (ftruncate(fd, (off_t)sizes[i]))
			continue; /* the file system has a smaller limit */
		huge.sh_size = sizes[i] - huge.sh_offset;
		assert_int_equal(pwrite(fd, &huge, sizeof(huge),
					(off_t)h->e_shoff + ((const uint8_t *)frames - plain.bytes -
							     (off_t)h->e_shoff)),
				 sizeof(huge));
		assert_int_equal(unwind_table__build(fd, &table), -EINVAL);
		assert_null(table);
	}
}

static void tables_are_bounded(void **state)
{
	char path[] = "/tmp/dwell-unwind-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	struct unwind_table *table = NULL, *same = NULL;

	unlink(path);
	assert_int_equal(write(fd, plain.bytes, plain.size), plain.size);
	assert_int_equal(unwind_table__build(fd, &table), 0);
	assert_int_equal(unwind_table__build_within(fd, 1, &same), -ENOMEM);
	assert_int_equal(unwind_table__build_within(fd, table->n_rows, &same), 0);
	assert_int_equal(same->n_rows, table->n_rows);
	unwind_table__free(same);
	unwind_table__free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_truncation),   cmocka_unit_test(damaged_frames),
		cmocka_unit_test(damaged_headers),    cmocka_unit_test(files_that_are_cut_short),
		cmocka_unit_test(holes_are_not_read), cmocka_unit_test(tables_are_bounded),
	};

	return cmocka_run_group_tests(tests, images_make, images_free);
}
