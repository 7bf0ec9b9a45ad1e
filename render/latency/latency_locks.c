// SPDX-License-Identifier: BSD-2-Clause
#include "render/latency/latency_locks.h"

#include <inttypes.h>

#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/json.h"

/* At most this many holders of a lock are listed, and at most this many that waited. */
#define MAX_HOLDERS 3
#define MAX_PAIRS   3

/* Locks with a smaller share of the waiting are not listed, unless all are. */
#define MIN_SHARE 0.001

/* As lock_identity__text(), with ", taken in store_item" where no variable has a name. */
static void name_of(const struct model *model, const struct lock *lock, char *text, size_t size)
{
	lock_identity__text(model, &lock->identity, text, size);
	if (lock->function && !lock->variable && !lock->identity.place)
		format__append(text, size, ", taken in %s", model__string(model, lock->function));
}

static void put_thread(const struct latency_locks_view *view, uint32_t thread, FILE *to)
{
	const struct model_thread *of = &view->model->threads.data[thread];

	format__safe(to, model__string(view->model, model_thread__comm(of, of->ended)));
	fprintf(to, "/%u", of->tid);
}

static void put_holders(const struct latency_locks_view *view, const struct lock *lock, FILE *to)
{
	char length[24];

	for (size_t i = 0; i < lock->holders.n && i < MAX_HOLDERS; i++) {
		const struct lock_holder *holder = &lock->holders.data[i];

		fprintf(to, "%21sheld %s by ", "", duration__text(holder->ns, length));
		put_thread(view, holder->thread, to);
		if (holder->function) {
			fputs(", released in ", to);
			format__safe(to, model__string(view->model, holder->function));
		}
		fprintf(to, " (%" PRIu64 " times)\n", holder->releases);
	}
	for (size_t i = 0; i < lock->waiters.n && i < MAX_PAIRS; i++) {
		const struct lock_waiter *waiter = &lock->waiters.data[i];

		fprintf(to, "%21s", "");
		put_thread(view, waiter->thread, to);
		fprintf(to, " waited %s for ", duration__text(waiter->ns, length));
		put_thread(view, waiter->holder, to);
		fputc('\n', to);
	}
}

static void put_lock(const struct latency_locks_view *view, const struct lock *lock, FILE *to)
{
	char name[512], wait[24], p50[24], p99[24], max[24], contended[24];

	name_of(view->model, lock, name, sizeof(name));
	fprintf(to, "%10" PRIu64 " %10s %10s %10s %10s %10s  ", lock->waits,
		duration__text(lock->wait_ns, wait), duration__text(lock->p50_ns, p50),
		duration__text(lock->p99_ns, p99), duration__text(lock->max_ns, max),
		duration__text(lock->contended_ns, contended));
	format__safe(to, name);
	if (lock->identity.process)
		fprintf(to, " (pid %u)", view->model->processes.data[lock->identity.process].pid);
	fputc('\n', to);
	put_holders(view, lock, to);
}

static uint64_t waiting_from(const struct locks *locks, size_t first)
{
	uint64_t ns = 0;

	for (size_t i = first; i < locks->locks.n; i++)
		ns += locks->locks.data[i].wait_ns;
	return ns;
}

/* How many locks are listed: they are sorted by waiting. */
static size_t listed(const struct latency_locks_view *view)
{
	const struct locks *locks = view->locks;
	double least = MIN_SHARE * (double)waiting_from(locks, 0);
	size_t n = 0;

	while (n < locks->locks.n &&
	       (!view->most || (n < view->most && (double)locks->locks.data[n].wait_ns >= least)))
		n++;
	return n;
}

static void put_rest(const struct locks *locks, size_t n, FILE *to)
{
	uint64_t all = waiting_from(locks, 0);
	size_t left = locks->locks.n - n;

	fprintf(to, "# %zu more lock%s, %.1f%% of the waiting: --locks 0\n", left,
		left == 1 ? "" : "s", all ? 100 * (double)waiting_from(locks, n) / (double)all : 0);
}

