// SPDX-License-Identifier: BSD-2-Clause
#include "collect/programs/record_programs.h"

#include <errno.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/call_probe.h"
#include "abi/span.h"
#include "bpf/record.skel.h"
#include "collect/capture/task_walk.h"
#include "collect/probes/uprobes.h"

/* @needed: it will be attached to places in files. */
static void prepare_probe(struct bpf_program *program, bool needed,
			  const struct kernel_info *kernel)
{
	bpf_program__set_autoload(program, needed);
	bpf_program__set_autoattach(program, false);
	uprobes__prepare(program, kernel);
}

/* Selects the programs that @kernel supports, and that are needed. */
static void choose_programs(const struct record_programs *programs,
			    const struct kernel_info *kernel)
{
	struct record_bpf *skeleton = programs->skeleton;
	struct bpf_program *const spans[] = {
		skeleton->progs.on_span_begin,
		skeleton->progs.on_span_end,
		skeleton->progs.on_span_exit,
		skeleton->progs.on_span_return,
	};
	struct bpf_program *const calls[] = {
		skeleton->progs.on_call_entry,
		skeleton->progs.on_call_exit,
		skeleton->progs.on_call_return,
	};

	bpf_program__set_autoload(skeleton->progs.on_written, kernel->sock_length);
	bpf_program__set_autoload(skeleton->progs.on_ready, kernel->sock_length);
	bpf_program__set_autoattach(skeleton->progs.find_listeners, false);
	bpf_program__set_autoattach(skeleton->progs.find_queues, false);
	bpf_program__set_autoload(skeleton->progs.on_balance, kernel->pause_argument == 6);
	bpf_program__set_autoload(skeleton->progs.on_balance_before_6_15,
				  kernel->pause_argument == 10);
	bpf_program__set_autoload(skeleton->progs.on_migrate, !kernel->task_throttled);
	bpf_program__set_autoload(skeleton->progs.on_file_fault, kernel->filemap_fault);
	bpf_program__set_autoload(skeleton->progs.on_io_start, kernel->io_start);
	bpf_program__set_autoload(skeleton->progs.finish_targets, kernel->copy_from_user_task);
	bpf_program__set_autoload(skeleton->progs.finish_targets_kernel_only,
				  !kernel->copy_from_user_task);
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
		prepare_probe(spans[i], programs->span_probes, kernel);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		prepare_probe(calls[i], programs->call_probes, kernel);
	bpf_program__set_autoattach(skeleton->progs.freeze_targets, false);
	bpf_program__set_autoattach(skeleton->progs.finish_targets, false);
	bpf_program__set_autoattach(skeleton->progs.finish_targets_kernel_only, false);
}

/* Those of programs that are not loaded. */
static void shrink_maps(const struct record_programs *programs)
{
	if (!programs->trace) /* data that is held back is rare */
		bpf_map__set_max_entries(programs->skeleton->maps.flows, 2048);
	if (!programs->span_probes)
		bpf_map__set_max_entries(programs->skeleton->maps.open_spans, 1);
	if (!programs->call_probes)
		bpf_map__set_max_entries(programs->skeleton->maps.open_calls, 1);
	if (!programs->tells_runs)
		bpf_map__set_max_entries(programs->skeleton->maps.thread_runs, 1);
}

static int open_object(void *arg, const struct kernel_info *kernel,
		       const struct bpf_object_open_opts *options, struct bpf_object_skeleton **out)
{
	struct record_programs *programs = arg;

	programs->skeleton = record_bpf__open_opts(options);
	if (!programs->skeleton)
		return -errno;
	programs->skeleton->rodata->helpers = programs->helpers;
	programs->skeleton->rodata->stacks_of_lock_wakers_only = programs->lock_wakers;
	for (int i = 0; i < 2; i++)
		programs->skeleton->rodata->fault_range[i] = kernel->fault_range[i];
	programs->skeleton->rodata->io_start_exists = kernel->io_start;
	programs->skeleton->rodata->tells_runs = programs->tells_runs;
	choose_programs(programs, kernel);
	shrink_maps(programs);
	*out = programs->skeleton->skeleton;
	return 0;
}

static void close_object(void *arg)
{
	struct record_programs *programs = arg;

	record_bpf__destroy(programs->skeleton);
	programs->skeleton = NULL;
}

struct loader_object record_programs__loader(struct record_programs *programs)
{
	return (struct loader_object){.elf = record_bpf__elf_bytes,
				      .open = open_object,
				      .close = close_object,
				      .arg = programs};
}

int record_programs__devices(const struct record_programs *programs)
{
	return bpf_map__fd(programs->skeleton->maps.devices);
}

