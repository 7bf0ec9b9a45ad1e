// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/targets.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

const char *targets__name(enum capture_target target)
{
	static const char *const names[] = {
		[CAPTURE_COMMAND] = "command", [CAPTURE_PROCESSES] = "processes",
		[CAPTURE_THREADS] = "threads", [CAPTURE_SYSTEM] = "system",
		[CAPTURE_CGROUP] = "cgroup",
	};

	return names[target];
}

/* The process that thread @tid belongs to; 0 when there is no such thread. */
static pid_t process_of(pid_t tid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[128];
	pid_t tgid = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	return tgid;
}

int targets__check(enum capture_target target, const pid_t *ids, size_t n_ids)
{
	const char *noun = target == CAPTURE_THREADS ? "thread" : "process";

	for (size_t i = 0; i < n_ids; i++) {
		pid_t process = process_of(ids[i]);

		if (!process) {
			error__set(-ESRCH, "there is no %s %d", noun, ids[i]);
			error__hint("`ps -eLf` lists processes and threads");
			return -ESRCH;
		}
		if (target == CAPTURE_PROCESSES && process != ids[i]) {
			error__set(-ESRCH, "%d is a thread of process %d", ids[i], process);
			error__hint("-p %d records the process, -t %d just this thread", process,
				    ids[i]);
			return -ESRCH;
		}
	}
	return 0;
}

static void each_in_proc(void (*process)(void *arg, uint32_t pid), void *arg)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (pid && (pid_t)pid != getpid())
			process(arg, (uint32_t)pid);
	}
}

/* A cgroup and those below it, which are its subdirectories. */
static void each_in_cgroup(const char *cgroup, void (*process)(void *arg, uint32_t pid), void *arg)
{
	_cleanup_closedir_ DIR *dir = opendir(cgroup);
	_cleanup_fclose_ FILE *file = NULL;
	const struct dirent *entry;
	char path[PATH_MAX];
	uint32_t pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	file = fopen(path, "re");
	while (file && fscanf(file, "%" SCNu32, &pid) == 1)
		process(arg, pid);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", cgroup, entry->d_name);
		each_in_cgroup(path, process, arg);
	}
}

void targets__each_process(enum capture_target target, const pid_t *ids, size_t n_ids,
			   const char *cgroup, void (*process)(void *arg, uint32_t pid), void *arg)
{
	for (size_t i = 0; i < n_ids; i++)
		process(arg, (uint32_t)process_of(ids[i]));
	if (target == CAPTURE_SYSTEM)
		each_in_proc(process, arg);
	if (target == CAPTURE_CGROUP)
		each_in_cgroup(cgroup, process, arg);
}

int targets__cgroup_id(const char *path, uint64_t *id)
{
	struct statfs fs;
	struct stat stats;

	if (statfs(path, &fs) || stat(path, &stats))
		return error__errno(-errno, "cannot find the cgroup '%s'", path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		error__set(-EINVAL, "'%s' is no cgroup of version 2", path);
		error__hint(
			"give its directory, such as /sys/fs/cgroup/system.slice/mysql.service");
		return -EINVAL;
	}
	*id = stats.st_ino;
	return 0;
}
