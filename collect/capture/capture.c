// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/capture.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "collect/capture/child.h"
#include "collect/clocks/clocks.h"
#include "collect/stacks/deferred_unwinds.h"
#include "collect/capture/processes.h"
#include "collect/kernel/refusal.h"
#include "collect/kernel/rings.h"
#include "collect/kernel/sideband.h"

#define POLL_NS		   100000000ULL
#define CHECK_NS	   250000000ULL	 /* between checks for targets that are left */
#define CLOCKS_NS	   1000000000ULL /* between readings of the run queues' clocks */
#define CATCH_UP_NS	   10000000ULL /* between changes for the kernel side, while events come */
#define SETTLE_US	   500	       /* mappings come in bursts */
#define TABLES_NS	   3000000000ULL /* unwind tables are waited for so long, at most */
#define DEFAULT_RING	   (2UL << 20)
#define DEFAULT_TRACE_RING (16UL << 20)

struct capture {
	struct capture_config config;
	struct capture_sink sink;
	struct privsep *privsep;
	struct child *child; /* NULL: no command */
	struct rings *rings;
	struct loader *loader;
	struct clocks *clocks;
	struct sideband *sideband;
	struct unwinder *unwinder;
	struct address_spaces *spaces;
	struct processes *processes;
	struct deferred_unwinds *deferred;
	struct kernel_counts machine; /* at the start; after capture__finish(), of the capture */
	uint64_t start;
	bool outlived;	     /* the command has ended, and processes of it go on */
	uint64_t checked_at; /* for targets that are left */
	uint64_t clocks_read_at;
	uint64_t caught_up_at;
	uint64_t lost_mappings; /* by the kernel */
	int exec_error;
};

static void on_mapping_event(void *arg, const struct mapping_event *event)
{
	struct capture *capture = arg;

	processes__mapping(capture->processes, event);
}

static void on_stack(void *arg, const struct event_header *event, size_t size)
{
	struct capture *capture = arg;

	capture->sink.on_event(capture->sink.arg, event, size);
}

static void read_mappings(struct capture *capture)
{
	capture->lost_mappings += sideband__drain(capture->sideband, on_mapping_event, capture);
}

/*
 * Gives the kernel side what has been mapped meanwhile, for want of which it defers walks: neither
 * reading events, which may come as fast as they are read, nor opening the files of a process ends
 * soon.
 */
static void catch_up(struct capture *capture, uint64_t until)
{
	if (now_ns(CLOCK_MONOTONIC) < capture->caught_up_at + CATCH_UP_NS)
		return;
	read_mappings(capture);
	processes__release_mappings(capture->processes, until);
	unwinder__publish_changes(capture->unwinder);
	capture->caught_up_at = now_ns(CLOCK_MONOTONIC);
}

static void while_reading(void *arg)
{
	catch_up(arg, UINT64_MAX);
}

void capture__event(void *opaque, const struct event_header *event, size_t size)
{
	struct capture *capture = opaque;

	/* A new process has its parent's mappings at that time; a new program none of them. */
	if (event->type == EVENT_THREAD || event->type == EVENT_EXEC ||
	    event->type == EVENT_DEFERRED)
		processes__release_mappings(capture->processes, event->time);
	if (event->type == EVENT_DEFERRED) {
		deferred_unwinds__event(capture->deferred, (const void *)event, size);
	} else {
		capture->sink.on_event(capture->sink.arg, event, size);
		processes__event(capture->processes, event, size);
	}
	catch_up(capture, event->time);
}

/* Ends a batch: its deferred unwinds are done, and sent. */
static void finish_walks(struct capture *capture, bool last)
{
	deferred_unwinds__finish(capture->deferred, last);
	if (capture->sink.on_batch)
		capture->sink.on_batch(capture->sink.arg);
}

/*
 * Passes on what is queued in the kernel. Mappings are read first, but passed on last: by then,
 * earlier events have shown which processes are recorded. Mappings that were made while the events
 * were read are read after them: the events may need them.
 */
