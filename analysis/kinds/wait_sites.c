// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/wait_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stack_hashes.h"

/* Local ports of clients, by default: net.ipv4.ip_local_port_range. */
#define EPHEMERAL_PORT 32768

/* Functions of the C library that wait for a lock, or for a thread's end. */
static const struct {
	const char *name; /* it begins with this */
	enum wait_call call;
} calls[] = {
	{"pthread_mutex_", WAIT_CALL_LOCK},
	{"__pthread_mutex_", WAIT_CALL_LOCK},
	{"pthread_rwlock_", WAIT_CALL_LOCK},
	{"__pthread_rwlock_", WAIT_CALL_LOCK},
	{"__lll_lock_wait", WAIT_CALL_LOCK},
	{"pthread_barrier_wait", WAIT_CALL_LOCK},
	{"__pthread_barrier_wait", WAIT_CALL_LOCK},
	{"pthread_once", WAIT_CALL_LOCK},
	{"__pthread_once", WAIT_CALL_LOCK},
	{"__cxa_guard_acquire", WAIT_CALL_LOCK},
	{"pthread_join", WAIT_CALL_JOIN},
	{"pthread_timedjoin", WAIT_CALL_JOIN},
	{"pthread_clockjoin", WAIT_CALL_JOIN},
	{"__pthread_clockjoin", WAIT_CALL_JOIN},
	{"__pthread_timedjoin", WAIT_CALL_JOIN},
	{"thrd_join", WAIT_CALL_JOIN},
	{"mtx_lock", WAIT_CALL_LOCK},
};

/* The C library's function is one of the innermost frames. */
#define CALL_FRAMES 6

/* A thread that waits at a site. */
struct member {
	uint32_t site;
	uint32_t thread;
};

struct finder {
	const struct model *model;
	struct wait_causes *causes;
	struct wait_sites *out;
	uint64_t *hashes;     /* by stack */
	uint8_t *calls;	      /* by stack: enum wait_call */
	struct map64 index;   /* hash -> site */
	struct map64 places;  /* hash -> the first site at the place */
	struct map64 members; /* site and thread -> its number in the list */
	ARRAY(struct member) list;
	uint64_t *n_ended;    /* by thread: waits of other threads that it ended */
	uint64_t *blocked_ns; /* by thread */
	uint64_t *n_requests; /* by thread: its waits for requests */
	struct map64 locals;  /* string, local address -> 1 + peer, or MANY */
	struct map64 peers;   /* string, peer's address -> 1 + local address, or MANY */
};

#define MANY UINT64_MAX

/* The blocked time of @interval in ns; in sampling mode an unbiased estimate. */
static uint64_t wait_time(const struct model *model, const struct model_interval *interval)
{
	return model->trace ? interval->blocked_ns : interval->blocked_points * model->period_ns;
}

static enum wait_call call_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strncmp(name, calls[i].name, strlen(calls[i].name)))
			return calls[i].call;
	return WAIT_CALL_UNKNOWN;
}

/* By location. NULL without memory. */
static uint8_t *find_locations(const struct model *model)
{
	uint8_t *found = calloc(model->locations.n, sizeof(*found));

	for (size_t i = 1; found && i < model->locations.n; i++) {
		const struct model_location *location = &model->locations.data[i];

		for (size_t k = 0; !location->kernel && k < location->n_frames; k++) {
			const struct model_frame *frame = &model->frames.data[location->frame + k];
			enum wait_call call = call_of(model__string(model, frame->name));

			if (call)
				found[i] = (uint8_t)call;
		}
	}
	return found;
}

/* By stack: the call of the innermost function that tells. NULL without memory. */
static uint8_t *find_calls(const struct model *model)
{
	_cleanup_free_ uint8_t *locations = find_locations(model);
	uint8_t *calls_on = locations ? calloc(model->stacks.n, sizeof(*calls_on)) : NULL;

	for (size_t i = 1; calls_on && i < model->stacks.n; i++) {
		const struct model_stack *stack = &model->stacks.data[i];

		for (size_t k = 0; k < stack->depth && k < CALL_FRAMES && !calls_on[i]; k++)
			calls_on[i] = locations[model->stack_locations.data[stack->first + k]];
	}
	return calls_on;
}

/* Notes that addresses @one and @other belong together. */
static int note_pair(struct map64 *map, uint32_t one, uint32_t other)
{
	uint64_t *at = map64__put(map, one, 1 + (uint64_t)other);

	if (!at)
		return -ENOMEM;
	if (*at != 1 + (uint64_t)other)
		*at = MANY;
	return 0;
}

