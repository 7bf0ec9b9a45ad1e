// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/breakpoint.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/probe_functions.h"

int breakpoint__open(pid_t tid, uint64_t address)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = BREAKPOINT_BYTES,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void __attribute__((noinline)) breakpoint_here(void)
{
	__asm__ volatile("");
}

bool breakpoint__is_delivered(void)
{
	static int delivered = -1;
	uint64_t count = 0;
	int fd;

	if (delivered >= 0)
		return delivered;
	fd = breakpoint__open(0, (uint64_t)(uintptr_t)breakpoint_here);
	if (fd < 0)
		return true;
	breakpoint_here();
	delivered = read(fd, &count, sizeof(count)) == sizeof(count) && count > 0;
	close(fd);
	return delivered;
}
