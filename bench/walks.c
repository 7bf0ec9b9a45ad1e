// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a walk over the user stack costs in the kernel, by its depth: by unwind
 * tables and by the frame-pointer helper, both over the same stacks of this very
 * program, which is compiled with frame pointers. (The helper ends after 127
 * frames, kernel.perf_event_max_stack.)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "abi/capture.h"
#include "abi/unwind.h"
#include "collect/stacks/unwinder.h"
#include "bench/walks.skel.h"

#define PERIOD_NS  100000
#define MEASURE_NS 1000000000ULL

static void die(const char *what)
{
	fprintf(stderr, "bench/walks: %s: %s\n", what, strerror(errno));
	exit(1);
}

static __attribute__((noinline)) void descend(int depth, uint64_t until)
{
	if (depth > 1)
		descend(depth - 1, until);
	else
		while (now_ns(CLOCK_MONOTONIC) < until)
			;
	__asm__ volatile(""); /* no tail call */
}

/* Tells @unwinder of what this process maps. */
static void map_all(struct unwinder *unwinder)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	uint32_t dso = 0;

	while (maps && getline(&line, &size, maps) > 0) {
		struct unwinder_mapping mapping = {.pid = (uint32_t)getpid(),
						   .file = {.fd = -1, .name = ""}};
		const char *path = strchr(line, '/');
		uint64_t end;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64, &mapping.start, &end,
			   &mapping.offset) != 3)
			continue;
		mapping.size = end - mapping.start;
		mapping.file.dso = path ? ++dso : UNWIND_TABLES_VDSO;
		if (path)
			mapping.file.fd = open(path, O_PATH | O_CLOEXEC); /* stays open */
		unwinder__map(unwinder, &mapping);
	}
	unwinder__wait(unwinder, UINT64_MAX);
	unwinder__publish(unwinder);
}

static struct bpf_link *attach_clock(const struct walks_bpf *skeleton)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		die("perf_event_open");
	link = bpf_program__attach_perf_event(skeleton->progs.on_tick, fd);
	if (!link)
		die("cannot attach");
	return link;
}

static void measure(struct walks_bpf *skeleton, int depth)
{
	struct walks_bpf__bss *bss = skeleton->bss;
	double per_stack[2], per_frame[2];

	memset(bss->ns, 0, sizeof(bss->ns));
	memset(bss->frames, 0, sizeof(bss->frames));
	memset(bss->stacks, 0, sizeof(bss->stacks));
	descend(depth, now_ns(CLOCK_MONOTONIC) + MEASURE_NS);
	for (int way = 0; way < 2; way++) {
		per_stack[way] = (double)bss->ns[way] / (double)bss->stacks[way];
		per_frame[way] = (double)bss->ns[way] / (double)bss->frames[way];
	}
	printf("%6d  %8" PRIu64 "  %7.0f %9.0f %9.1f  %7.0f %9.0f %9.1f\n", depth,
	       (uint64_t)bss->stacks[0], (double)bss->frames[0] / (double)bss->stacks[0],
	       per_stack[0], per_frame[0], (double)bss->frames[1] / (double)bss->stacks[1],
	       per_stack[1], per_frame[1]);
}

int main(void)
{
	static const int depths[] = {1, 4, 8, 16, 32, 64, 120, 250, 500};
	struct walks_bpf *skeleton;
	struct unwinder_maps maps;
	struct privsep *privsep;
	struct unwinder *unwinder;
	struct bpf_link *link;

	if (privsep__start(&privsep))
		die("cannot start the processes that read files");
	skeleton = walks_bpf__open();
	if (!skeleton)
		die("cannot open the kernel side");
	skeleton->rodata_capture->settings.use_tables = true;
	if (walks_bpf__load(skeleton))
		die("cannot load the kernel side");
	maps = (struct unwinder_maps){
		.tables = bpf_map__fd(skeleton->maps.unwind_tables),
		.mappings = bpf_map__fd(skeleton->maps.unwind_mappings),
		.processes = bpf_map__fd(skeleton->maps.unwind_processes),
		.files = bpf_map__fd(skeleton->maps.unwind_files),
	};
	if (unwinder__new(&maps, 64 << 20, privsep, &unwinder))
		die("cannot map the tables");
	unwinder__record(unwinder, (uint32_t)getpid());
	map_all(unwinder);
	link = attach_clock(skeleton);
	printf("                        by unwind tables              by frame pointers\n"
	       " depth    stacks   frames  ns/stack  ns/frame   frames  ns/stack  ns/frame\n");
	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++)
		measure(skeleton, depths[i]);
	bpf_link__destroy(link);
	unwinder__free(unwinder);
	privsep__free(privsep);
	walks_bpf__destroy(skeleton);
	return 0;
}
