// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/recording_meta.h"

#include <net/if.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "collect/core/child.h"

static void write_interfaces(struct recording_writer *writer)
{
	struct if_nameindex *all = if_nameindex();

	for (const struct if_nameindex *at = all; at && at->if_index; at++) {
		char key[32];

		snprintf(key, sizeof(key), "interface_%u", at->if_index);
		recording_writer__meta(writer, key, "%s", at->if_name);
	}
	if (all)
		if_freenameindex(all);
}

void recording_meta__write_start(struct recording_writer *writer, uint64_t start)
{
	uint64_t passed = now_ns(CLOCK_MONOTONIC) - start;

	recording_writer__meta(writer, "start", "%lu", start);
	recording_writer__meta(writer, "start_realtime", "%lu", now_ns(CLOCK_REALTIME) - passed);
}

void recording_meta__write_header(struct recording_writer *writer,
				  const struct recorder_config *config,
				  const struct capture *capture)
{
	const struct loader *loader = capture__loader(capture);
	_cleanup_fclose_ FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct utsname host;
	char boot_id[64];

	uname(&host);
	recording_writer__meta(writer, "version", "%s", dwell_version);
	recording_writer__meta(writer, "command", "%s", config->command_line);
	recording_writer__meta(writer, "target", "%s", targets__name(config->capture.target));
	recording_writer__meta(writer, "mode", "%s", config->capture.trace ? "trace" : "sampling");
	recording_writer__meta(writer, "period_ns", "%lu", config->capture.period_ns);
	recording_writer__meta(writer, "grid_seed", "%llu", loader__settings(loader)->grid_seed);
	recording_writer__meta(writer, "hostname", "%s", host.nodename);
	recording_writer__meta(writer, "kernel", "%s", host.release);
	recording_writer__meta(writer, "machine", "%s", host.machine);
	recording_writer__meta(writer, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	write_interfaces(writer);
	recording_writer__meta(writer, "rung", "%s", loader__rung(loader));
	if (boot && fscanf(boot, "%63s", boot_id) == 1)
		recording_writer__meta(writer, "boot_id", "%s", boot_id);
}

static void write_exit_status(struct recording_writer *writer, struct capture *capture)
{
	int exec_error, status = -1;

	if (capture__command_ended(capture))
		status = capture__command_status(capture, &exec_error);
	if (status >= 0)
		recording_writer__meta(writer, "exit_status", "%d", child__exit_status(status));
}

static void write_machine(struct recording_writer *writer, const struct capture *capture)
{
	const struct kernel_counts *machine = capture__machine(capture);
	uint64_t made, seen;

	recording_writer__meta(writer, "machine_busy_ns", "%lu", machine->busy_ns);
	recording_writer__meta(writer, "machine_idle_ns", "%lu", machine->idle_ns);
	capture__switches(capture, &made, &seen);
	if (!made)
		return;
	recording_writer__meta(writer, "machine_switches", "%lu", made);
	recording_writer__meta(writer, "machine_switches_told", "%lu", seen);
}

int recording_meta__write_end(struct recording_writer *writer, struct capture *capture,
			      uint64_t end)
{
	write_exit_status(writer, capture);
	write_machine(writer, capture);
	/* Without its children. */
	recording_writer__meta(writer, "cpu_ns", "%lu", now_ns(CLOCK_PROCESS_CPUTIME_ID));
	return recording_writer__meta(writer, "end", "%lu", end);
}
