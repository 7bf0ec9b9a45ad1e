// SPDX-License-Identifier: BSD-2-Clause
/* The threads that a translator knows: those that live, and some thousand that have ended. */
#include <stdlib.h>

#include "collect/capture/processes.h"
#include "collect/record/translator.h"

struct known_thread *translator__find_thread(const struct translator *translator, uint32_t number)
{
	const uint64_t *found = leaving_map__get(&translator->threads, number);

	return found ? (struct known_thread *)(uintptr_t)*found : NULL;
}

uint32_t translator__led_by(const struct translator *translator, uint32_t number)
{
	const struct known_thread *thread = translator__find_thread(translator, number);

	return thread && thread->tid == thread->tgid ? thread->tid : 0;
}

/* Whether the end of @thread was missed. */
static bool is_gone(const struct known_thread *thread)
{
	/* Without tid: of an event that came after its end, or before it is announced. */
	return !thread->tid || processes__is_gone(thread->tgid, thread->tid);
}

static void forget(struct translator *translator, struct known_thread *thread)
{
	const uint64_t *named = map64__get(&translator->tids, thread->tid);

	if (named && *named == thread->number)
		map64__remove(&translator->tids, thread->tid);
	if (thread->exiting)
		translator__put_totals(translator, thread->exiting);
	if (thread->announced && !thread->exited)
		translator->missed_exit = true;
	if (thread->announced && thread->last > translator->last_exit)
		translator->last_exit = thread->last;
	free(thread->exiting);
	free(thread);
}

void translator__thread_ended(struct translator *translator, uint32_t number)
{
	struct known_thread *thread;
	struct map64_slot gone;

	if (!leaving_map__end(&translator->threads, number, &gone))
		return;
	thread = (struct known_thread *)(uintptr_t)gone.value;
	/* One that was announced after a sweep is still there. */
	if (thread->exited || is_gone(thread) ||
	    !leaving_map__put(&translator->threads, gone.key, gone.value))
		forget(translator, thread);
}

/* Forgets threads whose end was not seen, such as those that are not recorded, but woke one that
 * is. */
static void sweep(struct translator *translator)
{
	ARRAY(uint32_t) gone = {};
	const struct map64 *map = &translator->threads.map;

	for (size_t i = 0; i < map->capacity; i++) {
		const struct known_thread *thread = (const void *)(uintptr_t)map->slots[i].value;

		if (map->slots[i].used && !thread->exited && is_gone(thread) &&
		    array__push(&gone, thread->number))
			break;
	}
	for (size_t i = 0; i < gone.n; i++)
		translator__thread_ended(translator, gone.data[i]);
	array__free(&gone);
	leaving_map__swept(&translator->threads);
}

struct known_thread *translator__thread(struct translator *translator, uint32_t number)
{
	struct known_thread *thread = translator__find_thread(translator, number);

	if (thread)
		return thread;
	if (leaving_map__wants_sweep(&translator->threads))
		sweep(translator);
	thread = calloc(1, sizeof(*thread));
	if (!thread ||
	    !leaving_map__put(&translator->threads, number, (uint64_t)(uintptr_t)thread)) {
		free(thread);
		return NULL;
	}
	thread->number = number;
	return thread;
}

void translator__end(struct translator *translator)
{
	const struct map64 *map = &translator->threads.map;

	for (size_t i = 0; i < map->capacity; i++) {
		struct known_thread *thread = (struct known_thread *)(uintptr_t)map->slots[i].value;

		if (!map->slots[i].used || !thread->exiting)
			continue;
		translator__put_totals(translator, thread->exiting);
		free(thread->exiting);
		thread->exiting = NULL;
	}
}

uint64_t translator__last_exit(const struct translator *translator)
{
	const struct map64 *map = &translator->threads.map;
	uint64_t last = translator->last_exit;

	if (translator->missed_exit)
		return 0;
	for (size_t i = 0; i < map->capacity; i++) {
		const struct known_thread *thread = (const void *)(uintptr_t)map->slots[i].value;

		if (!map->slots[i].used || !thread->announced)
			continue;
		if (!thread->exited)
			return 0;
		if (thread->last > last)
			last = thread->last;
	}
	return last;
}

void translator__free_threads(struct translator *translator)
{
	const struct map64 *map = &translator->threads.map;

	for (size_t i = 0; i < map->capacity; i++) {
		struct known_thread *thread = (struct known_thread *)(uintptr_t)map->slots[i].value;

		if (!map->slots[i].used)
			continue;
		free(thread->exiting);
		free(thread);
	}
	leaving_map__free(&translator->threads);
	map64__free(&translator->tids);
}
