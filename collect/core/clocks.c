// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/clocks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/core/clock_jitter.h"
#include "collect/core/loader.h"

struct clocks {
	ARRAY(int) events; /* perf events, one per CPU */
	ARRAY(struct bpf_link *) links;
	struct clock_jitter jitter;
};

static uint32_t random_number(void)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)clock();
	return random;
}

/* Errors: -ENODEV for a CPU that is not there. */
static int add_clock(struct clocks *clocks, struct perf_event_attr *attr,
		     struct bpf_program *on_tick, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0 && errno == ENODEV)
		return -ENODEV;
	if (fd < 0)
		return loader__refused(-errno, "open the sampling clock");
	if (array__push(&clocks->events, fd))
		return close(fd), -ENOMEM;
	link = bpf_program__attach_perf_event(on_tick, fd);
	if (!link)
		return error__errno(-errno, "cannot attach to the clock of CPU %d", cpu);
	if (array__push(&clocks->links, link))
		return bpf_link__destroy(link), -ENOMEM;
	return 0;
}

int clocks__new(struct bpf_program *on_tick, uint32_t period_ns, struct clocks **out)
{
	_cleanup_(clocks__freep) struct clocks *clocks = calloc(1, sizeof(*clocks));
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int cpus = libbpf_num_possible_cpus();

	if (!clocks)
		return -ENOMEM;
	clock_jitter__start(&clocks->jitter, period_ns, random_number(), now_ns(CLOCK_MONOTONIC));
	attr.sample_period = clocks->jitter.tick;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int err = add_clock(clocks, &attr, on_tick, cpu);

		if (err && err != -ENODEV)
			return err;
	}
	*out = TAKE_PTR(clocks);
	return 0;
}

void clocks__jitter(struct clocks *clocks)
{
	struct clock_jitter *jitter = &clocks->jitter;

	if (!clock_jitter__step(jitter, random_number(), now_ns(CLOCK_MONOTONIC)))
		return;
	for (size_t i = 0; i < clocks->events.n; i++)
		ioctl(clocks->events.data[i], PERF_EVENT_IOC_PERIOD, &jitter->tick);
}

void clocks__free(struct clocks *clocks)
{
	for (size_t i = 0; i < clocks->links.n; i++)
		bpf_link__destroy(clocks->links.data[i]);
	for (size_t i = 0; i < clocks->events.n; i++)
		close(clocks->events.data[i]);
	array__free(&clocks->links);
	array__free(&clocks->events);
	free(clocks);
}