static void drain(struct capture *capture)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	read_mappings(capture);
	clocks__adjust(capture->clocks);
	rings__consume(capture->rings);
	if (capture->sink.on_batch || deferred_unwinds__kept(capture->deferred))
		read_mappings(capture);
	processes__release_mappings(capture->processes, UINT64_MAX);
	processes__find_parents(capture->processes);
	finish_walks(capture, false);
	processes__drop_mappings(capture->processes, begin);
	processes__end(capture->processes);
	unwinder__publish(capture->unwinder);
}

static int open_loader(struct capture *capture, const struct loader_object *object, uint64_t cgroup)
{
	const struct capture_config *config = &capture->config;
	struct loader_config loader = {
		.period_ns = (uint32_t)config->period_ns,
		.trace = config->trace,
		.follow = config->target != CAPTURE_THREADS,
		.linked = config->linked,
		.ring_bytes = config->ring_bytes,
		.ids = config->ids,
		.n_ids = config->n_ids,
		.ids_are_threads = config->target == CAPTURE_THREADS,
		.everything = config->target == CAPTURE_SYSTEM,
		.cgroup = cgroup,
		.zygote = privsep__zygote(capture->privsep),
		.spans = config->spans,
		.counts_left = config->goes_on,
		.return_probes = config->return_probes,
		.rung = config->rung,
	};
	const int *maps;
	uint32_t n;
	int err;

	if (!loader.ring_bytes)
		loader.ring_bytes = config->trace ? DEFAULT_TRACE_RING : DEFAULT_RING;
	if (config->target == CAPTURE_COMMAND)
		loader.command = child__pid(capture->child);
	err = rings__new(loader.ring_bytes, capture__event, capture, &capture->rings);
	if (err)
		return err;
	maps = rings__maps(capture->rings, &n);
	err = loader__open(&loader, object, maps, n, &capture->loader);
	if (err)
		return err;
	return clocks__new(loader__program(capture->loader, "on_tick"), loader.period_ns,
			   loader__cpus(capture->loader), &capture->clocks);
}

static int open_unwinder(struct capture *capture)
{
	struct unwinder_maps maps;
	int err;

	loader__unwinder_maps(capture->loader, &maps);
	err = unwinder__new(&maps, capture->config.table_bytes, capture->privsep,
			    &capture->unwinder);
	return err ? error__errno(err, "cannot map the tables for stack walks") : 0;
}

/* Mappings that processes have already are as old as this. */
static int open_processes(struct capture *capture)
{
	const struct capture_sink *sink = &capture->sink;
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	int err = address_spaces__new(capture->unwinder, capture->privsep, sink->on_mapping,
				      sink->arg, &capture->spaces);

	if (!err && capture->config.keep_files)
		address_spaces__keep_all(capture->spaces);
	if (!err)
		err = processes__new(capture->spaces, capture->unwinder, now, while_reading,
				     capture, &capture->processes);
	if (!err)
		err = deferred_unwinds__new(capture->unwinder, on_stack, capture,
					    &capture->deferred);
	return err;
}

static int start_child(struct capture *capture)
{
	const struct capture_config *config = &capture->config;
	struct child_user user = {};
	int err = config->user ? child__find_user(config->user, &user) : 0;

	if (!err)
		err = child__prepare(config->argv, &config->ignored, config->user ? &user : NULL,
				     &capture->child);
	free(user.groups);
	return err;
}

static int setup(struct capture *capture, const struct loader_object *object)
{
	const struct capture_config *config = &capture->config;
	uint64_t cgroup = 0;
	int err = targets__check(config->target, config->ids, config->n_ids);

	if (!err && config->target == CAPTURE_CGROUP)
		err = targets__cgroup_id(config->cgroup, &cgroup);
	if (!err) /* first: it has no descriptor or memory that comes later */
		err = privsep__start(&capture->privsep);
	if (!err && config->argv)
		err = start_child(capture);
	if (!err)
		err = open_loader(capture, object, cgroup);
	if (!err)
		err = sideband__open(&capture->sideband);
	if (!err)
		err = open_unwinder(capture);
	return err ? err : open_processes(capture);
}