/* A server has one address for many peers. */
static int note_addresses(struct finder *finder)
{
	const struct model *model = finder->model;
	int err = 0;

	for (size_t i = 1; i < model->objects.n && !err; i++) {
		const struct model_object *object = &model->objects.data[i];

		if (object->type != OBJECT_SOCKET || !object->name || !object->local)
			continue;
		err = note_pair(&finder->locals, object->local, object->name);
		err = err ? err : note_pair(&finder->peers, object->name, object->local);
	}
	return err;
}

static unsigned long port_of(const struct model *model, uint32_t address)
{
	const char *colon = strrchr(model__string(model, address), ':');

	return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

static bool has_many(const struct map64 *map, uint32_t address)
{
	const uint64_t *at = map64__get(map, address);

	return at && *at == MANY;
}

static enum socket_side side_of(const struct finder *finder, uint32_t index)
{
	const struct model_object *object = &finder->model->objects.data[index];
	unsigned long local = port_of(finder->model, object->local);
	unsigned long peer = port_of(finder->model, object->name);

	if (object->side || object->type != OBJECT_SOCKET || !local)
		return (enum socket_side)object->side;
	/* In recordings of earlier versions the addresses tell. */
	if (has_many(&finder->locals, object->local))
		return SOCKET_SIDE_SERVER;
	if (has_many(&finder->peers, object->name))
		return SOCKET_SIDE_CLIENT;
	if ((local < EPHEMERAL_PORT) == (peer < EPHEMERAL_PORT))
		return SOCKET_SIDE_UNKNOWN;
	return local < EPHEMERAL_PORT ? SOCKET_SIDE_SERVER : SOCKET_SIDE_CLIENT;
}

static uint32_t find_main_thread(const struct model *model)
{
	const char *target = model__meta(model, "target");

	if (!target || strcmp(target, "command") != 0)
		return 0;
	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		if (thread->tid == thread->tgid && thread->flags & THREAD_TARGET &&
		    !model->processes.data[thread->process].parent)
			return t;
	}
	return 0;
}

bool wait_sites__is_leader(const struct wait_sites *sites, uint32_t waiter, uint32_t waker)
{
	const struct model_thread *threads = sites->model->threads.data;

	if (!waker)
		return false;
	if (waker == sites->main_thread || waker == threads[waiter].parent)
		return true;
	return !(threads[waiter].flags & THREAD_CREATED) &&
	       threads[waker].tid == threads[waiter].tgid;
}

static bool site_same_place(const struct wait_site *a, const struct wait_site *b)
{
	return a->process == b->process && a->kind == b->kind && a->stack == b->stack;
}

static bool site_same(const struct wait_site *a, const struct wait_site *b)
{
	return site_same_place(a, b) && a->side == b->side && a->end == b->end;
}

static bool is_code_known(const struct finder *finder, uint32_t stack_index)
{
	const struct model_stack *stack = &finder->model->stacks.data[stack_index];

	return stack->depth && model__location(finder->model, stack, 0)->dso;
}

/* A hash of the code that waits; where it is not known, each thread has a site of its own. */
static uint64_t code_of(const struct finder *finder, uint32_t thread, uint32_t stack_index)
{
	return is_code_known(finder, stack_index) ? finder->hashes[stack_index]
						  : hash__add(thread, 0);
}

/*
 * Of a wait whose end was not seen (the thread exited, or the kernel hid the switch) only the class
 * is known. It is taken for the same as the thread's wait before.
 */
static bool is_continued(const struct finder *finder, const struct model_interval *before,
			 const struct model_interval *interval)
{
	return before && before->class == interval->class &&
	       !is_code_known(finder, interval->user) &&
	       !finder->model->stacks.data[interval->kernel].depth;
}

/*
 * The number in @index of the site that is the @same as @wanted, which has the hash @key; if there
 * is none, the number of the next site, put in. 0 without memory.
 */
static uint32_t look_up(const struct wait_sites *sites, struct map64 *index, uint64_t key,
			const struct wait_site *wanted,
			bool (*same)(const struct wait_site *a, const struct wait_site *b))
{
	for (;; key++) {
		uint64_t *at = map64__put(index, key, sites->sites.n);

		if (!at)
			return 0;
		if (*at == sites->sites.n || same(&sites->sites.data[*at], wanted))
			return (uint32_t)*at;
	}
}

