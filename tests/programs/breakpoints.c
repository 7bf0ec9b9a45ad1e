// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether the processor's breakpoints fire on this machine: how often one on a function of this
 * program's fired in a hundred calls.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void __attribute__((noinline)) here(void)
{
	__asm__ volatile("");
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uint64_t)(uintptr_t)here,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t fired = 0;

	for (int i = 0; i < 100; i++)
		here();
	if (fd < 0 || read(fd, &fired, sizeof(fired)) != sizeof(fired))
		fired = 0;
	printf("{\"fired\": %llu}\n", (unsigned long long)fired);
	return 0;
}
