// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/name_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "privsep/fetcher_wire.h"
#include "privsep/opener.h"

struct name_files {
	struct privsep *privsep;
	const char *debug_root;
	bool fetch;
	struct privsep_child fetcher;
	uint64_t fetch_left; /* ns */
	struct buffer request;
	struct wire_message message;
};

int name_files__new(struct privsep *privsep, bool fetch, const char *debug_root,
		    struct name_files **out)
{
	struct name_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->privsep = privsep;
	files->debug_root = debug_root;
	files->fetch = fetch;
	files->fetcher = (struct privsep_child)PRIVSEP_NO_CHILD;
	files->fetch_left = FETCH_ALL_NS;
	*out = files;
	return 0;
}

/* Sends the file of descriptor @fd, which may be O_PATH, to the namer. As opener__open(). */
static int pass(struct name_files *files, int fd, int socket, struct found_file *found)
{
	struct open_request request = {.fd = fd, .to = socket, .result = -1};

	files->request.n = 0;
	buffer__varint(&files->request, NAMES_FILE);
	buffer__varint(&files->request, 0);
	if (files->request.failed)
		return -ENOMEM;
	request.message = files->request.data;
	request.size = files->request.n;
	return opener__open(privsep__opener(files->privsep), &request, found);
}

static int find(struct name_files *files, const char *root, const char *path, bool no_follow,
		struct found_file *found)
{
	const struct open_request request = {
		.path = path, .root = root, .no_follow = no_follow, .to = -1, .result = -1};

	return opener__open(privsep__opener(files->privsep), &request, found);
}

static int pass_path(struct name_files *files, struct namer_source *source,
		     const struct symbol_file_request *request, int socket, uint64_t *size)
{
	const char *root = request->outside ? NULL : source->source.root;
	struct found_file found = {.fd = -1};
	char path[PATH_MAX];
	int err =
		symbol_file__path(&source->source, files->debug_root, request, path, sizeof(path));

	if (!err)
		err = find(files, root, path, false, &found);
	if (err)
		return err;
	if (request->kind != SYMBOL_FILE_PROGRAM &&
	    !found_file__is_shared(&found,
				   source->has_program ? (int64_t)source->program_owner : -1))
		err = -EACCES;
	if (!err)
		err = pass(files, found.fd, socket, NULL);
	if (!err && request->kind == SYMBOL_FILE_PROGRAM) {
		source->program_owner = found.owner;
		source->has_program = true;
	}
	*size = found.size;
	close(found.fd);
	return err;
}

static int pass_mapped(struct name_files *files, struct namer_source *source, int socket,
		       uint64_t *size)
{
	struct found_file found = {.fd = -1};
	int err = source->source.fd < 0 ? -ENOENT : pass(files, source->source.fd, socket, &found);

	if (err)
		return err;
	source->program_owner = found.owner;
	source->has_program = true;
	*size = found.size;
	return 0;
}

static int pass_jit_map(struct name_files *files, const struct symbol_source *source, int socket,
			uint64_t *size)
{
	uint32_t owner = symbol_file__jit_owner(source->pid, source->owner);
	struct jit_map_place places[JIT_MAP_PLACES];
	size_t n = symbol_file__jit_places(source->root, source->pid, places);
	int err = -ENOENT;

	for (size_t i = 0; i < n; i++) {
		const char *root = *places[i].root ? places[i].root : NULL;
		struct found_file found = {.fd = -1};
		int result = find(files, root, places[i].path, true, &found);

		if (!result && found.owner && found.owner != owner)
			result = -EPERM;
		if (!result)
			result = pass(files, found.fd, socket, NULL);
		*size = found.size;
		if (found.fd >= 0)
			close(found.fd);
		if (!result)
			return 0;
		if (result == -EPERM || result == -ELOOP)
			err = result;
	}
	return err;
}

/* Asks the fetcher, which sends the file to @socket. */
static int ask_fetcher(struct name_files *files, const struct symbol_file_request *request,
		       int socket, uint64_t until)
{
	struct wire_message *message = &files->message;
	struct cursor cursor;
	int err = files->fetcher.socket < 0
			  ? privsep__spawn(files->privsep, PRIVSEP_FETCHER, &files->fetcher)
			  : 0;

	if (err)
		return err;
	files->request.n = 0;
	buffer__varint(&files->request, request->kind == SYMBOL_FILE_FETCH_PROGRAM);
	wire__put_string(&files->request, request->name);
	err = files->request.failed ? -ENOMEM
				    : wire__send(files->fetcher.socket, files->request.data,
						 files->request.n, &socket, 1);
	if (!err)
		err = wire__receive(files->fetcher.socket, until, 0, message);
	if (err) {
		privsep__kill(&files->fetcher);
		files->fetch = false;
		return err;
	}
	cursor = (struct cursor){.at = message->data, .end = message->data + message->size};
	return -(int)wire__number(&cursor, 4095);
}

static int fetch(struct name_files *files, const struct symbol_file_request *request, int socket)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC), spent;
	uint64_t limit = files->fetch_left < FETCH_NS ? files->fetch_left : FETCH_NS;
	int err;

	if (!symbol_file__is_build_id(request->name))
		return -EINVAL;
	if (!files->fetch || !limit)
		return -ENOENT;
	err = ask_fetcher(files, request, socket, begin + limit);
	spent = now_ns(CLOCK_MONOTONIC) - begin;
	files->fetch_left -= spent < files->fetch_left ? spent : files->fetch_left;
	return err;
}

int name_files__pass(struct name_files *files, struct namer_source *source,
		     const struct symbol_file_request *request, int socket, uint64_t *size)
{
	*size = 0;
	switch (request->kind) {
	case SYMBOL_FILE_MAPPED:
		return pass_mapped(files, source, socket, size);
	case SYMBOL_FILE_JIT_MAP:
		return source->source.kind == SYMBOL_SOURCE_JIT
			       ? pass_jit_map(files, &source->source, socket, size)
			       : -EINVAL;
	case SYMBOL_FILE_FETCH_DEBUG:
	case SYMBOL_FILE_FETCH_PROGRAM:
		return fetch(files, request, socket);
	default:
		return pass_path(files, source, request, socket, size);
	}
}

void name_files__free(struct name_files *files)
{
	privsep__dismiss(&files->fetcher);
	buffer__free(&files->request);
	free(files);
}
