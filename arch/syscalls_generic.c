// SPDX-License-Identifier: BSD-2-Clause
#include "arch/syscalls_generic.h"

/* In a separate file because its __NR_ macros collide with those of the native table. */
#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET
#include <asm-generic/unistd.h>

#include "base/cleanup.h"

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)
#define NAME(x)	 {#x, TEXT(__NR_##x)},

static const struct syscall_text generic[] = {
#include "arch/syscall_names.h"
};

const struct syscall_text *syscalls_generic__table(size_t *n)
{
	*n = ARRAY_SIZE(generic);
	return generic;
}
