// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/socket_owners.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LISTENS	      10
#define MAX_SPENT_NS  1000000000 /* in all */
#define MAX_KEPT      65536
#define MAX_SEARCH_NS 100000000 /* for one socket */

struct search {
	const struct event_object *socket;
	bool listens;
	uint64_t deadline;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_late(const struct search *search)
{
	return now_ns() >= search->deadline;
}

/* Whether @text, an address as in /proc/net/tcp or tcp6, is @address of @family. */
static bool is_address(const char *text, uint16_t family, const uint8_t address[16])
{
	int words = family == AF_INET ? 1 : 4;
	const char *at = text + strlen(text) - (size_t)words * 8;
	char hex[9];

	for (int i = 0; i < words; i++) {
		uint32_t word;

		memcpy(&word, address + (size_t)i * 4, sizeof(word));
		snprintf(hex, sizeof(hex), "%08" PRIX32, word);
		if (strncmp(at + (size_t)i * 8, hex, 8) != 0)
			return false;
	}
	return true;
}

/* Whether @line of /proc/net/tcp is the socket; sets *@inode. */
static bool is_wanted(const struct search *search, const char *line, uint64_t *inode)
{
	const struct event_object *socket = search->socket;
	size_t digits = socket->family == AF_INET ? 8 : 32;
	unsigned int local_port, peer_port, state;
	char local[40], peer[40];

	if (sscanf(line, " %*u: %39[0-9A-F]:%x %39[0-9A-F]:%x %x %*s %*s %*s %*u %*u %" SCNu64,
		   local, &local_port, peer, &peer_port, &state, inode) != 6 ||
	    strlen(local) < digits || strlen(peer) < digits || local_port != socket->peer_port)
		return false;
	if (search->listens)
		return state == LISTENS;
	return peer_port == socket->local_port && *inode &&
	       is_address(local, socket->family, socket->peer) &&
	       is_address(peer, socket->family, socket->local);
}

/* The inode of the socket at the other end, from file @name; 0: it is not there. */
static uint64_t find_inode(const struct search *search, uint32_t pid, const char *name)
{
	char path[64], line[512];
	uint64_t inode = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, name);
	file = fopen(path, "re");
	while (file && !inode && fgets(line, sizeof(line), file) && !is_late(search))
		if (!is_wanted(search, line, &inode))
			inode = 0;
	if (file)
		fclose(file);
	return inode;
}

/* Whether process @pid has the socket whose link is @wanted. */
static bool has_socket(const char *pid, const char *wanted)
{
	char path[300], link[64];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		found = !strcmp(link, wanted);
	}
	if (folder)
		closedir(folder);
	return found;
}

static void set_owner(struct socket_owner *owner, const char *pid)
{
	char path[64], text[DWELL_COMM_SIZE + 1] = "";
	FILE *file;

	owner->pid = (uint32_t)strtoul(pid, NULL, 10);
	snprintf(path, sizeof(path), "/proc/%u/comm", owner->pid);
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file))
		text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
	memcpy(owner->comm, text, sizeof(owner->comm));
}

/* The first process that has the socket of @inode, other than @not if there is another. */
static void find_process(const struct search *search, uint32_t not, uint64_t inode,
			 struct socket_owner *owner)
{
	struct dirent *entry;
	char wanted[64];
	DIR *folder = opendir("/proc");

	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", inode);
	while (folder && (!owner->pid || owner->pid == not ) && !is_late(search) &&
	       (entry = readdir(folder)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    has_socket(entry->d_name, wanted))
			set_owner(owner, entry->d_name);
	if (folder)
		closedir(folder);
}

static struct socket_owner search_for(struct socket_owners *owners, uint32_t pid,
				      const struct event_object *socket, bool listens)
{
	uint64_t begun = now_ns(), inode;
	struct search search = {socket, listens, begun + MAX_SEARCH_NS};
	struct socket_owner owner = {};

	if (!pid || pid & DWELL_PID_OUTSIDE || owners->spent_ns >= MAX_SPENT_NS)
		return owner;
	inode = find_inode(&search, pid, "tcp6");
	if (!inode && socket->family == AF_INET)
		inode = find_inode(&search, pid, "tcp");
	if (inode)
		find_process(&search, pid, inode, &owner);
	owners->spent_ns += now_ns() - begun;
	return owner;
}

struct socket_owner socket_owners__find(struct socket_owners *owners, uint32_t pid,
					const struct event_object *socket, bool listens)
{
	uint64_t key = hash__add(hash__add(listens, socket->peer_port), pid);
	const uint64_t *index;
	struct socket_owner none = {}, owner;

	/* The peer's port and address tell listeners apart; both ends, connections. */
	if (!listens)
		key = hash__add(key, socket->id);
	/* When no more is looked for, nothing more is kept. */
	index = owners->spent_ns < MAX_SPENT_NS && owners->found.n < MAX_KEPT
			? map64__put(&owners->known, key, owners->found.n)
			: map64__get(&owners->known, key);
	if (!index)
		return none;
	if (*index < owners->found.n)
		return owners->found.data[*index];
	owner = search_for(owners, pid, socket, listens);
	if (array__push(&owners->found, owner))
		map64__remove(&owners->known, key);
	return owner;
}

void socket_owners__free(struct socket_owners *owners)
{
	map64__free(&owners->known);
	array__free(&owners->found);
}
