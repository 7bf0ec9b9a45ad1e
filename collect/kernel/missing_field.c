// SPDX-License-Identifier: BSD-2-Clause
#include "collect/kernel/missing_field.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/*
 * libbpf: "failed to resolve CO-RE relocation <byte_off> [24] struct task_struct.on_rq (0:5 @
 * offset 36)". A flavor of a structure ("task_struct___before_5_16") is not part of its name.
 */
bool missing_field__parse(const char *text, char *field, size_t size)
{
	static const char relocation[] = "failed to resolve CO-RE relocation <", type[] = "] ";
	const char *at = strstr(text, relocation), *members;
	int name;

	at = at ? strstr(at, type) : NULL;
	if (!at)
		return false;
	at += strlen(type);
	name = (int)strcspn(at, ".(");
	members = at + name;
	for (int i = 0; i < name; i++)
		if (!strncmp(at + i, "___", 3))
			name = i;
	snprintf(field, size, "%.*s%.*s", name, at, (int)strcspn(members, " ("), members);
	return true;
}

int missing_field__error(int err, const char *field)
{
	int type = (int)strcspn(field, ".");

	error__set(err, "this kernel's %.*s has no '%s' as dwell knows it", type, field,
		   field[type] ? field + type + 1 : "");
	error__hint(
		"dwell knows Linux 5.15 to 7.2; a newer version of it may know what has become of\n"
		"that field");
	return err;
}
