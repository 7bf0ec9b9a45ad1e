// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/record/annotations.h"
#include "collect/causal/virtual_time.h"
#include "collect/core/mappings.h"
#include "collect/record/sampling_throttle.h"
#include "collect/core/loader.h"
#include "collect/core/deferred_unwinds.h"
#include "collect/core/sideband.h"
#include "collect/core/target.h"
#include "collect/record/translate.h"
#include "collect/core/command.h"
#include "recording/recording.h"

#define POLL_MS		   100
#define POLL_TOLD_MS	   10 /* while the program tells of itself: it has little room */
#define FLUSH_NS	   1000000000ULL
#define LOOK_NS		   250000000ULL /* a look at all threads costs more the more there are */
#define SETTLE_US	   500		/* mappings come in bursts */
#define DEFAULT_RING	   (2UL << 20)
#define DEFAULT_TRACE_RING (16UL << 20)

/* A mapping that waits until the events before it have told whose process it is. */
struct held_mapping {
	struct mapping_event event;
	char *path;
};

struct session {
	struct session_config config;
	struct recording_writer *writer;
	struct workload *workload;
	struct probes *probes;
	struct sideband *sideband;
	struct mappings *mappings;
	struct unwinder *unwinder;
	struct translator *translator;
	struct rests *rests;
	struct annotations *annotations; /* NULL: the program cannot tell of itself */
	ARRAY(struct annotation) told;
	bool telling;
	struct pacer pacer;
	ARRAY(struct held_mapping) held;
	uint64_t start;
	uint64_t flushed_at;
	uint64_t looked_at; /* for targets that are left */
	uint64_t waits;	    /* events, since the pacer heard of them */
	uint64_t lost_mappings;
	uint64_t lost_told;
	uint64_t losses[LOSS_COUNT]; /* as written last */
	int exec_error;
	int status; /* of the workload */
	bool waited;
};

DEFINE_CLEANUP(struct session *, session__free)

static const char *loss_name(enum loss loss)
{
	static const char *const names[LOSS_COUNT] = {
		[LOSS_RING_FULL] = "events, ring buffer full",
		[LOSS_THREAD_STATE] = "threads, no memory for their state",
		[LOSS_WAKE_SKIPPED] = "stacks of wakers, ring buffer full",
		[LOSS_HIDDEN_SWITCH] = "switches, hidden from tracing by the kernel",
		[LOSS_REST_SKIPPED] = "stacks of new programs, ring buffer full",
		[LOSS_HIDDEN_WAKE] = "wakers, hidden from tracing by the kernel",
	};

	return names[loss];
}

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

/* Facts that are known at the start. */
static void write_header(struct session *session)
{
	struct recording_writer *writer = session->writer;
	const struct session_config *config = &session->config;
	_cleanup_fclose_ FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct utsname host;
	char boot_id[64];

	uname(&host);
	recording_writer__meta(writer, "version", "%s", DWELL_VERSION);
	recording_writer__meta(writer, "command", "%s", config->command_line);
	recording_writer__meta(writer, "target", "%s", target__name(config->target));
	recording_writer__meta(writer, "mode", "%s", config->trace ? "trace" : "sampling");
	recording_writer__meta(writer, "period_ns", "%lu", config->period_ns);
	recording_writer__meta(writer, "grid_seed", "%lu", probes__grid_seed(session->probes));
	recording_writer__meta(writer, "start", "%lu", session->start);
	recording_writer__meta(writer, "start_realtime", "%lu", now_ns(CLOCK_REALTIME));
	recording_writer__meta(writer, "hostname", "%s", host.nodename);
	recording_writer__meta(writer, "kernel", "%s", host.release);
	recording_writer__meta(writer, "machine", "%s", host.machine);
	recording_writer__meta(writer, "cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	write_interfaces(writer);
	recording_writer__meta(writer, "rung", "%s", probes__rung(session->probes));
	if (boot && fscanf(boot, "%63s", boot_id) == 1)
		recording_writer__meta(writer, "boot_id", "%s", boot_id);
}

static void hold_mapping(void *arg, const struct mapping_event *event)
{
	struct session *session = arg;
	struct held_mapping held = {.event = *event, .path = strdup(event->path)};

	if (!held.path || array__push(&session->held, held)) {
		session->lost_mappings++;
		free(held.path);
	}
}

/* Writes the held mappings made up to @time whose processes are recorded; keeps the rest. */
static void write_mappings(struct session *session, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->held.n; i++) {
		struct held_mapping held = session->held.data[i];

		held.event.path = held.path;
		if (held.event.time > time ||
		    !translator__knows_process(session->translator, (uint32_t)held.event.pid)) {
			session->held.data[kept++] = held;
			continue;
		}
		mappings__add(session->mappings, &held.event); /* the writer keeps its error */
		free(held.path);
	}
	session->held.n = kept;
}

