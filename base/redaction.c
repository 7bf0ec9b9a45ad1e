// SPDX-License-Identifier: BSD-2-Clause
#include "base/redaction.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buffer.h"
#include "base/error.h"

#define NUMBER_BITS 48
#define KEPT_DIGITS 3

/* Between the words of a name. */
#define SEPARATORS " (),<>[]{}=\"'"

int redaction__init(struct redaction *redaction)
{
	if (getrandom(redaction->key, sizeof(redaction->key), 0) == sizeof(redaction->key))
		return 0;
	return error__errno(-errno, "cannot make a key for --redact");
}

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

/* SipHash-2-4: Aumasson and Bernstein, 2012. */
static uint64_t hash(const struct redaction *redaction, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t v[4] = {
		redaction->key[0] ^ 0x736f6d6570736575, redaction->key[1] ^ 0x646f72616e646f6d,
		redaction->key[0] ^ 0x6c7967656e657261, redaction->key[1] ^ 0x7465646279746573};
	uint64_t word = (uint64_t)size << 56;

	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t whole = 0;

		for (size_t k = 0; k < 8; k++)
			whole |= (uint64_t)bytes[i + k] << 8 * k;
		sip_word(v, whole);
	}
	for (size_t i = size & ~(size_t)7; i < size; i++)
		word |= (uint64_t)bytes[i] << 8 * (i & 7);
	sip_word(v, word);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t redaction__number(const struct redaction *redaction, uint64_t number)
{
	uint64_t redacted = hash(redaction, &number, sizeof(number)) >> (64 - NUMBER_BITS);

	return number && !redacted ? 1 : number ? redacted : 0;
}

/* "PREFIX-HASH", then @suffix. */
static char *name_of(const struct redaction *redaction, const char *prefix, const char *text,
		     size_t size, int digits, const char *suffix)
{
	uint64_t value = hash(redaction, text, size) >> (64 - 4 * digits);
	char *name;

	return asprintf(&name, "%s-%0*" PRIx64 "%s", prefix, digits, value, suffix) < 0 ? NULL
											: name;
}

char *redaction__path(const struct redaction *redaction, const char *path)
{
	if (!*path || *path == '[')
		return strdup(path);
	return name_of(redaction, "file", path, strlen(path), 12, "");
}

char *redaction__thread(const struct redaction *redaction, const char *name)
{
	size_t n = strlen(name), digits = 0;
	char suffix[KEPT_DIGITS + 2] = "";

	if (!n || *name == '[')
		return strdup(name);
	while (digits < n && isdigit((unsigned char)name[n - 1 - digits]))
		digits++;
	if (digits == n || digits > KEPT_DIGITS)
		digits = 0;
	if (digits)
		snprintf(suffix, sizeof(suffix), "-%s", name + n - digits);
	return name_of(redaction, "thread", name, n - digits, 8, suffix);
}

char *redaction__address(const struct redaction *redaction, const char *address)
{
	const char *colon = strrchr(address, ':');

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] ||
	    strchr(address, '/'))
		return redaction__path(redaction, address);
	return name_of(redaction, "address", address, (size_t)(colon - address), 12, colon);
}

/* The length of ":12" or ":12:3" at the end of the word; 0: there is none. */
static size_t place_length(const char *word, size_t n)
{
	size_t found = 0;

	for (size_t at = n; at;) {
		while (at && isdigit((unsigned char)word[at - 1]))
			at--;
		if (at == n - found || !at || word[at - 1] != ':')
			break;
		found = n - --at;
	}
	return found;
}

/* Where the name of a file begins in the word, which ends with @n bytes; @n: nowhere. */
static size_t file_begin(const char *word, size_t n, size_t place)
{
	if (n > 5 && !strncmp(word, "unix:", 5))
		return 5;
	if (!strncmp(word, "tcp:", 4))
		return n > 4 ? 4 : n;
	if (n > 4 && !strncmp(word, "py::", 4)) {
		const char *colon = memrchr(word + 4, ':', n - 4);

		return colon ? (size_t)(colon - word) + 1 : n;
	}
	for (size_t i = 0; i + 1 < n; i++)
		if (word[i] == '/' && (!i || strchr(":~*=@", word[i - 1])))
			return i;
	return place ? 0 : n;
}

static void put_word(const struct redaction *redaction, struct buffer *to, const char *word,
		     size_t n)
{
	size_t place = place_length(word, n), begin = file_begin(word, n - place, place);
	char *file;

	if (begin >= n - place) {
		buffer__put(to, word, n);
		return;
	}
	file = name_of(redaction, "file", word + begin, n - place - begin, 12, "");
	to->failed |= !file;
	if (begin)
		buffer__put(to, word, begin);
	if (file)
		buffer__put(to, file, strlen(file));
	if (place)
		buffer__put(to, word + n - place, place);
	free(file);
}

char *redaction__name(const struct redaction *redaction, const char *name)
{
	struct buffer to = {};

	while (*name) {
		size_t n = strcspn(name, SEPARATORS);

		if (n)
			put_word(redaction, &to, name, n);
		name += n;
		n = strspn(name, SEPARATORS);
		if (n)
			buffer__put(&to, name, n);
		name += n;
	}
	buffer__put(&to, "", 1);
	if (!to.failed)
		return (char *)to.data;
	buffer__free(&to);
	return NULL;
}
