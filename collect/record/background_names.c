// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/background_names.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/thread.h"
#include "collect/kernel/symbol_lookup.h"
#include "collect/record/name_source.h"

#define MAX_ADDRESSES 2000 /* that are asked for at once */
#define MAX_SOURCES   1000 /* then the namer begins anew, as it does when it had nothing to do */
#define UNUSED_S      5	   /* for so long: it keeps what it has read of files */
#define FOREVER_S     1000000

/* The addresses of one origin in a request. */
struct origin_request {
	struct code_origin origin; /* its strings are those of struct addresses */
	bool is_kernel;
	struct name_source found; /* its descriptor is a copy */
	size_t first;
	size_t n;
};

struct found_name {
	size_t origin; /* in origins */
	uint64_t address;
	const char *name; /* valid while names is */
};

enum request_state {
	REQUEST_NONE,
	REQUEST_MADE,	  /* it is the thread's */
	REQUEST_ANSWERED, /* it is the recorder's again */
};

struct background_names {
	struct privsep *privsep;
	pthread_t thread;
	pthread_mutex_t lock; /* for state, stop, and which names there are */
	pthread_cond_t wake;
	enum request_state state;
	bool stop;
	struct names *names; /* the thread's; NULL: none */
	struct symbols_bpf *kernel;
	size_t sources; /* of names */
	ARRAY(struct kept_address) wanted;
	ARRAY(struct unnamed_address) addresses; /* the same */
	ARRAY(struct origin_request) origins;
	ARRAY(struct found_name) found;
	size_t next; /* in the kept addresses of the recording */
};

static int kernel_name(void *context, uint64_t address, char *name, size_t size)
{
	return symbol_lookup__name(context, address, name, size);
}

/* 0 or -errno. */
static int open_names(struct background_names *background)
{
	struct symbolizer_options options = {};
	struct names *names;
	int err;

	background->kernel = symbol_lookup__open();
	options.kernel_name = background->kernel ? kernel_name : NULL;
	options.context = background->kernel;
	err = names__new(background->privsep, &options, &names);
	if (err)
		return err;
	names__run_in_background(names);
	pthread_mutex_lock(&background->lock);
	background->names = names;
	if (background->stop)
		names__cancel(names);
	pthread_mutex_unlock(&background->lock);
	return 0;
}

static void close_names(struct background_names *background)
{
	struct names *names = background->names;

	pthread_mutex_lock(&background->lock);
	background->names = NULL;
	pthread_mutex_unlock(&background->lock);
	names__free(names);
	symbol_lookup__close(background->kernel);
	background->kernel = NULL;
	background->sources = 0;
}

/* The names of an origin's addresses are being found. */
struct finding {
	struct background_names *background;
	size_t origin;
};

static int on_names(void *arg, size_t index, const struct symbol_frame *frames, size_t n)
{
	const struct finding *finding = arg;
	struct background_names *background = finding->background;
	const struct origin_request *origin = &background->origins.data[finding->origin];
	struct found_name found = {
		.origin = finding->origin,
		.address = background->addresses.data[origin->first + index].address,
		.name = frames[n - 1].name,
	};

	return *found.name ? array__push(&background->found, found) : 0;
}

/* Finds what was asked for, as far as that goes: the end of the recording tells what is wrong. */
static void answer(struct background_names *background)
{
	if (background->sources >= MAX_SOURCES)
		close_names(background);
	if (!background->names && open_names(background))
		return;
	for (size_t i = 0; i < background->origins.n; i++) {
		struct origin_request *origin = &background->origins.data[i];
		struct finding finding = {background, i};
		int source;

		if (*origin->found.root)
			origin->found.source.root = origin->found.root;
		if (!origin->is_kernel)
			origin->found.source.build_id = origin->origin.build_id;
		source = names__add_source(background->names, &origin->found.source);
		background->sources++;
		if (source < 0 || names__resolve(background->names, source,
						 background->addresses.data + origin->first,
						 origin->n, on_names, &finding))
			return;
	}
}

/* Waits for a request, or the end. */
static void wait_for_request(struct background_names *background)
{
	while (background->state != REQUEST_MADE && !background->stop) {
		struct timespec until;
		int err;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += background->names ? UNUSED_S : FOREVER_S;
		err = pthread_cond_timedwait(&background->wake, &background->lock, &until);
		if (err != ETIMEDOUT || !background->names || background->state != REQUEST_NONE)
			continue;
		pthread_mutex_unlock(&background->lock);
		close_names(background);
		pthread_mutex_lock(&background->lock);
	}
}

static void *find_names(void *arg)
{
	struct background_names *background = arg;

	pthread_mutex_lock(&background->lock);
	while (!background->stop) {
		wait_for_request(background);
		if (background->stop)
			break;
		pthread_mutex_unlock(&background->lock);
		answer(background);
		pthread_mutex_lock(&background->lock);
		background->state = REQUEST_ANSWERED;
	}
	pthread_mutex_unlock(&background->lock);
	return NULL;
}

