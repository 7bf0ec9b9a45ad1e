// SPDX-License-Identifier: BSD-2-Clause
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"

#define ENOUGH_FDS 4096
#define MIB	   (1 << 20)

static struct {
	struct rlimit before;
	int resource;
	bool raised;
} limits[] = {
	{.resource = RLIMIT_NOFILE},
	{.resource = RLIMIT_MEMLOCK},
	{.resource = RLIMIT_AS},
	{.resource = RLIMIT_DATA},
};

void limits__raise(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit limit, higher;

		if (limits[i].raised || getrlimit(limits[i].resource, &limit))
			continue;
		limits[i].before = higher = limit;
		higher.rlim_cur = limit.rlim_max;
		limits[i].raised = !setrlimit(limits[i].resource, &higher);
		if (limits[i].resource != RLIMIT_NOFILE || limit.rlim_max >= ENOUGH_FDS)
			continue;
		higher.rlim_cur = higher.rlim_max = ENOUGH_FDS;
		limits[i].raised |= !setrlimit(RLIMIT_NOFILE, &higher); /* CAP_SYS_RESOURCE */
	}
}

void limits__restore(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (limits[i].raised)
			(void)setrlimit(limits[i].resource, &limits[i].before);
}

/* The present limit; RLIM_INFINITY: there is none. */
static rlim_t limit_of(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

/* Where limits of memory are, by version of control groups. */
static const struct cgroup_version {
	const char *
		list; /* how the line of the group in /proc/self/cgroup begins, behind its number */
	const char *folder;
	const char *file;
} cgroup_versions[] = {
	{"::/", "/sys/fs/cgroup", "memory.max"},
	{":memory:/", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
};

/* The limit that @file of @group has; 0: none. */
static uint64_t group_limit(const struct cgroup_version *version, const char *group)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX];
	uint64_t limit = 0;

	if (snprintf(path, sizeof(path), "%s%s/%s", version->folder, group, version->file) >=
	    (int)sizeof(path))
		return 0;
	file = fopen(path, "re");
	if (!file || fscanf(file, "%" SCNu64, &limit) != 1)
		return 0;
	return limit < 1ULL << 60 ? limit : 0; /* version 1 has a large number for none */
}

/* The lowest limit of this process's control group @group, and those above it; 0: none. */
static uint64_t cgroup_memory(char *group, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = 0, limit;
	char line[PATH_MAX];

	while (file && fgets(line, sizeof(line), file)) {
		const char *list = line + strcspn(line, ":");

		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(cgroup_versions); i++) {
			const struct cgroup_version *version = &cgroup_versions[i];
			char *at = line + (list - line) + strlen(version->list) - 1;

			if (strncmp(list, version->list, strlen(version->list)) != 0)
				continue;
			for (; *at; *strrchr(at, '/') = '\0') {
				limit = group_limit(version, at);
				if (!limit || (least && limit >= least))
					continue;
				least = limit;
				snprintf(group, size, "%.200s", at);
			}
		}
	}
	return least;
}

static void explain_memory(char *text, size_t size)
{
	rlim_t space = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
	char group[256] = "";
	uint64_t bytes = cgroup_memory(group, sizeof(group));

	if (space != RLIM_INFINITY)
		snprintf(text, size,
			 "the address space is limited to %" PRIu64
			 " MiB (ulimit -v). Raise that:\n"
			 "ulimit -v unlimited",
			 (uint64_t)space / MIB);
	else if (data != RLIM_INFINITY)
		snprintf(text, size,
			 "the data segment is limited to %" PRIu64 " MiB (ulimit -d). Raise that:\n"
			 "ulimit -d unlimited",
			 (uint64_t)data / MIB);
	else if (bytes)
		snprintf(text, size,
			 "the control group %s may use %" PRIu64 " MiB of memory. Raise that, or\n"
			 "use less: a smaller buffer (-m) and less --table-memory",
			 group, bytes / MIB);
	else
		snprintf(text, size,
			 "the machine has no memory left for it. A smaller buffer (-m) and less\n"
			 "--table-memory need less");
}

void limits__explain(int err, char *text, size_t size)
{
	text[0] = '\0';
	if (err == -EMFILE)
		snprintf(text, size,
			 "a process may have %" PRIu64 " open files here (ulimit -n). Raise that:\n"
			 "ulimit -n %d (a service: LimitNOFILE=%d, docker: --ulimit nofile=%d)",
			 (uint64_t)limit_of(RLIMIT_NOFILE), ENOUGH_FDS, ENOUGH_FDS, ENOUGH_FDS);
	else if (err == -ENFILE)
		snprintf(text, size,
			 "the machine has as many open files as it may have. Raise that:\n"
			 "sysctl fs.file-max");
	else if (err == -ENOMEM)
		explain_memory(text, size);
}
