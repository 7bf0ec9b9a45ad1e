// SPDX-License-Identifier: BSD-2-Clause
#include "recording/byte_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/format.h"

#define WINDOW (64u << 10)

int64_t byte_source__read(const struct byte_source *source, uint64_t offset, void *to, size_t size)
{
	size_t done = 0;

	if (offset >= source->size)
		return 0;
	if (size > source->size - offset)
		size = (size_t)(source->size - offset);
	if (source->fd < 0) {
		memcpy(to, source->memory + offset, size);
		return (int64_t)size;
	}
	while (done < size) {
		ssize_t n =
			pread(source->fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (int64_t)done;
}

/* Whether the @n bytes begin with a valid chunk header or trailer. */
static bool is_marker(const uint8_t *bytes, size_t n)
{
	struct chunk_header header;
	struct trailer trailer;

	if (n >= CHUNK_HEADER_SIZE && chunk_header__unpack(bytes, &header))
		return true;
	return n >= TRAILER_SIZE && trailer__unpack(bytes, &trailer);
}

/* The first chunk header or trailer in the @n bytes that begins below @last, or NULL. */
static const uint8_t *find_in_window(const uint8_t *window, size_t n, size_t last)
{
	const uint8_t *at = window;

	for (;;) {
		at = memmem(at, n - (size_t)(at - window), FORMAT_SYNC, FORMAT_SYNC_SIZE);
		if (!at || (size_t)(at - window) >= last)
			return NULL;
		if (is_marker(at, n - (size_t)(at - window)))
			return at;
		at++;
	}
}

int byte_source__find_marker(const struct byte_source *source, uint64_t from, uint64_t *found)
{
	_cleanup_free_ uint8_t *window = malloc(WINDOW + CHUNK_HEADER_SIZE);

	if (!window)
		return -ENOMEM;
	/* Windows overlap by a header, so that none is missed at a boundary. */
	for (;;) {
		int64_t n = byte_source__read(source, from, window, WINDOW + CHUNK_HEADER_SIZE);
		const uint8_t *at;
		bool is_last;

		if (n < 0)
			return (int)n;
		is_last = n < (int64_t)(WINDOW + CHUNK_HEADER_SIZE);
		at = find_in_window(window, (size_t)n, is_last ? (size_t)n : WINDOW);
		if (at) {
			*found = from + (uint64_t)(at - window);
			return 1;
		}
		if (is_last)
			return 0;
		from += WINDOW;
	}
}
