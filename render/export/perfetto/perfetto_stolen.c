// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs from which a hypervisor or interrupts took time: slices of a track below that of the thread,
 * as long as the run. When in the run it was is not known.
 */
#include "render/export/perfetto/perfetto_packets.h"

static void write_track(struct perfetto_writer *writer, uint32_t thread)
{
	protobuf__varint(&writer->event, 1, perfetto__track(TRACK_STOLEN, thread));
	protobuf__string(&writer->event, 2, "Stolen from runs");
	protobuf__varint(&writer->event, 5, perfetto__track(TRACK_THREAD, thread)); /* parent */
	perfetto__packet(writer, PERFETTO_TRACK_DESCRIPTOR, 0);
}

void perfetto_stolen__write(struct perfetto_writer *writer)
{
	for (uint32_t i = 1; i < writer->model->threads.n; i++) {
		uint64_t track = perfetto__track(TRACK_STOLEN, i);
		struct model_run run;
		size_t at = 0;

		for (bool first = true; export__stolen_run(writer->export, i, &at, &run);
		     first = false) {
			if (first)
				write_track(writer, i);
			perfetto__begin_event(writer, PERFETTO_BEGIN, track);
			perfetto__put_name(writer, "stolen");
			perfetto__put_category(writer, "stolen");
			perfetto__put_number(writer, "stolen_ns", run.stolen_ns);
			perfetto__packet(writer, PERFETTO_TRACK_EVENT, run.from);
			perfetto__slice_end(writer, track, run.until);
		}
	}
}