/* Drops the held mappings made before @time: of processes that are not recorded. */
static void drop_mappings(struct session *session, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->held.n; i++) {
		if (session->held.data[i].event.time >= time)
			session->held.data[kept++] = session->held.data[i];
		else
			free(session->held.data[i].path);
	}
	session->held.n = kept;
}

static void on_event(void *arg, const struct event_header *event, size_t size)
{
	struct session *session = arg;

	/* A new process has what its parent had by then; a new program nothing of it. */
	if (event->type == EVENT_THREAD || event->type == EVENT_EXEC ||
	    event->type == EVENT_STACK_REST)
		write_mappings(session, event->time);
	if (event->type == EVENT_STACK_REST && size >= sizeof(struct event_rest)) {
		rests__event(session->rests, (const void *)event, size);
		return;
	}
	session->waits += event->type == EVENT_INTERVAL;
	translator__event(session->translator, event, size);
}

static void pace_waits(struct session *session)
{
	unsigned int before = session->pacer.spacing;

	if (pacer__step(&session->pacer, session->waits, now_ns(CLOCK_MONOTONIC)) != before)
		probes__space_waits(session->probes, session->pacer.spacing);
	session->waits = 0;
}

static void read_mappings(struct session *session)
{
	session->lost_mappings += sideband__drain(session->sideband, hold_mapping, session);
}

static void hold_annotation(void *arg, const struct annotation *annotation)
{
	struct session *session = arg;

	session->lost_told += array__push(&session->told, *annotation) != 0;
}

static void read_annotations(struct session *session, bool last)
{
	if (session->annotations &&
	    annotations__drain(session->annotations, last, hold_annotation, session)) {
		annotations__free(session->annotations);
		session->annotations = NULL;
	}
	session->telling = session->told.n;
}

/* Those that were read before the events: the threads they are of are known by now. */
static void write_annotations(struct session *session)
{
	for (size_t i = 0; i < session->told.n; i++)
		session->lost_told +=
			!translator__annotation(session->translator, &session->told.data[i]);
	session->told.n = 0;
}

/*
 * Moves what is queued in the kernel into the recording. Mappings are taken out
 * first and written last: by then the events that came before them have told
 * which processes are recorded. What a walk needs may have been mapped meanwhile.
 */
static int drain(struct session *session, bool last)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);
	int err;

	read_annotations(session, last);
	read_mappings(session);
	probes__stir_clocks(session->probes);
	err = probes__consume(session->probes);
	if (rests__kept(session->rests))
		read_mappings(session);
	write_mappings(session, UINT64_MAX);
	write_annotations(session);
	translator__find_parents(session->translator);
	rests__finish(session->rests, false);
	drop_mappings(session, begin);
	pace_waits(session);
	unwinder__publish(session->unwinder);
	return err < 0 ? error__errno(err, "cannot read the ring buffers") : 0;
}

/* What a larger buffer or more memory would have kept. */
static uint64_t total_lost(const struct session *session)
{
	uint64_t losses[LOSS_COUNT];

	probes__losses(session->probes, losses);
	return session->lost_mappings + losses[LOSS_RING_FULL] + losses[LOSS_THREAD_STATE] +
	       losses[LOSS_WAKE_SKIPPED] + losses[LOSS_REST_SKIPPED];
}

static int put_lost(struct session *session, const char *cause, uint64_t count)
{
	struct record record = {
		.type = RECORD_LOST,
		.lost = {.cause = recording_writer__string(session->writer, cause), .count = count},
	};

	return recording_writer__put(session->writer, &record);
}

