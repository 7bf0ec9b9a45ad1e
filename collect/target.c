// SPDX-License-Identifier: BSD-2-Clause
#include "collect/target.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"

const char *target__name(enum session_target target)
{
	static const char *const names[] = {
		[SESSION_COMMAND] = "command", [SESSION_PROCESSES] = "processes",
		[SESSION_THREADS] = "threads", [SESSION_SYSTEM] = "system",
		[SESSION_CGROUP] = "cgroup",
	};

	return names[target];
}

/* /proc/TID exists for any thread, but /proc/PID/task/PID only below a process. */
static bool exists(enum session_target target, pid_t id)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", id);
	if (access(path, F_OK))
		return false;
	if (target == SESSION_THREADS)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/status", id);
	return !access(path, F_OK);
}

int target__check(enum session_target target, const pid_t *ids, size_t n_ids)
{
	const char *noun = target == SESSION_THREADS ? "thread" : "process";

	for (size_t i = 0; i < n_ids; i++) {
		if (exists(target, ids[i]))
			continue;
		error__set(-ESRCH, "there is no %s %d", noun, ids[i]);
		error__hint("`ps -eLf` lists processes and threads");
		return -ESRCH;
	}
	return 0;
}

int target__cgroup_id(const char *path, uint64_t *id)
{
	struct statfs fs;
	struct stat stats;

	if (statfs(path, &fs) || stat(path, &stats))
		return error__errno(-errno, "cannot find the cgroup '%s'", path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		error__set(-EINVAL, "'%s' is no cgroup of version 2", path);
		error__hint("give its directory, such as /sys/fs/cgroup/system.slice/mysql.service");
		return -EINVAL;
	}
	*id = stats.st_ino;
	return 0;
}
