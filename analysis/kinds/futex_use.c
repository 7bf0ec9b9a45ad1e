// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/futex_use.h"

#include <string.h>

/* Functions further out than that called something that has nothing to do with the wait. */
#define MAX_FRAMES 12

/* C functions, without leading underscores. A name may go on with "_", "." or "@". */
static const struct {
	const char *name;
	enum futex_use use;
} functions[] = {
	{"pthread_mutex_lock", FUTEX_USE_LOCK},
	{"pthread_mutex_timedlock", FUTEX_USE_LOCK},
	{"pthread_mutex_clocklock", FUTEX_USE_LOCK},
	{"pthread_mutex_cond_lock", FUTEX_USE_LOCK}, /* glibc, after a condition variable */
	{"pthread_mutex_unlock", FUTEX_USE_LOCK},
	{"pthread_rwlock", FUTEX_USE_LOCK},
	{"mtx_lock", FUTEX_USE_LOCK},
	{"mtx_timedlock", FUTEX_USE_LOCK},
	{"mtx_unlock", FUTEX_USE_LOCK},
	{"lll_lock_wait", FUTEX_USE_LOCK}, /* glibc, also its own locks */
	{"lll_lock_wake", FUTEX_USE_LOCK},
	{"runtime.lock2", FUTEX_USE_LOCK}, /* Go */
	{"runtime.unlock2", FUTEX_USE_LOCK},
	{"pthread_cond", FUTEX_USE_CONDITION},
	{"cnd_wait", FUTEX_USE_CONDITION},
	{"cnd_timedwait", FUTEX_USE_CONDITION},
	{"cnd_signal", FUTEX_USE_CONDITION},
	{"cnd_broadcast", FUTEX_USE_CONDITION},
	{"sem_wait", FUTEX_USE_SEMAPHORE},
	{"sem_timedwait", FUTEX_USE_SEMAPHORE},
	{"sem_clockwait", FUTEX_USE_SEMAPHORE},
	{"sem_post", FUTEX_USE_SEMAPHORE},
	{"new_sem", FUTEX_USE_SEMAPHORE}, /* glibc */
	{"pthread_barrier", FUTEX_USE_OTHER},
	{"pthread_join", FUTEX_USE_OTHER},
	{"pthread_timedjoin", FUTEX_USE_OTHER},
	{"pthread_clockjoin", FUTEX_USE_OTHER},
	{"pthread_once", FUTEX_USE_OTHER},
	{"thrd_join", FUTEX_USE_OTHER},
	{"runtime.notesleep", FUTEX_USE_GOROUTINE}, /* Go */
	{"runtime.notetsleep", FUTEX_USE_GOROUTINE},
	{"runtime.notewakeup", FUTEX_USE_GOROUTINE},
};

/* Parts of names of C++ and Rust. */
static const struct {
	const char *part;
	enum futex_use use;
} parts[] = {
	{"mutex::futex::Mutex::", FUTEX_USE_LOCK}, /* Rust's std */
	{"rwlock::futex::RwLock::", FUTEX_USE_LOCK},
	{"futex_mutex::Mutex::", FUTEX_USE_LOCK},
	{"futex_rwlock::RwLock::", FUTEX_USE_LOCK},
	{"raw_mutex::RawMutex::", FUTEX_USE_LOCK}, /* parking_lot */
	{"raw_rwlock::RawRwLock::", FUTEX_USE_LOCK},
	{"condvar::", FUTEX_USE_CONDITION},
	{"Condvar::", FUTEX_USE_CONDITION},
	{"thread::park", FUTEX_USE_OTHER},
	{"Parker::", FUTEX_USE_OTHER},
	{"Thread::unpark", FUTEX_USE_OTHER},
};

/* Whether @name is @function, maybe with a suffix: pthread_rwlock_rdlock, lll_lock_wait_private. */
static bool is_function(const char *name, const char *function)
{
	size_t n = strlen(function);

	return !strncmp(name, function, n) && (!name[n] || strchr("_.@0123456789", name[n]));
}

enum futex_use futex_use__by_function(const char *name)
{
	const char *plain = name + strspn(name, "_");

	if (!strncmp(plain, "GI_", 3))
		plain += 3 + strspn(plain + 3, "_");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (is_function(plain, functions[i].name))
			return functions[i].use;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].use;
	return FUTEX_USE_UNKNOWN;
}

enum futex_use futex_use__by_stack(const struct model *model, uint32_t stack)
{
	const struct model_stack *frames = &model->stacks.data[stack];

	for (size_t i = 0; i < frames->depth && i < MAX_FRAMES; i++) {
		const struct model_location *location = model__location(model, frames, i);

		for (size_t k = 0; k < location->n_frames; k++) {
			uint32_t name = model->frames.data[location->frame + k].name;
			enum futex_use use = futex_use__by_function(model__string(model, name));

			if (use != FUTEX_USE_UNKNOWN)
				return use;
		}
	}
	return FUTEX_USE_UNKNOWN;
}
