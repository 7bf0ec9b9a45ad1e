// SPDX-License-Identifier: BSD-2-Clause
/*
 * By default the signal is that of the C library for pthread_cancel(), because programs cannot
 * block it. The library installs its handler when a program first cancels a thread.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "runtime/runtime.h"

EXPORTED int pthread_cancel(pthread_t thread)
{
	static int (*real)(pthread_t);
	int err;

	if (!real)
		real = (int (*)(pthread_t))dlsym(RTLD_NEXT, "pthread_cancel");
	if (!real)
		return 38; /* ENOSYS */
	err = real(thread);
	pause__reinstall_handler();
	return err;
}