/* Writes the losses that changed since the last time, so that a crash keeps them. */
static int write_losses(struct session *session)
{
	uint64_t losses[LOSS_COUNT];
	int err = 0;

	probes__losses(session->probes, losses);
	for (int i = 0; i < LOSS_COUNT && !err; i++)
		if (losses[i] != session->losses[i])
			err = put_lost(session, loss_name(i), losses[i]);
	memcpy(session->losses, losses, sizeof(losses));
	return err;
}

static int flush(struct session *session)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	int err;

	if (now - session->flushed_at < FLUSH_NS)
		return 0;
	session->flushed_at = now;
	err = write_losses(session);
	return err ? err : recording_writer__flush(session->writer);
}

static void fill_progress(const struct session *session, struct session_progress *progress)
{
	*progress = (struct session_progress){
		.elapsed_ns = now_ns(CLOCK_MONOTONIC) - session->start,
		.events = translator__events(session->translator),
		.lost = total_lost(session),
		.bytes = recording_writer__size(session->writer),
	};
	unwinder__stats(session->unwinder, &progress->unwinder);
}

static int open_probes(struct session *session, uint64_t cgroup)
{
	const struct session_config *config = &session->config;
	struct probes_config probes = {
		.period_ns = (uint32_t)config->period_ns,
		.helpers = config->helpers,
		.trace = config->trace,
		.follow = config->target != SESSION_THREADS,
		.ring_bytes = config->ring_bytes,
		.ids = config->ids,
		.n_ids = config->n_ids,
		.ids_are_threads = config->target == SESSION_THREADS,
		.everything = config->target == SESSION_SYSTEM,
		.cgroup = cgroup,
		.rung = config->rung,
		.causal = config->engine ? engine__probes(config->engine) : NULL,
	};
	int err;

	if (!probes.ring_bytes)
		probes.ring_bytes = config->trace ? DEFAULT_TRACE_RING : DEFAULT_RING;
	if (config->target == SESSION_COMMAND)
		probes.command = workload__pid(session->workload);
	err = probes__open(&probes, on_event, session, &session->probes);
	return err || !config->engine ? err : engine__use(config->engine, session->probes);
}

static int open_unwinder(struct session *session)
{
	struct unwinder_maps maps;
	int err;

	probes__unwinder_maps(session->probes, &maps);
	err = unwinder__new(&maps, session->config.table_bytes, &session->unwinder);
	return err ? error__errno(err, "cannot map the tables for stack walks") : 0;
}

/* For the command to tell of itself by include/dwell.h; without, it does not. */
static void open_annotations(struct session *session)
{
	if (!annotations__new(&session->annotations))
		setenv(DWELL_ENVIRONMENT, annotations__path(session->annotations), 1);
	else
		unsetenv(DWELL_ENVIRONMENT); /* of another recording around this one */
}

static int setup(struct session *session)
{
	const struct session_config *config = &session->config;
	uint64_t cgroup = 0;
	int err = target__check(config->target, config->ids, config->n_ids);

	if (!err && config->target == SESSION_CGROUP)
		err = target__cgroup_id(config->cgroup, &cgroup);
	if (!err && config->target == SESSION_COMMAND && !config->engine)
		open_annotations(session);
	if (!err && config->argv)
		err = workload__prepare(config->argv, &config->ignored, &session->workload);
	if (!err)
		err = open_probes(session, cgroup);
	if (!err)
		err = sideband__open(&session->sideband);
	if (!err)
		err = recording_writer__create(config->output, &session->writer);
	if (!err)
		err = open_unwinder(session);
	if (!err)
		err = mappings__new(session->writer, session->unwinder,
				    session->config.keep_mappings, &session->mappings);
	return err;
}

int session__new(const struct session_config *config, struct session **out)
{
	_cleanup_(session__freep) struct session *session = calloc(1, sizeof(*session));
	int err;

	if (!session)
		return -ENOMEM;
	session->config = *config;
	err = setup(session);
	if (err)
		return err;
	session->start = now_ns(CLOCK_MONOTONIC);
	pacer__start(&session->pacer, config->trace ? 0 : config->wait_limit, config->period_ns,
		     (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), session->start);
	err = translator__new(session->writer, session->mappings, session->unwinder, session->start,
			      &session->translator);
	if (err)
		return err;
	err = rests__new(session->writer, session->unwinder, &session->rests);
	if (err)
		return err;
	write_header(session);
	*out = TAKE_PTR(session);
	return 0;
}