int capture__new(const struct capture_config *config, const struct loader_object *object,
		 const struct capture_sink *sink, struct capture **out)
{
	_cleanup_(capture__freep) struct capture *capture = calloc(1, sizeof(*capture));
	int err;

	if (!capture)
		return -ENOMEM;
	refusal__keep_messages();
	limits__raise(); /* the command gets them as they were */
	capture->config = *config;
	capture->sink = *sink;
	err = setup(capture, object);
	if (err)
		return err;
	*out = TAKE_PTR(capture);
	return 0;
}

static void add_process(void *arg, uint32_t pid)
{
	struct capture *capture = arg;

	if (!privsep__owns(capture->privsep, (pid_t)pid))
		processes__add(capture->processes, pid);
}

/* Its threads may have stacks only at the end, when it is too late to build tables. */
static void add_target(void *arg, uint32_t pid)
{
	struct capture *capture = arg;

	if (privsep__owns(capture->privsep, (pid_t)pid))
		return;
	unwinder__record(capture->unwinder, pid);
	processes__add(capture->processes, pid);
}

/* Whether most programs map @path: the loader, or a library of the C or C++ compiler. */
static bool is_common(const char *path)
{
	static const char *const common[] = {"ld-",   "ld.so",	     "libc.",	   "libc-",
					     "libm.", "libpthread.", "libstdc++.", "libgcc_s."};
	const char *name = strrchr(path, '/') + 1;

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (!strncmp(name, common[i], strlen(common[i])))
			return true;
	return false;
}

/*
 * Builds unwind tables before the command starts: of what dwell itself maps of the most common
 * libraries, and of the command.
 */
static void prepare_tables(struct capture *capture)
{
	_cleanup_free_ char *program = NULL;
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	if (!capture->child)
		return;
	while (maps && getline(&line, &size, maps) > 0) {
		const char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (path && strstr(line, " r-xp ") && is_common(path))
			address_spaces__prepare(capture->spaces, path);
	}
	program = child__find(capture->config.argv[0]);
	if (program)
		address_spaces__prepare(capture->spaces, program);
}

static int begin(struct capture *capture)
{
	const struct capture_config *config = &capture->config;
	uint64_t marked = 0;
	int err;

	/* Before loader__start(), so that the first stacks can be walked. */
	targets__each_process(config->target, config->ids, config->n_ids, config->cgroup,
			      add_target, capture);
	if (config->linked)
		targets__each_process(CAPTURE_SYSTEM, NULL, 0, NULL, add_process, capture);
	prepare_tables(capture);
	unwinder__wait(capture->unwinder, now_ns(CLOCK_MONOTONIC) + TABLES_NS);
	unwinder__publish(capture->unwinder);
	kernel__count(&capture->machine);
	capture->start = now_ns(CLOCK_MONOTONIC);
	err = loader__start(capture->loader, &marked);
	if (err)
		return err;
	if (!marked && config->n_ids)
		return error__set(-ESRCH, "no thread of %s is there any more",
				  config->target == CAPTURE_THREADS ? "those given"
								    : "the processes");
	if (!capture->child)
		return 0;
	err = child__release(capture->child);
	capture->exec_error = -err;
	return err;
}

/*
 * Waits for events, the end of the command, or the end of the poll interval, at most until @until.
 * True: the command has ended.
 */
static bool wait_for_events(const struct capture *capture, uint64_t until)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), wait_ns = POLL_NS;
	struct timespec time;
	struct pollfd fds[] = {
		{.fd = rings__fd(capture->rings), .events = POLLIN},
		{.fd = capture->child && !capture->outlived ? child__fd(capture->child) : -1,
		 .events = POLLIN},
		{.fd = sideband__fd(capture->sideband), .events = POLLIN},
		{.fd = unwinder__fd(capture->unwinder), .events = POLLIN},
	};

	if (until < now + wait_ns)
		wait_ns = until > now ? until - now : 0;
	time = (struct timespec){(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
	ppoll(fds, ARRAY_SIZE(fds), &time, NULL);
	if (fds[2].revents && !fds[1].revents)
		usleep(SETTLE_US);
	return fds[1].revents;
}

/*
 * Whether processes or threads are recorded by id, or go on after the command, and none is left.
 */
static bool targets_ended(struct capture *capture)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	bool any = true;

	if (!capture->outlived && (!capture->config.n_ids || capture->child))
		return false;
	if (now - capture->checked_at < CHECK_NS)
		return false;
	capture->checked_at = now;
	if (loader__any_left(capture->loader, &any))
		error__clear(); /* continue: unknown */
	return !any;
}

