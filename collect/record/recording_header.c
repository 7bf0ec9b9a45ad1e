// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/recording_header.h"

#include <net/if.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"

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

void recording_header__write_start(struct recording_writer *writer, uint64_t start)
{
	uint64_t passed = now_ns(CLOCK_MONOTONIC) - start;

	recording_writer__meta(writer, "start", "%lu", start);
	recording_writer__meta(writer, "start_realtime", "%lu", now_ns(CLOCK_REALTIME) - passed);
}

void recording_header__write(struct recording_writer *writer, const struct recorder_config *config,
			     const struct capture *capture)
{
	const struct loader *loader = capture__loader(capture);
	_cleanup_fclose_ FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct utsname host;
	char boot_id[64];

	uname(&host);
	recording_writer__meta(writer, "version", "%s", DWELL_VERSION);
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