/* Passes on the requests that no later one has ended. */
static void end_requests(const struct record_programs *programs, struct capture *capture)
{
	int fd = bpf_map__fd(programs->skeleton->maps.connections);
	struct event_span event;
	uint64_t key, *previous = NULL;
	struct connection connection;

	while (!bpf_map_get_next_key(fd, previous, &key)) {
		previous = &key;
		if (bpf_map_lookup_elem(fd, &key, &connection) || !connection.begun ||
		    !connection.ended)
			continue;
		event = (struct event_span){
			.header = {EVENT_SPAN, connection.ended_by, connection.ended},
			.arrived = connection.arrived,
			.begun = connection.begun,
			.begun_by = connection.begun_by,
			.source = connection.source,
			.object = connection.object,
		};
		capture__event(capture, &event.header, sizeof(event));
	}
}

/* Passes on the calls that have not returned. */
static void end_calls(const struct record_programs *programs, struct capture *capture, uint64_t end)
{
	int fd = bpf_map__fd(programs->skeleton->maps.open_calls);
	struct open_call_key key, *previous = NULL;
	struct open_call call;
	struct event_call event;

	while (!bpf_map_get_next_key(fd, previous, &key)) {
		previous = &key;
		if (bpf_map_lookup_elem(fd, &key, &call))
			continue;
		event = (struct event_call){
			.header = {EVENT_CALL, key.thread, end},
			.begun = call.begun,
			.function = call.function,
			.caller = call.caller,
			.probe = key.probe,
			.unfinished = 1,
		};
		capture__event(capture, &event.header, sizeof(event));
	}
}

static void ignore_event(void *arg, const struct event_header *event, size_t size)
{
}

void record_programs__find_existing(const struct record_programs *programs)
{
	const struct bpf_program *finders[] = {programs->skeleton->progs.find_listeners,
					       programs->skeleton->progs.find_queues};

	for (size_t i = 0; i < ARRAY_SIZE(finders); i++)
		if (bpf_program__fd(finders[i]) >= 0)
			task_walk__run(finders[i], ignore_event, NULL);
}

static void attach(const struct bpf_program *program, struct bpf_link **link, bool wanted)
{
	if (wanted && !*link)
		*link = bpf_program__attach(program);
	if (wanted || !*link)
		return;
	bpf_link__destroy(*link);
	*link = NULL;
}

/* What is sent between two calls that is not much: it costs less than 0.1% of a CPU. */
#define FEW_SENDS 1000

void record_programs__tick(struct record_programs *programs)
{
	struct record_bpf *skeleton = programs->skeleton;
	uint64_t sends = 0, before = programs->other_sends;
	bool uses_tcp;

	if (programs->trace || !bpf_program__autoload(skeleton->progs.on_written))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(skeleton->bss->other_sends); i++)
		sends += skeleton->bss->other_sends[i].n;
	uses_tcp = skeleton->bss->tcp_seen;
	skeleton->bss->tcp_seen = 0;
	programs->other_sends = sends;
	if (!uses_tcp && sends - before <= FEW_SENDS)
		return;
	attach(skeleton->progs.on_written, &skeleton->links.on_written, uses_tcp);
	attach(skeleton->progs.on_ready, &skeleton->links.on_ready, uses_tcp);
}

#define RUNS_SIZE (THREAD_RUNS * sizeof(struct thread_run))

const struct thread_run *record_programs__map_runs(const struct record_programs *programs)
{
	void *runs = mmap(NULL, RUNS_SIZE, PROT_READ, MAP_SHARED,
			  bpf_map__fd(programs->skeleton->maps.thread_runs), 0);

	return runs == MAP_FAILED ? NULL : runs;
}

void record_programs__unmap_runs(const struct thread_run *runs)
{
	if (runs)
		munmap((void *)runs, RUNS_SIZE);
}

struct call_programs record_programs__calls(const struct record_programs *programs,
					    const struct kernel_info *kernel)
{
	const struct record_bpf *skeleton = programs->skeleton;

	return (struct call_programs){
		.on_entry = skeleton->progs.on_call_entry,
		.on_return = skeleton->progs.on_call_return,
		.on_exit = skeleton->progs.on_call_exit,
		.states = skeleton->bss->call_probes,
		.kernel = kernel,
	};
}

int record_programs__end(struct record_programs *programs, struct capture *capture, uint64_t end)
{
	struct record_bpf *skeleton = programs->skeleton;
	const struct kernel_info *kernel = loader__kernel(capture__loader(capture));

	end_requests(programs, capture);
	if (programs->call_probes)
		end_calls(programs, capture, end);
	return task_walk__run(kernel->copy_from_user_task
				      ? skeleton->progs.finish_targets
				      : skeleton->progs.finish_targets_kernel_only,
			      capture__event, capture);
}
