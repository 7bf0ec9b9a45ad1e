// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf/source_path.h"

#include <stdio.h>
#include <string.h>

/* Removes the last component of the first *@n characters of @path, unless it is "..". */
static bool drop_last_component(char *path, size_t *n, size_t root)
{
	size_t at = *n;

	while (at > root && path[at - 1] != '/')
		at--;
	if (at == *n || (*n - at == 2 && !strncmp(path + at, "..", 2)))
		return false;
	*n = at > root ? at - 1 : at;
	return true;
}

void source_path__normalize(char *path)
{
	size_t root = path[0] == '/';
	const char *from = path;
	size_t n = root;

	while (*from) {
		size_t part = strcspn(from, "/");

		if (part == 2 && !strncmp(from, "..", 2) &&
		    (drop_last_component(path, &n, root) || root))
			part = 0;
		if (part && !(part == 1 && *from == '.')) {
			if (n > root)
				path[n++] = '/';
			memmove(path + n, from, part);
			n += part;
		}
		from += strcspn(from, "/");
		from += *from == '/';
	}
	path[n] = '\0';
}

bool source_path__join(const char *unit_directory, const char *directory, const char *name,
		       char *path, size_t size)
{
	int n;

	if (name[0] == '/' || !directory)
		directory = "";
	if (name[0] == '/' || directory[0] == '/' || !unit_directory)
		unit_directory = "";
	n = snprintf(path, size, "%s%s%s%s%s", unit_directory, *unit_directory ? "/" : "",
		     directory, *directory ? "/" : "", name);
	if (n < 0 || (size_t)n >= size)
		return false;
	source_path__normalize(path);
	return true;
}

bool source_path__ends(const char *path, const char *end)
{
	size_t n = strlen(path);
	size_t m = strlen(end);

	if (m > n || strcmp(path + n - m, end) != 0)
		return false;
	return m == n || path[n - m - 1] == '/';
}
