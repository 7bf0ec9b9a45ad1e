// SPDX-License-Identifier: BSD-2-Clause
/* What a file is that should be a causal profile. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "recording/causal/profile_lines.h"
#include "recording/foreign.h"
#include "recording/format.h"

#define OUR_BEGIN "{\"type\":\"run\",\"version\":"

#define MEND_COZ "Coz's own viewer shows it: coz plot"

/* What looks alike. */
static const struct {
	const char *begin;
	const char *what;
	const char *mend;
} foreigners[] = {
	{"startup\ttime=", "a profile of Coz", MEND_COZ},
	{"experiment\tselected=", "a profile of Coz", MEND_COZ},
	{"{\"type\":\"startup\"", "a profile of Coz (JSON)", MEND_COZ},
	{"{\"type\":\"experiment\",\"selected\"", "a profile of Coz (JSON)", MEND_COZ},
	{FORMAT_MAGIC, "a recording, not a causal profile",
	 "Recordings are shown by dwell report, dwell waits and dwell script.\n" CAUSAL_MEND_RUN},
};

static int refuse(const char *path, const char *what, const char *mend)
{
	error__set(-EINVAL, "%s is %s", path, what);
	error__hint("%s", mend);
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

/* @at is behind OUR_BEGIN. */
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
	const struct foreign *foreign;

	for (size_t i = 0; i < ARRAY_SIZE(foreigners); i++)
		if (begins(head, end, foreigners[i].begin))
			return refuse(path, foreigners[i].what, foreigners[i].mend);
	/* The first line may be one that a full disk cut. */
	while (at) {
		if (begins(at, end, OUR_BEGIN))
			return recognize_own(path, at + strlen(OUR_BEGIN), end);
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!size)
		return 0;
	foreign = foreign__recognize(head, size);
	if (foreign && foreign->bytes && foreign->bytes[0] == '{')
		return refuse(path, "a JSON document, not a causal profile", CAUSAL_MEND_RUN);
	return refuse(path, foreign ? foreign->what : "no causal profile", CAUSAL_MEND_RUN);
}
