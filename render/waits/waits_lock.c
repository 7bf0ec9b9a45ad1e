// SPDX-License-Identifier: BSD-2-Clause
/* The lock that a bottleneck's members hold while others wait, as text and JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "render/format.h"
#include "render/json.h"
#include "render/waits/waits.h"

/* "python3/1234" */
static void holder_text(const struct waits *waits, const struct verdict_lock *lock, char *text,
			size_t size)
{
	const struct model_thread *of = &waits->model->threads.data[lock->holder];

	snprintf(text, size, "%s/%" PRIu32,
		 model__string(waits->model, model_thread__comm(of, of->ended)), of->tid);
}

const struct verdict_lock *waits__lock(const struct waits *waits,
				       const struct bottleneck *bottleneck)
{
	return waits->locks ? verdict_locks__of(waits->locks, bottleneck) : NULL;
}

void waits__lock_name(const struct waits *waits, const struct verdict_lock *lock, char *text,
		      size_t size)
{
	lock_identity__text(waits->model, lock->lock, text, size);
	if (lock->function && !lock->lock->place)
		format__append(text, size, ", taken in %s",
			       model__string(waits->model, lock->function));
}

/* What its holders do meanwhile. */
static int put_holding(const struct waits *waits, const struct verdict_lock *lock, FILE *to)
{
	char what[512], *code = NULL;
	int err;

	kind__describe(waits->model, lock->kind, lock->object, what, sizeof(what));
	fprintf(to, "      %3.0f%%  ", format__percent(lock->blocked_ns, lock->held_ns));
	format__safe(to, what);
	fputs(", with it held\n", to);
	err = waits__code(waits, lock->kernel, lock->user, &code);
	if (!err && *code)
		fprintf(to, "        waits in  %s\n", code);
	free(code);
	return err;
}

int waits__put_lock(const struct waits *waits, const struct bottleneck *bottleneck, FILE *to)
{
	const struct verdict_lock *lock = waits__lock(waits, bottleneck);
	char name[1024], holder[128], share[24];

	if (!lock)
		return 0;
	waits__lock_name(waits, lock, name, sizeof(name));
	holder_text(waits, lock, holder, sizeof(holder));
	fputs("  ", to);
	format__safe(to, name);
	if (waits__percent(waits, lock->wait_ns) < WAITS_IN_THREADS)
		fprintf(to, ": waited for %s of the time",
			waits__share(waits, lock->wait_ns, share));
	else
		fprintf(to, ": %s wait for it, on average",
			waits__share(waits, lock->wait_ns, share));
	if (lock->held_ns) {
		fprintf(to, "; meanwhile held %.0f%% by ",
			format__percent(lock->holder_ns, lock->held_ns));
		format__safe(to, holder);
		if (lock->released) {
			fputs(" (released in ", to);
			format__safe(to, model__string(waits->model, lock->released));
			fputc(')', to);
		}
		if (lock->holder_ns < lock->held_ns)
			fputs(", the rest by others", to);
	}
	fputc('\n', to);
	return lock->blocked_ns ? put_holding(waits, lock, to) : 0;
}

json_t *waits__lock_json(const struct waits *waits, const struct bottleneck *bottleneck)
{
	const struct model *model = waits->model;
	const struct verdict_lock *lock = waits__lock(waits, bottleneck);
	json_t *entry, *holder;
	char name[1024], text[24];

	if (!lock)
		return json_null();
	entry = json_object();
	holder = json_object();
	waits__lock_name(waits, lock, name, sizeof(name));
	json_object_set_new(entry, "name", json__text(name));
	snprintf(text, sizeof(text), "0x%" PRIx64, model->objects.data[lock->lock->object].id);
	json_object_set_new(entry, "address",
			    lock->lock->place || lock->lock->kind == KIND_FILE_LOCK
				    ? json_null()
				    : json_string(text));
	json_object_set_new(entry, "wait_ns", json__number(lock->wait_ns));
	json_object_set_new(entry, "held_ns", json__number(lock->held_ns));
	holder_text(waits, lock, name, sizeof(name));
	json_object_set_new(holder, "name", json__text(name));
	json_object_set_new(holder, "tid", json__number(model->threads.data[lock->holder].tid));
	json_object_set_new(holder, "held_ns", json__number(lock->holder_ns));
	json_object_set_new(holder, "function",
			    lock->released ? json__text(model__string(model, lock->released))
					   : json_null());
	json_object_set_new(entry, "holder", holder);
	json_object_set_new(entry, "blocked_ns", json__number(lock->blocked_ns));
	json_object_set_new(entry, "blocked_in", json_string(kind__name(lock->kind)));
	json_object_set_new(entry, "stack", waits__frames(waits, lock->kernel, lock->user));
	return entry;
}