int background_names__start(struct privsep *privsep, struct background_names **out)
{
	struct background_names *background = calloc(1, sizeof(*background));
	pthread_condattr_t attributes;
	int err;

	if (!background)
		return -ENOMEM;
	background->privsep = privsep;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&background->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&background->lock, NULL);
	err = thread__start(&background->thread, find_names, background);
	if (err) {
		free(background);
		return err;
	}
	*out = background;
	return 0;
}

static enum request_state state_of(struct background_names *background)
{
	enum request_state state;

	pthread_mutex_lock(&background->lock);
	state = background->state;
	pthread_mutex_unlock(&background->lock);
	return state;
}

static void set_state(struct background_names *background, enum request_state state)
{
	pthread_mutex_lock(&background->lock);
	background->state = state;
	pthread_cond_signal(&background->wake);
	pthread_mutex_unlock(&background->lock);
}

/* Ends a request. */
static void clear(struct background_names *background)
{
	for (size_t i = 0; i < background->origins.n; i++)
		if (background->origins.data[i].found.source.fd >= 0)
			close(background->origins.data[i].found.source.fd);
	background->wanted.n = background->addresses.n = 0;
	background->origins.n = background->found.n = 0;
}

static int write_names(const struct background_names *background, struct record_stream *stream)
{
	int err = 0;

	for (size_t i = 0; i < background->found.n && !err; i++) {
		const struct found_name *found = &background->found.data[i];
		const struct origin_request *origin = &background->origins.data[found->origin];
		struct record record = {.type = RECORD_FUNCTION};

		record.function = (struct record_function){
			.dso = name_source__dso(stream, origin->is_kernel ? NULL : &origin->origin),
			.address = found->address,
			.name = record_stream__string(stream, found->name),
		};
		err = record_stream__put(stream, &record);
	}
	return err;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct kept_address *x = a, *y = b;

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->data - y->data;
}

/* Takes the addresses that came since the last request. False: there are none. */
static bool take_addresses(struct background_names *background, const struct addresses *addresses)
{
	size_t n = addresses->kept.n - background->next;

	if (n > MAX_ADDRESSES)
		n = MAX_ADDRESSES;
	if (!n || array__reserve(&background->wanted, n) ||
	    array__reserve(&background->addresses, n))
		return false;
	memcpy(background->wanted.data, addresses->kept.data + background->next,
	       n * sizeof(*background->wanted.data));
	background->wanted.n = n;
	background->next += n;
	qsort(background->wanted.data, n, sizeof(*background->wanted.data), compare_addresses);
	return true;
}

/* Adds the addresses wanted[@first...] of one origin to the request; @n of them. */
static void add_origin(struct background_names *background, const struct addresses *addresses,
		       const struct address_spaces *spaces, size_t first, size_t n)
{
	uint32_t index = background->wanted.data[first].origin;
	struct origin_request added = {
		.is_kernel = index == ADDRESSES_KERNEL, .first = background->addresses.n, .n = n};
	int *fd = &added.found.source.fd;

	added.origin = addresses->origins.data[index];
	if ((!added.is_kernel && added.origin.kind == CODE_GENERATED) ||
	    !name_source__find(spaces, added.is_kernel ? NULL : &addresses->origins.data[index],
			       &added.found) ||
	    array__reserve(&background->origins, 1))
		return;
	if (*fd >= 0)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	for (size_t i = first; i < first + n; i++)
		background->addresses.data[background->addresses.n++] = (struct unnamed_address){
			background->wanted.data[i].address, background->wanted.data[i].data};
	background->origins.data[background->origins.n++] = added;
}

static bool make_request(struct background_names *background, const struct addresses *addresses,
			 const struct address_spaces *spaces)
{
	if (!take_addresses(background, addresses))
		return false;
	for (size_t i = 0, n; i < background->wanted.n; i += n) {
		const struct kept_address *wanted = &background->wanted.data[i];

		for (n = 1; i + n < background->wanted.n && wanted[n].origin == wanted->origin;)
			n++;
		add_origin(background, addresses, spaces, i, n);
	}
	return background->origins.n;
}

int background_names__tick(struct background_names *background, const struct addresses *addresses,
			   const struct address_spaces *spaces, struct record_stream *stream)
{
	enum request_state state = state_of(background);
	int err = 0;

	if (state == REQUEST_MADE)
		return 0;
	if (state == REQUEST_ANSWERED)
		err = write_names(background, stream);
	clear(background);
	set_state(background,
		  make_request(background, addresses, spaces) ? REQUEST_MADE : REQUEST_NONE);
	return err;
}

void background_names__stop(struct background_names *background)
{
	if (!background)
		return;
	pthread_mutex_lock(&background->lock);
	background->stop = true;
	if (background->names)
		names__cancel(background->names);
	pthread_cond_signal(&background->wake);
	pthread_mutex_unlock(&background->lock);
	pthread_join(background->thread, NULL);
	close_names(background);
	clear(background);
	array__free(&background->wanted);
	array__free(&background->addresses);
	array__free(&background->origins);
	array__free(&background->found);
	pthread_cond_destroy(&background->wake);
	pthread_mutex_destroy(&background->lock);
	free(background);
}