const char *session__rung(const struct session *session)
{
	return probes__rung(session->probes);
}

static void add_process(void *arg, uint32_t pid)
{
	struct session *session = arg;

	translator__add_process(session->translator, pid);
}

/* What nearly every program maps is mapped into this very one, too, besides dwell itself. */
static void prepare_tables(struct session *session)
{
	_cleanup_free_ char *program = NULL;
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	if (!session->workload)
		return;
	while (maps && getline(&line, &size, maps) > 0) {
		const char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (path && strstr(line, " r-xp ") && !(self && !strcmp(path, self)))
			mappings__prepare(session->mappings, path);
	}
	program = workload__find(session->config.argv[0]);
	if (program)
		mappings__prepare(session->mappings, program);
}

static int begin(struct session *session)
{
	const struct session_config *config = &session->config;
	uint64_t marked = 0;
	int err;

	/* So that the first stacks can be walked already. */
	target__each_process(config->target, config->ids, config->n_ids, config->cgroup,
			     add_process, session);
	prepare_tables(session);
	unwinder__publish(session->unwinder);
	err = probes__start(session->probes, &marked);
	if (err)
		return err;
	if (!marked && session->config.n_ids)
		return error__set(-ESRCH, "no thread of %s is there any more",
				  session->config.target == SESSION_THREADS ? "those given"
									    : "the processes");
	if (!session->workload)
		return 0;
	err = workload__release(session->workload);
	session->exec_error = -err;
	return err;
}

/*
 * Waits for events, the end of the workload, or the poll interval, at most until @until.
 * True: the workload ended.
 */
static bool wait_for_something(const struct session *session, uint64_t until)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t wait_ns = (session->telling ? POLL_TOLD_MS : POLL_MS) * 1000000ULL;
	struct timespec time;

	struct pollfd fds[] = {
		{.fd = probes__fd(session->probes), .events = POLLIN},
		{.fd = session->workload ? workload__fd(session->workload) : -1, .events = POLLIN},
		{.fd = sideband__fd(session->sideband), .events = POLLIN},
	};

	if (until < now + wait_ns)
		wait_ns = until > now ? until - now : 0;
	time = (struct timespec){(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
	ppoll(fds, ARRAY_SIZE(fds), &time, NULL);
	if (fds[2].revents && !fds[1].revents)
		usleep(SETTLE_US);
	return fds[1].revents;
}

/* Processes or threads that were there before are recorded, and there is none left. */
static bool targets_ended(struct session *session)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	bool any = true;

	if (!session->config.n_ids || session->workload || now - session->looked_at < LOOK_NS)
		return false;
	session->looked_at = now;
	if (probes__any_left(session->probes, &any))
		error__clear(); /* to record on is no harm */
	return !any;
}

static bool stop_asked(const struct session *session, int signals)
{
	return signals > (session->workload ? 1 : 0);
}

int session__run(struct session *session, const volatile sig_atomic_t *stop,
		 session_progress_fn progress, void *arg)
{
	uint64_t end = session->config.duration_ns, turn = UINT64_MAX;
	struct session_progress now;
	bool ended = false;
	int err = begin(session);

	if (err)
		return err;
	end = end ? now_ns(CLOCK_MONOTONIC) + end : UINT64_MAX;
	while (!ended && !stop_asked(session, *stop) && now_ns(CLOCK_MONOTONIC) < end) {
		if (session->config.turn)
			turn = session->config.turn(session->config.turn_arg,
						    now_ns(CLOCK_MONOTONIC));
		if (!turn)
			break;
		ended = wait_for_something(session, turn) || targets_ended(session);
		err = drain(session, false);
		if (!err)
			err = flush(session);
		if (err)
			return err;
		fill_progress(session, &now);
		if (progress)
			progress(&now, arg);
	}
	if (stop_asked(session, *stop) && session->workload)
		workload__signal(session->workload, SIGTERM);
	return 0;
}

