// SPDX-License-Identifier: BSD-2-Clause
#include "base/invoking_user.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads an id from the environment; false if it is not set or not a number. */
static bool read_id(const char *variable, unsigned long *id)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || !*text || *text == '-')
		return false;
	errno = 0;
	*id = strtoul(text, &end, 10);
	return !errno && !*end && *id < (uid_t)-1;
}

bool invoking_user__get(uid_t *uid, gid_t *gid)
{
	const struct passwd *user;
	unsigned long id, group;

	if (geteuid())
		return false;
	if (read_id("SUDO_UID", &id) && read_id("SUDO_GID", &group)) {
		*uid = (uid_t)id;
		*gid = (gid_t)group;
		return true;
	}
	if (!read_id("PKEXEC_UID", &id))
		return false;
	user = getpwuid((uid_t)id);
	*uid = (uid_t)id;
	*gid = user ? user->pw_gid : (gid_t)-1;
	return true;
}

bool invoking_user__is(uid_t uid)
{
	uid_t invoking;
	gid_t gid;

	return invoking_user__get(&invoking, &gid) && invoking == uid;
}

int invoking_user__chown(int fd)
{
	uid_t uid;
	gid_t gid;

	if (!invoking_user__get(&uid, &gid))
		return 0;
	return fchown(fd, uid, gid) ? -errno : 0;
}