/* What is missing, and why. */
static void put_left(const struct locks *locks, FILE *to)
{
	const struct {
		const struct lock_waits_left *left;
		const char *label;
		const char *text;
	} rows[] = {
		{&locks->no_address, "no address", "for locks that are not known"},
		{&locks->unclear, "unclear",
		 "for semaphores and futexes of the program's own that do not behave like locks: "
		 "queues, signals, barriers, or locks whose holders never had to wait"},
		{&locks->conditions, "conditions",
		 "for condition variables: locks made of these are not listed"},
		{&locks->goroutines, "goroutines",
		 "of threads of Go without a goroutine to run: which lock (sync.Mutex) or channel "
		 "goroutines wait for is not seen"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[256], text[24];

		if (!rows[i].left->n)
			continue;
		snprintf(line, sizeof(line), "%" PRIu64 " wait%s, %s, %s", rows[i].left->n,
			 rows[i].left->n == 1 ? "" : "s", duration__text(rows[i].left->ns, text),
			 rows[i].text);
		header__line(to, rows[i].label, line);
	}
}

int latency_locks__text(const struct latency_locks_view *view, FILE *to)
{
	size_t n = listed(view);

	header__recording(view->model, to);
	put_left(view->locks, to);
	header__diagnostics(view->model, to);
	fprintf(to, "#\n#%9s %10s %10s %10s %10s %10s  %s\n", "waits", "waiting", "p50", "p99",
		"max", "contended", "lock");
	if (!view->locks->locks.n)
		fputs("# no thread had to wait for a lock\n", to);
	for (size_t i = 0; i < n; i++)
		put_lock(view, &view->locks->locks.data[i], to);
	if (n < view->locks->locks.n)
		put_rest(view->locks, n, to);
	return 0;
}

static json_t *string_json(const struct model *model, uint32_t string)
{
	return string ? json__string(model, string) : json_null();
}

/* The thread's name and tid under these keys. */
static void put_thread_json(const struct model *model, uint32_t thread, json_t *entry)
{
	const struct model_thread *of = &model->threads.data[thread];

	json_object_set_new(entry, "thread",
			    json__string(model, model_thread__comm(of, of->ended)));
	json_object_set_new(entry, "tid", json__number(of->tid));
}

static json_t *holders_json(const struct model *model, const struct lock *lock)
{
	json_t *holders = json_array();

	for (size_t i = 0; i < lock->holders.n; i++) {
		const struct lock_holder *holder = &lock->holders.data[i];
		json_t *entry = json_object();

		put_thread_json(model, holder->thread, entry);
		json_object_set_new(entry, "function", string_json(model, holder->function));
		json_object_set_new(entry, "releases", json__number(holder->releases));
		json_object_set_new(entry, "ns", json__number(holder->ns));
		json_array_append_new(holders, entry);
	}
	return holders;
}

static json_t *waiters_json(const struct model *model, const struct lock *lock)
{
	json_t *waiters = json_array();

	for (size_t i = 0; i < lock->waiters.n; i++) {
		const struct lock_waiter *waiter = &lock->waiters.data[i];
		json_t *entry = json_object();

		put_thread_json(model, waiter->thread, entry);
		json_object_set_new(entry, "holder",
				    json__number(model->threads.data[waiter->holder].tid));
		json_object_set_new(entry, "ns", json__number(waiter->ns));
		json_array_append_new(waiters, entry);
	}
	return waiters;
}

static json_t *lock_json(const struct model *model, const struct lock *lock)
{
	const struct lock_identity *identity = &lock->identity;
	char name[512], address[24];
	json_t *entry = json_object();

	name_of(model, lock, name, sizeof(name));
	snprintf(address, sizeof(address), "0x%" PRIx64, model->objects.data[identity->object].id);
	json_object_set_new(entry, "name", json__text(name));
	json_object_set_new(entry, "address",
			    identity->kind == KIND_FILE_LOCK || identity->place
				    ? json_null()
				    : json_string(address));
	json_object_set_new(entry, "process",
			    identity->process
				    ? json__number(model->processes.data[identity->process].pid)
				    : json_null());
	json_object_set_new(entry, "kind", json_string(kind__name((enum wait_kind)identity->kind)));
	json_object_set_new(entry, "variable", string_json(model, lock->variable));
	json_object_set_new(entry, "function", string_json(model, lock->function));
	json_object_set_new(entry, "waits", json__number(lock->waits));
	json_object_set_new(entry, "wait_ns", json__number(lock->wait_ns));
	json_object_set_new(entry, "p50_ns", json__number(lock->p50_ns));
	json_object_set_new(entry, "p99_ns", json__number(lock->p99_ns));
	json_object_set_new(entry, "max_ns", json__number(lock->max_ns));
	json_object_set_new(entry, "contended_ns", json__number(lock->contended_ns));
	json_object_set_new(entry, "holders", holders_json(model, lock));
	json_object_set_new(entry, "waiters", waiters_json(model, lock));
	return entry;
}

/* @name and "@name_ns". */
static void put_left_json(json_t *document, const char *name, const struct lock_waits_left *left)
{
	char key[32];

	snprintf(key, sizeof(key), "%s_ns", name);
	json_object_set_new(document, name, json__number(left->n));
	json_object_set_new(document, key, json__number(left->ns));
}

int latency_locks__json(const struct latency_locks_view *view, FILE *to)
{
	json_t *document = json_object(), *locks = json_array();

	json__put_recording(document, view->model);
	put_left_json(document, "no_address", &view->locks->no_address);
	put_left_json(document, "unclear", &view->locks->unclear);
	put_left_json(document, "conditions", &view->locks->conditions);
	put_left_json(document, "goroutines", &view->locks->goroutines);
	for (size_t i = 0; i < view->locks->locks.n; i++)
		json_array_append_new(locks, lock_json(view->model, &view->locks->locks.data[i]));
	json_object_set_new(document, "locks", locks);
	return json__write(document, to);
}
