// SPDX-License-Identifier: BSD-2-Clause
/* The probe of a real program and copies of the program that are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "symbols/elf/usdt.h"

#define NOP 0x90

static const char source[] = "#include \"tests/programs/common/probe.h\"\n"
			     "PROBE_SEMAPHORE(met);\n"
			     "int main(void) { PROBE(dwell, met); if (met_semaphore)"
			     " PROBE(dwell, met); PROBE(other, met); }";

static uint8_t *image;
static size_t image_size;

static int make_image(void **state)
{
	char path[] = "/tmp/dwell-usdt-XXXXXX", command[256];
	_cleanup_close_ int fd = mkstemp(path);
	struct stat stats;
	FILE *compiler;

	snprintf(command, sizeof(command), "gcc -I. -w -x c -o %s -", path);
	compiler = popen(command, "w");
	if (fd < 0 || !compiler)
		return -1;
	fputs(source, compiler);
	if (pclose(compiler))
		return -1;
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (fd < 0 || fstat(fd, &stats))
		return -1;
	image_size = (size_t)stats.st_size;
	image = malloc(image_size);
	return image && read(fd, image, image_size) == stats.st_size ? 0 : -1;
}

static int free_image(void **state)
{
	free(image);
	return 0;
}

static int open_bytes(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static size_t count(int fd, const char *provider, const char *name)
{
	struct usdt_places places = {};
	int err = usdt__find(fd, provider, name, &places);
	size_t n = places.places.n;

	assert_int_equal(err, n ? 0 : -ENOENT);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(image[places.places.data[i].offset], NOP);
		assert_true(places.places.data[i].semaphore > 0);
	}
	array__free(&places.places);
	return n;
}

static void finds_all_places(void **state)
{
	_cleanup_close_ int fd = open_bytes(image, image_size);

	assert_int_equal(count(fd, "dwell", "met"), 2);
	assert_int_equal(count(fd, "other", "met"), 1);
	assert_int_equal(count(fd, NULL, "met"), 3);
	assert_int_equal(count(fd, "dwell", "me"), 0);
	assert_int_equal(count(fd, "dwel", "met"), 0);
}

static bool add_one(void *arg, const char *provider, const char *name)
{
	size_t *n = arg;

	assert_string_equal(name, "met");
	assert_true(!strcmp(provider, "dwell") || !strcmp(provider, "other"));
	++*n;
	return *n == 2;
}

static void lists_until_told(void **state)
{
	_cleanup_close_ int fd = open_bytes(image, image_size);
	size_t n = 0;

	usdt__each(fd, add_one, &n);
	assert_int_equal(n, 2);
}

static void is_no_elf_file(void **state)
{
	static const uint8_t text[] = "#!/bin/sh\n";
	_cleanup_close_ int fd = open_bytes(text, sizeof(text));
	struct usdt_places places = {};

	assert_int_equal(usdt__find(fd, NULL, "met", &places), -ENOEXEC);
}

/* Eight bytes anywhere are others, or the end is missing: ASan has its say. */
static void survives_damage(void **state)
{
	uint8_t *copy = malloc(image_size);
	uint64_t random = 88172645463325252ULL;

	assert_non_null(copy);
	for (int i = 0; i < 3000; i++) {
		struct usdt_places places = {};
		size_t size = image_size;
		int fd;

		memcpy(copy, image, image_size);
		for (int j = 0; j < 8; j++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			copy[random % image_size] = (uint8_t)(random >> 32);
		}
		if (i % 3 == 0)
			size = random % image_size;
		fd = open_bytes(copy, size);
		usdt__find(fd, NULL, "met", &places);
		assert_true(places.places.n <= 3);
		array__free(&places.places);
		close(fd);
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_all_places),
		cmocka_unit_test(lists_until_told),
		cmocka_unit_test(is_no_elf_file),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, make_image, free_image);
}
