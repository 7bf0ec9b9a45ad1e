// SPDX-License-Identifier: BSD-2-Clause
#include "base/owner.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

/* An id in the environment; false when there is none, or no number. */
static bool id_from(const char *variable, unsigned long *id)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || !*text || *text == '-')
		return false;
	errno = 0;
	*id = strtoul(text, &end, 10);
	return !errno && !*end && *id < (uid_t)-1;
}

bool owner__caller(uid_t *uid, gid_t *gid)
{
	const struct passwd *user;
	unsigned long id, group;

	if (geteuid())
		return false;
	if (id_from("SUDO_UID", &id) && id_from("SUDO_GID", &group)) {
		*uid = (uid_t)id;
		*gid = (gid_t)group;
		return true;
	}
	if (!id_from("PKEXEC_UID", &id))
		return false;
	user = getpwuid((uid_t)id);
	*uid = (uid_t)id;
	*gid = user ? user->pw_gid : (gid_t)-1;
	return true;
}

int owner__give(int fd)
{
	uid_t uid;
	gid_t gid;

	if (!owner__caller(&uid, &gid))
		return 0;
	return fchown(fd, uid, gid) ? -errno : 0;
}