static void read_clocks(struct capture *capture, uint64_t now)
{
	if (now - capture->clocks_read_at < CLOCKS_NS)
		return;
	capture->clocks_read_at = now;
	loader__read_clocks(capture->loader);
}

/* The command has ended: whether to go on because processes of it still run. */
static bool goes_on(struct capture *capture)
{
	bool any = true;

	if (capture->outlived || !capture->config.goes_on || capture->exec_error)
		return false;
	/* Threads that end during a look make it uncertain. */
	for (int look = 0; look < 3 && any; look++)
		if (loader__any_left(capture->loader, &any))
			return error__clear(), false;
	capture->outlived = any && capture->config.goes_on(capture->sink.arg);
	return capture->outlived;
}

static bool stop_asked(const struct capture *capture, int signals)
{
	return signals > (capture->child && !capture->outlived ? 1 : 0);
}

int capture__run(struct capture *capture, const volatile sig_atomic_t *stop)
{
	uint64_t end = capture->config.duration_ns;
	int err = begin(capture);
	bool ended = false;

	if (err)
		return err;
	end = end ? now_ns(CLOCK_MONOTONIC) + end : UINT64_MAX;
	while (!ended && !stop_asked(capture, *stop) && now_ns(CLOCK_MONOTONIC) < end) {
		uint64_t next = capture->sink.on_tick(capture->sink.arg, now_ns(CLOCK_MONOTONIC));

		if (!next)
			break;
		ended = wait_for_events(capture, next < end ? next : end) && !goes_on(capture);
		ended = ended || targets_ended(capture);
		read_clocks(capture, now_ns(CLOCK_MONOTONIC));
		if (capture->child)
			child__forward(capture->child, capture->config.to_forward);
		err = loader__mark_entered(capture->loader);
		if (err)
			return err;
		drain(capture);
	}
	if (stop_asked(capture, *stop) && capture->child && !capture->outlived)
		child__signal(capture->child, SIGTERM);
	return loader__mark_entered(capture->loader); /* since the last wait */
}

static void count_machine(struct capture *capture)
{
	struct kernel_counts before = capture->machine, *now = &capture->machine;

	kernel__count(now);
	now->switches -= before.switches;
	now->busy_ns -= before.busy_ns;
	now->idle_ns = now->idle_ns > before.idle_ns ? now->idle_ns - before.idle_ns : 0;
}

/* Events that are kept, each preceded by its size, until those before them were passed on. */
struct kept_events {
	ARRAY(char) bytes;
	uint64_t last; /* time of the last totals; 0: none */
	int error;
};

static void keep_event(void *arg, const struct event_header *event, size_t size)
{
	struct kept_events *kept = arg;
	uint64_t n = size;

	if (array__reserve(&kept->bytes, sizeof(n) + size)) {
		kept->error = -ENOMEM;
		return;
	}
	memcpy(kept->bytes.data + kept->bytes.n, &n, sizeof(n));
	memcpy(kept->bytes.data + kept->bytes.n + sizeof(n), event, size);
	kept->bytes.n += sizeof(n) + size;
	if (event->type == EVENT_TOTALS && event->time > kept->last)
		kept->last = event->time;
}

static int pass_on(struct capture *capture, const struct kept_events *kept)
{
	uint64_t size, at = 0;

	for (; at < kept->bytes.n; at += size) {
		memcpy(&size, kept->bytes.data + at, sizeof(size));
		at += sizeof(size);
		capture__event(capture, (const void *)(kept->bytes.data + at), size);
	}
	return kept->error;
}