/* The number of the site @wanted; added if it is new. 0 without memory. */
static uint32_t put_site(struct finder *finder, struct wait_site *wanted)
{
	struct wait_sites *out = finder->out;
	uint64_t place = hash__add((uint64_t)wanted->process << 32 | (uint64_t)wanted->kind << 8,
				   wanted->stack);
	uint64_t key = hash__add((uint64_t)wanted->side << 8 | (uint64_t)wanted->end, place);
	uint32_t site = look_up(out, &finder->index, key, wanted, site_same);

	if (!site || site < out->sites.n)
		return site;
	wanted->place = look_up(out, &finder->places, place, wanted, site_same_place);
	return wanted->place && !array__push(&out->sites, *wanted) ? site : 0;
}

/* The number of the site of @interval, of @thread; added if it is new. 0 without memory. */
static uint32_t find_site(struct finder *finder, uint32_t thread,
			  const struct model_interval *interval, enum wait_end end)
{
	struct wait_site wanted = {
		.process = finder->model->threads.data[thread].process,
		.kind = wait_causes__kind(finder->causes, interval),
		.stack = code_of(finder, thread, interval->user),
		.side = side_of(finder, interval->object),
		.end = end == WAIT_END_REQUEST ? WAIT_END_OTHER : end,
		.thread = thread,
		.user = interval->user,
		.kernel = interval->kernel,
		.call = (enum wait_call)finder->calls[interval->user],
	};

	return put_site(finder, &wanted);
}

static int add_member(struct finder *finder, uint32_t site, uint32_t thread)
{
	struct wait_site *of = &finder->out->sites.data[site];
	struct member member = {site, thread};
	uint64_t *at = map64__put(&finder->members, (uint64_t)site << 32 | thread, finder->list.n);

	of->n++;
	if (!at)
		return -ENOMEM;
	if (*at < finder->list.n)
		return 0;
	of->n_threads++;
	of->has_main |= thread == finder->out->main_thread;
	return array__push(&finder->list, member);
}

/* Whether waits at @site are for requests. Not for those in epoll, poll and select. */
static bool is_for_request(const struct wait_site *site)
{
	switch (kind__info(site->kind)->idle) {
	case KIND_IDLE_RECEIVE:
		return site->side == SOCKET_SIDE_SERVER;
	case KIND_IDLE_REQUEST:
		return site->kind == KIND_TCP_ACCEPT || site->kind == KIND_UNIX_ACCEPT ||
		       site->kind == KIND_SOCKET_ACCEPT;
	default:
		return false;
	}
}

/* The last wait of a thread may end by a signal that ends it: no other thread was waited for. */
static bool is_last(const struct finder *finder, uint32_t thread,
		    const struct model_interval *interval)
{
	const struct model_thread *of = &finder->model->threads.data[thread];

	return interval + 1 == of->intervals.data + of->intervals.n;
}

/* First pass over an interval: its site, and who ends whose waits. */
static int add_wait(struct finder *finder, uint32_t thread, const struct model_interval *before,
		    const struct model_interval *interval, struct site_wait *wait)
{
	struct wait_cause cause = wait_causes__of(finder->causes, thread, interval);
	enum wait_kind kind = wait_causes__kind(finder->causes, interval);
	bool last = is_last(finder, thread, interval);
	enum wait_end end =
		last ? WAIT_END_OTHER : wait_causes__end(finder->causes, thread, interval, kind);
	uint64_t ns = wait_time(finder->model, interval);
	struct wait_site *site;

	wait->site = find_site(finder, thread,
			       is_continued(finder, before, interval) ? before : interval, end);
	if (!wait->site || add_member(finder, wait->site, thread))
		return -ENOMEM;
	site = &finder->out->sites.data[wait->site];
	finder->out->sites.data[site->place].place_requests += end == WAIT_END_REQUEST;
	finder->n_requests[thread] += end == WAIT_END_REQUEST || is_for_request(site);
	wait->by_signal = !last && !wait_site__is_polled(site) &&
			  wait_causes__is_signaled(finder->causes, thread, interval);
	wait->waker = cause.type == CAUSE_THREAD ? cause.id & INT32_MAX : 0;
	finder->blocked_ns[thread] += ns;
	if (!wait_site__is_for_end(&finder->out->sites.data[wait->site]))
		finder->n_ended[wait->waker]++;
	return 0;
}

/* Whether @other is a thread of a process that the process of @thread created. */
static bool is_child(const struct model *model, uint32_t thread, uint32_t other)
{
	uint32_t process = model->threads.data[thread].process;
	uint32_t parent = model->processes.data[model->threads.data[other].process].parent;

	return parent && parent == process;
}

