// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/recording_meta.h"

#include <net/if.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "collect/capture/child.h"

static void write_interfaces(struct record_stream *stream)
{
	struct if_nameindex *all = if_nameindex();

	for (const struct if_nameindex *at = all; at && at->if_index; at++) {
		char key[32];

		snprintf(key, sizeof(key), "interface_%u", at->if_index);
		record_stream__meta(stream, key, "%s", at->if_name);
	}
	if (all)
		if_freenameindex(all);
}

void recording_meta__write_start(struct record_stream *stream, uint64_t start)
{
	uint64_t passed = now_ns(CLOCK_MONOTONIC) - start;

	record_stream__meta(stream, "start", "%lu", start);
	record_stream__meta(stream, "start_realtime", "%lu", now_ns(CLOCK_REALTIME) - passed);
}

void recording_meta__write_header(struct record_stream *stream,
				  const struct recorder_config *config,
				  const struct capture *capture)
{
	const struct loader *loader = capture__loader(capture);
	_cleanup_fclose_ FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct utsname host;
	char boot_id[64];

	uname(&host);
	record_stream__meta(stream, "version", "%s", dwell_version);
	record_stream__meta(stream, "command", "%s", config->command_line);
	record_stream__meta(stream, "target", "%s", targets__name(config->capture.target));
	record_stream__meta(stream, "mode", "%s", config->capture.trace ? "trace" : "sampling");
	record_stream__meta(stream, "period_ns", "%lu", config->capture.period_ns);
	record_stream__meta(stream, "grid_seed", "%llu", loader__settings(loader)->grid_seed);
	record_stream__meta(stream, "hostname", "%s", host.nodename);
	record_stream__meta(stream, "kernel", "%s", host.release);
	record_stream__meta(stream, "machine", "%s", host.machine);
	record_stream__meta(stream, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	write_interfaces(stream);
	record_stream__meta(stream, "rung", "%s", loader__rung(loader));
	if (boot && fscanf(boot, "%63s", boot_id) == 1)
		record_stream__meta(stream, "boot_id", "%s", boot_id);
}

static void write_exit_status(struct record_stream *stream, struct capture *capture)
{
	int exec_error, status = -1;

	if (capture__command_ended(capture))
		status = capture__command_status(capture, &exec_error);
	if (status >= 0)
		record_stream__meta(stream, "exit_status", "%d", child__exit_status(status));
}

static void write_machine(struct record_stream *stream, const struct capture *capture)
{
	const struct kernel_counts *machine = capture__machine(capture);
	uint64_t made, seen;

	record_stream__meta(stream, "machine_busy_ns", "%lu", machine->busy_ns);
	record_stream__meta(stream, "machine_idle_ns", "%lu", machine->idle_ns);
	capture__switches(capture, &made, &seen);
	if (!made)
		return;
	record_stream__meta(stream, "machine_switches", "%lu", made);
	record_stream__meta(stream, "machine_switches_told", "%lu", seen);
}

int recording_meta__write_end(struct record_stream *stream, struct capture *capture, uint64_t end)
{
	write_exit_status(stream, capture);
	write_machine(stream, capture);
	/* Without its children. */
	record_stream__meta(stream, "cpu_ns", "%lu", now_ns(CLOCK_PROCESS_CPUTIME_ID));
	return record_stream__meta(stream, "end", "%lu", end);
}
