// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/function_patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* The colon between FILE and PATTERN: not one of a C++ name's "::". NULL: there is no FILE. */
static char *find_colon(char *text)
{
	char *colon = strchr(text, ':');

	return colon && colon != text && colon[1] != ':' ? colon : NULL;
}

static int add_one(struct function_patterns *patterns, const char *text, size_t length)
{
	struct function_pattern *pattern = array__add(&patterns->patterns);
	_cleanup_free_ char *copy = strndup(text, length);
	char *colon, *name;

	if (!pattern || !copy)
		return -ENOMEM;
	pattern->text = strdup(copy);
	colon = find_colon(copy);
	name = colon ? colon + 1 : copy;
	if (colon) {
		*colon = '\0';
		pattern->file = strdup(copy);
	}
	pattern->name = strdup(name);
	pattern->is_pattern = strpbrk(name, "*?[");
	if (!pattern->text || !pattern->name || (colon && !pattern->file))
		return -ENOMEM;
	if (*name)
		return 0;
	error__set(-EINVAL, "'%s' names no function", pattern->text);
	error__hint("give names or patterns, of any file or of one: ngx_http_*,libssl*:SSL_read");
	return -EINVAL;
}

int function_patterns__add(struct function_patterns *patterns, const char *text)
{
	int err;

	do {
		size_t length = strcspn(text, ",");

		err = add_one(patterns, text, length);
		text += length;
	} while (!err && *text++);
	return err;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool function_pattern__is_in(const struct function_pattern *pattern, const char *path)
{
	static const char *const common[] = {"libc.so*",    "libc-*",	"ld-linux*", "ld-*.so*",
					     "libpthread*", "ld-musl*", "libc.musl*"};
	const char *name = last_component(path);

	if (pattern->file)
		return !fnmatch(pattern->file, name, 0);
	for (size_t i = 0; pattern->is_pattern && i < ARRAY_SIZE(common); i++)
		if (!fnmatch(common[i], name, 0))
			return false;
	return true;
}

bool function_patterns__concern(const struct function_patterns *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->patterns.n; i++)
		if (function_pattern__is_in(&patterns->patterns.data[i], path))
			return true;
	return false;
}

void function_patterns__free(struct function_patterns *patterns)
{
	for (size_t i = 0; i < patterns->patterns.n; i++) {
		free(patterns->patterns.data[i].text);
		free(patterns->patterns.data[i].file);
		free(patterns->patterns.data[i].name);
	}
	array__free(&patterns->patterns);
}
