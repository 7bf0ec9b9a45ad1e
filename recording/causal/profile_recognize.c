// SPDX-License-Identifier: BSD-2-Clause
/* Checking that a file is a causal profile, and recognizing what else it is. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "recording/causal/profile_lines.h"
#include "recording/file_type.h"
#include "recording/format.h"

#define OUR_BEGIN "{\"type\":\"run\",\"version\":"

#define HINT_COZ "Coz's own viewer shows it: coz plot"

/* Other text formats, and recordings. */
static const struct {
	const char *begin;
	const char *what;
	const char *hint;
} file_types[] = {
	{"startup\ttime=", "a profile of Coz", HINT_COZ},
	{"experiment\tselected=", "a profile of Coz", HINT_COZ},
	{"{\"type\":\"startup\"", "a profile of Coz (JSON)", HINT_COZ},
	{"{\"type\":\"experiment\",\"selected\"", "a profile of Coz (JSON)", HINT_COZ},
	{FORMAT_MAGIC, "a recording, not a causal profile",
	 "Recordings are shown by dwell report, dwell waits and dwell script.\n" CAUSAL_HINT_RUN},
};

static int refuse(const char *path, const char *what, const char *hint)
{
	error__set(-EINVAL, "%s is %s", path, what);
	error__hint("%s", hint);
	return -EINVAL;
}

int causal_profile__refuse_newer(const char *path)
{
	error__set(-EINVAL, "%s has runs of a newer version of dwell", path);
	error__hint("This one knows profiles up to version %d. Use the newer dwell, or another "
		    "file.",
		    CAUSAL_FORMAT_VERSION);
	return -EINVAL;
}

/* Checks the version; @at points to it. */
static int recognize_own(const char *path, const char *at, const char *end)
{
	unsigned int version = 0;

	for (; at < end && *at >= '0' && *at <= '9' && version < 1000; at++)
		version = 10 * version + (unsigned int)(*at - '0');
	return version > CAUSAL_FORMAT_VERSION ? causal_profile__refuse_newer(path) : 0;
}

static bool begins(const char *at, const char *end, const char *begin)
{
	size_t n = strlen(begin);

	return (size_t)(end - at) >= n && !memcmp(at, begin, n);
}

int causal_profile__recognize(const char *path, const char *head, size_t size)
{
	const char *at = head, *end = head + size;
	const struct file_type *type;

	for (size_t i = 0; i < ARRAY_SIZE(file_types); i++)
		if (begins(head, end, file_types[i].begin))
			return refuse(path, file_types[i].what, file_types[i].hint);
	/* The first line may have been cut by a full disk. */
	while (at) {
		if (begins(at, end, OUR_BEGIN))
			return recognize_own(path, at + strlen(OUR_BEGIN), end);
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!size)
		return 0;
	type = file_type__recognize(head, size);
	if (type && type->bytes && type->bytes[0] == '{')
		return refuse(path, "a JSON document, not a causal profile", CAUSAL_HINT_RUN);
	return refuse(path, type ? type->what : "no causal profile", CAUSAL_HINT_RUN);
}