/* Second pass: adds the interval's time to the site's, by who ended it. */
static void add_to_site(struct finder *finder, uint32_t thread,
			const struct model_interval *interval, const struct site_wait *wait)
{
	struct wait_site *site = &finder->out->sites.data[wait->site];
	struct wait_site *place = &finder->out->sites.data[site->place];
	uint64_t ns = wait_time(finder->model, interval);

	site->ns += ns;
	place->place_ns += ns;
	site->child_ns += is_child(finder->model, thread, wait->waker) ? ns : 0;
	if (!wait->waker) {
		struct wait_cause cause = wait_causes__of(finder->causes, thread, interval);

		if (cause.type == CAUSE_TIMER) {
			site->timer_ns += ns;
			place->place_timer_ns += ns;
		} else {
			site->outside_ns += ns;
		}
	} else if (map64__get(&finder->members, (uint64_t)wait->site << 32 | wait->waker)) {
		site->member_ns += ns;
	} else if (wait_sites__is_leader(finder->out, thread, wait->waker)) {
		site->leader_ns += ns;
	}
}

static int walk(struct finder *finder)
{
	const struct model *model = finder->model;

	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];
		struct site_wait *waits = calloc(thread->intervals.n + 1, sizeof(*waits));
		const struct model_interval *before = NULL;

		if (!waits)
			return -ENOMEM;
		finder->out->waits[t] = waits;
		for (size_t i = 0; i < thread->intervals.n; i++) {
			const struct model_interval *interval = &thread->intervals.data[i];

			if (!interval->blocked_ns)
				continue;
			if (add_wait(finder, t, before, interval, &waits[i]))
				return -ENOMEM;
			before = interval;
		}
	}
	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->intervals.n; i++)
			if (finder->out->waits[t][i].site)
				add_to_site(finder, t, &thread->intervals.data[i],
					    &finder->out->waits[t][i]);
	}
	return 0;
}

/* What the members of each site waited in all, ran, and lived. */
static void sum_members(struct finder *finder)
{
	for (size_t i = 0; i < finder->list.n; i++) {
		const struct member *member = &finder->list.data[i];
		const struct model_thread *thread = &finder->model->threads.data[member->thread];
		struct wait_site *site = &finder->out->sites.data[member->site];

		site->all_waits_ns += finder->blocked_ns[member->thread];
		site->n_ended += finder->n_ended[member->thread];
		site->member_requests += finder->n_requests[member->thread];
		if (!thread->has_totals)
			continue;
		site->running_ns += thread->ns[CLASS_CPU];
		site->lifetime_ns += thread->ended - thread->created;
	}
}

static int find(struct finder *finder, struct kinds *kinds)
{
	const struct model *model = finder->model;
	struct own_strings strings = {.model = model};
	int err = wait_causes__new(&strings, kinds, &finder->causes);

	finder->hashes = stack_hashes__make(model);
	finder->calls = find_calls(model);
	finder->blocked_ns = calloc(model->threads.n, sizeof(*finder->blocked_ns));
	finder->n_ended = calloc(model->threads.n, sizeof(*finder->n_ended));
	finder->n_requests = calloc(model->threads.n, sizeof(*finder->n_requests));
	finder->out->waits = calloc(model->threads.n, sizeof(*finder->out->waits));
	if (!finder->hashes || !finder->calls || !finder->blocked_ns || !finder->n_ended ||
	    !finder->n_requests || !finder->out->waits || !array__add(&finder->out->sites))
		err = -ENOMEM;
	err = err ? err : note_addresses(finder);
	err = err ? err : walk(finder);
	if (!err)
		sum_members(finder);
	own_strings__free(&strings);
	return err;
}

int wait_sites__find(const struct model *model, struct kinds *kinds, struct wait_sites *out)
{
	struct finder finder = {.model = model, .out = out};
	int err;

	out->model = model;
	out->main_thread = find_main_thread(model);
	err = find(&finder, kinds);
	wait_causes__free(finder.causes);
	free(finder.hashes);
	free(finder.calls);
	free(finder.blocked_ns);
	map64__free(&finder.index);
	map64__free(&finder.places);
	map64__free(&finder.members);
	array__free(&finder.list);
	free(finder.n_ended);
	free(finder.n_requests);
	map64__free(&finder.locals);
	map64__free(&finder.peers);
	return err;
}

void wait_sites__free(struct wait_sites *sites)
{
	for (size_t t = 0; sites->waits && t < sites->model->threads.n; t++)
		free(sites->waits[t]);
	free(sites->waits);
	array__free(&sites->sites);
}