int capture__finish(struct capture *capture, uint64_t *end)
{
	struct kept_events frozen = {};
	int err = loader__freeze(capture->loader, keep_event, &frozen);

	loader__stop(capture->loader);
	/* It ended then, even if it takes long until dwell gets a CPU. */
	*end = frozen.last ? frozen.last : now_ns(CLOCK_MONOTONIC);
	count_machine(capture); /* at once: later switches are not seen */
	loader__detach(capture->loader);
	rings__consume(capture->rings);
	if (!err)
		err = loader__freeze(capture->loader, keep_event, &frozen);
	if (!err)
		err = pass_on(capture, &frozen);
	array__free(&frozen.bytes);
	if (!err)
		err = capture->sink.on_end(capture->sink.arg, *end);
	if (!err)
		drain(capture);
	unwinder__wait(capture->unwinder, now_ns(CLOCK_MONOTONIC) + TABLES_NS);
	/* Not unwinder__publish(): the walks are of processes that it would forget. */
	unwinder__take_tables(capture->unwinder);
	finish_walks(capture, true);
	return err;
}

void capture__send_again(struct capture *capture)
{
	__atomic_fetch_add(&loader__state(capture->loader)->sent_salt, 0x9e3779b97f4a7c15ULL,
			   __ATOMIC_SEQ_CST);
}

void capture__space_waits(struct capture *capture, unsigned int spacing)
{
	__atomic_store_n(&loader__state(capture->loader)->spacing, (uint8_t)spacing,
			 __ATOMIC_SEQ_CST);
}

uint64_t capture__start(const struct capture *capture)
{
	return capture->start;
}

const struct loader *capture__loader(const struct capture *capture)
{
	return capture->loader;
}

struct privsep *capture__privsep(const struct capture *capture)
{
	return capture->privsep;
}

const struct address_spaces *capture__spaces(const struct capture *capture)
{
	return capture->spaces;
}

void capture__losses(const struct capture *capture, struct capture_losses *losses)
{
	const struct capture_state *state = loader__state(capture->loader);

	for (int i = 0; i < LOSS_COUNT; i++)
		losses->kernel[i] = __atomic_load_n(&state->losses[i], __ATOMIC_RELAXED);
	losses->kernel[LOSS_PROGRAM_SKIPPED] += loader__skipped(capture->loader);
	losses->mappings = capture->lost_mappings + processes__lost(capture->processes);
}

void capture__unwinder_stats(const struct capture *capture, struct unwinder_stats *stats)
{
	unwinder__stats(capture->unwinder, stats);
}

const struct kernel_counts *capture__machine(const struct capture *capture)
{
	return &capture->machine;
}

void capture__switches(const struct capture *capture, uint64_t *made, uint64_t *seen)
{
	*made = capture->machine.switches;
	*seen = loader__switches(capture->loader);
	if (*made < *seen) /* the kernel does not count, or counted later than dwell */
		*made = *seen = 0;
}

uint64_t capture__slowest_clock(const struct capture *capture, uint64_t *share)
{
	return clocks__slowest(capture->clocks, share);
}

bool capture__command_ended(const struct capture *capture)
{
	return capture->child && child__has_ended(capture->child);
}

bool capture__exec_failed(const struct capture *capture)
{
	return capture->exec_error;
}

int capture__command_status(struct capture *capture, int *exec_error)
{
	*exec_error = capture->exec_error;
	if (!capture->child || capture->exec_error)
		return -1;
	return child__wait(capture->child, capture->config.to_forward);
}

void capture__free(struct capture *capture)
{
	if (capture->clocks)
		clocks__free(capture->clocks);
	if (capture->deferred)
		deferred_unwinds__free(capture->deferred);
	if (capture->processes)
		processes__free(capture->processes);
	if (capture->spaces)
		address_spaces__free(capture->spaces);
	if (capture->unwinder)
		unwinder__free(capture->unwinder);
	if (capture->sideband)
		sideband__free(capture->sideband);
	if (capture->loader)
		loader__free(capture->loader);
	if (capture->rings)
		rings__free(capture->rings);
	if (capture->child)
		child__free(capture->child);
	if (capture->privsep)
		privsep__free(capture->privsep);
	free(capture);
}
