// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/debug_path.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/* Copies @path, which is absolute, without empty components, . and .. */
static bool clean_path(const char *path, char clean[PATH_MAX])
{
	size_t used = 0;

	if (path[0] != '/')
		return false;
	while (*path) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 2 && !strncmp(path, "..", 2)) {
			while (used && clean[--used] != '/')
				;
		} else if (length && (length != 1 || *path != '.')) {
			if (used + length + 2 > PATH_MAX)
				return false;
			clean[used++] = '/';
			memcpy(clean + used, path, length);
			used += length;
		}
		path += length;
	}
	clean[used] = '\0';
	return used;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

/* Whether the file @name says that it is the debug file of the program @program. */
static bool is_named_so(const char *program, const char *name)
{
	static const char *const ends[] = {".debug", ".dbg", ".sym"};

	if (!*name || *name == '.' || strchr(name, '/'))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends_with(name, ends[i]))
			return true;
	return !strncmp(name, program, strlen(program));
}

/* Whether @path is beside the program, or in .debug there. */
static bool is_beside(const char *program, const char *path)
{
	static const char inside[] = ".debug/";
	const char *slash = strrchr(program, '/');
	size_t length;

	if (!slash || !slash[1])
		return false;
	length = (size_t)(slash + 1 - program);
	if (strncmp(path, program, length) != 0)
		return false;
	path += length;
	if (!strncmp(path, inside, strlen(inside)))
		path += strlen(inside);
	return is_named_so(slash + 1, path);
}

bool debug_path__is_allowed(const char *program, const char *path, char clean[PATH_MAX])
{
	return clean_path(path, clean) &&
	       (!strncmp(clean, DEBUG_ROOT "/", strlen(DEBUG_ROOT "/")) ||
		strstr(clean, "/.dwz/") || ends_with(clean, ".dwo") || is_beside(program, clean));
}
