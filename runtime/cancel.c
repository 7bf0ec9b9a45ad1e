// SPDX-License-Identifier: BSD-2-Clause
/*
 * The signal is by default the C library's own for pthread_cancel(), because programs
 * cannot block that one. The library takes it when a program first cancels a thread.
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
	pause__take_signal_again();
	return err;
}
