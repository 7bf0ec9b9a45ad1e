/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with something wrong in them, the same on every run. */
#pragma once

#include "tests/unit/hang.h"
#include "tests/unit/rounds.h"
#include "tests/unit/test_symbols_support.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Only a hang takes this long. */
#define SECONDS	    20
#define MOST_MEMORY (768 << 10) /* KiB */

struct image {
	uint8_t *bytes;
	size_t size;
	struct segment code;
};

static inline struct image read_image(const char *path)
{
	struct image image = {.code = read_code(path)};
	FILE *file = fopen(path, "re");
	struct stat st;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	image.size = (size_t)st.st_size;
	image.bytes = malloc(image.size);
	assert_int_equal(fread(image.bytes, 1, image.size, file), image.size);
	fclose(file);
	return image;
}

/* Changes @bytes in one of several ways; returns the size that is left. */
static inline size_t damage(uint8_t *bytes, size_t size, uint64_t *random)
{
	/* Headers are at both ends, and most damage elsewhere goes unnoticed. */
	size_t head = size < 1024 ? size : 1024;
	unsigned int kind = next_random(random) % 8;
	size_t from = next_random(random) % size;
	size_t to = next_random(random) % size;
	size_t n = next_random(random) % 256;

	for (unsigned int i = 0; i < 1U << next_random(random) % 6; i++) {
		size_t at = next_random(random) % (kind < 6 ? size : head);

		if (kind == 6)
			at = size - 1 - at;
		bytes[at] = kind % 2 ? (uint8_t)next_random(random)
				     : bytes[at] ^ (uint8_t)(1 << next_random(random) % 8);
	}
	if (kind == 3 && from + n <= size && to + n <= size)
		memmove(bytes + to, bytes + from, n);
	if (kind == 4 && to + n <= size)
		memset(bytes + to, next_random(random) % 2 ? 0xff : 0, n);
	return kind == 5 ? from : size;
}

static inline int file_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static inline void check_memory(void)
{
#ifndef SANITIZED
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	assert_true(usage.ru_maxrss < MOST_MEMORY);
#endif
}
