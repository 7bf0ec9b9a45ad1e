// SPDX-License-Identifier: BSD-2-Clause
/*
 * The waits of peers: processes at the other end of a connection that were not recorded. wPerf
 * makes a vertex of what it cannot look into, and has it wait, while it is idle, for who sends it
 * requests (OSDI'18, section 3.3). What a peer does for one thread is a node here: it is at work
 * while the thread waits for it, and in between it waits for the next request of this thread. A
 * peer serves threads at the same time, as far as is known, so that each of them has a node of its
 * own; they make one vertex.
 *
 * A peer that threads mostly wait for to get work is a client, and stays outside of the graph: what
 * makes it send its next request is not known.
 */
#include <errno.h>

#include "analysis/waits/waitlist.h"

/* A wait of a thread for a peer. */
struct request {
	uint64_t begin;
	uint64_t end;
	uint32_t wait;
	uint32_t client; /* the thread */
	struct wait_peer peer;
	bool idle; /* the thread waits for work */
};

struct peers {
	struct waitlist *list;
	const struct wait_causes *causes;
	const struct idle_waits *idle;
	ARRAY(struct request) requests;
};

static int request_order(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->peer.name != y->peer.name)
		return x->peer.name < y->peer.name ? -1 : 1;
	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Adds wait @i to the requests, if it is for a peer. */
static int add_request(struct peers *peers, uint32_t i)
{
	const struct waitlist *list = peers->list;
	const struct wait *wait = &list->waits.data[i];
	const struct wait_node *waker = &list->nodes.data[wait->waker];
	const struct wait_source *source = &list->sources.data[i];
	struct wait_cause cause = {waker->type, waker->id};
	struct request request = {
		.begin = wait->begin,
		.end = wait->end,
		.wait = i,
		.client = wait->waiter,
	};

	if (source->origin != WAIT_BLOCKED)
		return 0;
	request.peer = wait_causes__peer(
		peers->causes, wait->waiter,
		&list->model->threads.data[wait->waiter].intervals.data[source->index], cause);
	if (!request.peer.name)
		return 0;
	request.idle = peers->idle && idle_waits__reason(peers->idle, wait->waiter, source->index);
	return array__push(&peers->requests, request);
}

#define MANY UINT64_MAX

/*
 * Gives a peer one name, of the two by which it may be known: that of the process if all who
 * answered from its address were threads of one process, else the address.
 */
static int name_peers(struct peers *peers)
{
	struct request *requests = peers->requests.data;
	struct map64 locals =
		{}; /* address -> 1 + a request that a local process answered, or MANY */
	int err = 0;

	for (size_t i = 0; i < peers->requests.n && !err; i++) {
		const struct wait_peer *peer = &requests[i].peer;
		uint64_t *at = NULL;

		if (!peer->pid || !peer->address)
			continue;
		at = map64__put(&locals, peer->address, 1 + i);
		err = at ? 0 : -ENOMEM;
		if (at && *at != MANY && requests[*at - 1].peer.name != peer->name)
			*at = MANY;
	}
	for (size_t i = 0; i < peers->requests.n && !err; i++) {
		struct wait_peer *peer = &requests[i].peer;
		const uint64_t *at = map64__get(&locals, peer->address);

		if (at && *at == MANY)
			*peer = (struct wait_peer){.name = peer->address, .address = peer->address};
		else if (at)
			*peer = requests[*at - 1].peer;
	}
	map64__free(&locals);
	return err;
}

/*
 * Whether the threads of the @n @requests mostly wait for answers. Of sampled waits, one that is
 * shorter than the period stands for others that have no point in them.
 */
static bool is_server(const struct waitlist *list, const struct request *requests, size_t n)
{
	double answers = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t spacing = list->sources.data[requests[i].wait].spacing;
		uint64_t ns = requests[i].end - requests[i].begin;
		uint64_t apart = list->model->period_ns << spacing;

		if (!list->exact && ns < apart)
			ns = apart;
		all += (double)ns;
		answers += requests[i].idle ? 0 : (double)ns;
	}
	return answers > all / 2;
}

/* The node @node waits for @waker in [@begin, @end). */
static int add_idle(struct waitlist *list, uint32_t node, uint64_t begin, uint64_t end,
		    uint32_t waker)
{
	struct wait_source source = {.origin = WAIT_PEER_IDLE,
				     .spacing = (uint8_t)list->model->spacing};
	/* Not a loss: else every thread that has a connection would weigh twice. */
	struct wait wait = {
		.begin = begin, .end = end, .waiter = node, .waker = waker, .idle = true};

	return begin < end ? waitlist__add(list, wait, source) : 0;
}

/* Makes a node for the @n @requests of one thread to the peer with the node @whole. */
static int add_client(struct waitlist *list, uint32_t whole, const struct request *requests,
		      size_t n)
{
	uint32_t client = requests->client, node;
	uint64_t ended = list->model->threads.data[client].ended, done = requests->begin;
	uint32_t none = waitlist__node(list, (struct wait_cause){CAUSE_UNFINISHED, 0});
	int err;

	node = (uint32_t)list->nodes.n;
	err = array__push(&list->nodes, ((struct wait_node){.type = CAUSE_PEER,
							    .id = list->nodes.data[whole].id,
							    .waits_known = true,
							    .client = client,
							    .whole = whole,
							    .pid = list->nodes.data[whole].pid,
							    .since = requests->begin}));
	for (size_t i = 0; i < n && !err; i++) {
		list->waits.data[requests[i].wait].waker = node;
		err = add_idle(list, node, done, requests[i].begin, client);
		done = requests[i].end > done ? requests[i].end : done;
	}
	return err ? err
		   : add_idle(list, node, done, ended < list->until ? ended : list->until, none);
}

/* Divides the peer of the @n @requests among its clients. */
static int add_peer(struct waitlist *list, const struct request *requests, size_t n)
{
	uint32_t whole = waitlist__node(list, (struct wait_cause){CAUSE_PEER, requests->peer.name});
	int err = whole == NO_NODE ? -ENOMEM : 0;

	for (size_t i = 0; i < n && !err; i++) {
		list->nodes.data[whole].divided = true;
		if (requests[i].peer.pid) /* what TCP held back has none */
			list->nodes.data[whole].pid = requests[i].peer.pid;
	}
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i + 1; end < n && requests[end].client == requests[i].client;)
			end++;
		err = add_client(list, whole, requests + i, end - i);
	}
	return err;
}

int waitlist__add_peers(struct waitlist *list, const struct wait_causes *causes,
			const struct idle_waits *idle)
{
	struct peers peers = {.list = list, .causes = causes, .idle = idle};
	const struct request *all;
	int err = 0;

	for (uint32_t i = 0; i < list->waits.n && !err; i++)
		err = add_request(&peers, i);
	err = err ? err : name_peers(&peers);
	array__sort(&peers.requests, request_order);
	all = peers.requests.data;
	for (size_t i = 0, end; i < peers.requests.n && !err; i = end) {
		for (end = i + 1; end < peers.requests.n && all[end].peer.name == all[i].peer.name;)
			end++;
		if (is_server(list, all + i, end - i))
			err = add_peer(list, all + i, end - i);
	}
	array__free(&peers.requests);
	return err;
}