/* CPU time of dwell itself, without its children's. */
static uint64_t own_cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void write_machine(struct session *session)
{
	const struct kernel_counts *machine = probes__machine(session->probes);
	uint64_t made, told;

	recording_writer__meta(session->writer, "machine_busy_ns", "%lu", machine->busy_ns);
	recording_writer__meta(session->writer, "machine_idle_ns", "%lu", machine->idle_ns);
	probes__switches(session->probes, &made, &told);
	if (!made)
		return;
	recording_writer__meta(session->writer, "machine_switches", "%lu", made);
	recording_writer__meta(session->writer, "machine_switches_told", "%lu", told);
}

static int write_end(struct session *session, uint64_t end)
{
	struct unwinder_stats stats;
	uint64_t told;
	int err = write_losses(session);

	translator__end(session->translator);
	rests__finish(session->rests, true);
	told = session->lost_told;
	if (session->annotations)
		told += annotations__lost(session->annotations);
	if (!err && told)
		err = put_lost(session, "annotations, the program told more than there was room",
			       told);
	if (!err && session->lost_mappings)
		err = put_lost(session, "mappings, perf buffer full", session->lost_mappings);
	unwinder__stats(session->unwinder, &stats);
	if (!err && stats.tables.refused)
		err = put_lost(session, "unwind tables, table memory used up",
			       stats.tables.refused);
	if (!err && stats.no_space)
		err = put_lost(session, "mappings, no space to walk stacks by", stats.no_space);
	if (session->waited)
		recording_writer__meta(session->writer, "exit_status", "%d", session->status);
	write_machine(session);
	recording_writer__meta(session->writer, "cpu_ns", "%lu", own_cpu_ns());
	return recording_writer__meta(session->writer, "end", "%lu", end) ?: err;
}

int session__finish(struct session *session, struct session_progress *progress)
{
	uint64_t end = 0;
	int err, closed;

	err = probes__stop(session->probes, &end);
	if (!err)
		err = drain(session, true);
	if (!err)
		err = write_end(session, end);
	fill_progress(session, progress);
	progress->elapsed_ns = end - session->start;
	closed = recording_writer__close(TAKE_PTR(session->writer));
	return err ? err : closed;
}

void session__signal(const struct session *session, int signal)
{
	if (session->workload)
		workload__signal(session->workload, signal);
}

bool session__command_ended(const struct session *session)
{
	return session->workload && workload__has_ended(session->workload);
}

int session__command_status(struct session *session, int *exec_error)
{
	*exec_error = session->exec_error;
	if (!session->workload || session->exec_error)
		return -1;
	session->status = workload__wait(session->workload);
	session->waited = true;
	return session->status;
}

int session__dso_fd(const struct session *session, uint32_t dso)
{
	return mappings__fd(session->mappings, dso);
}

bool session__file(const struct session *session, size_t index, struct session_file *file)
{
	const char *path;
	uint32_t dso;

	if (!mappings__file(session->mappings, index, &dso, &path))
		return false;
	*file = (struct session_file){
		.dso = dso,
		.path = path,
		.fd = mappings__fd(session->mappings, dso),
		.slot = unwinder__slot(session->unwinder, dso),
	};
	return true;
}

bool session__mapping(const struct session *session, size_t index, struct unwinder_mapping *mapping)
{
	return mappings__code(session->mappings, index, mapping);
}

void session__forget_mappings(struct session *session)
{
	mappings__forget_code(session->mappings);
}

void session__free(struct session *session)
{
	drop_mappings(session, UINT64_MAX);
	array__free(&session->held);
	array__free(&session->told);
	if (session->annotations)
		annotations__free(session->annotations);
	if (session->probes)
		probes__free(session->probes);
	if (session->sideband)
		sideband__free(session->sideband);
	if (session->translator)
		translator__free(session->translator);
	if (session->rests)
		rests__free(session->rests);
	if (session->mappings)
		mappings__free(session->mappings);
	if (session->unwinder)
		unwinder__free(session->unwinder);
	if (session->writer)
		recording_writer__close(session->writer);
	if (session->workload)
		workload__free(session->workload);
	free(session);
}
