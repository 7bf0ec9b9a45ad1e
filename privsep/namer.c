// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/namer.h"

#include <errno.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "privsep/name_files.h"

#define SECOND_NS  1000000000ULL
#define BATCH_NS   (5 * SECOND_NS)  /* a batch may take so long, */
#define ADDRESS_NS 5000000ULL	    /* and so much longer for each address, */
#define BYTES_RATE (20ULL << 20)    /* and a second for so many bytes of each file, */
#define FILES_NS   (60 * SECOND_NS) /* but not more than this for all of them */
#define MAX_OPENS  64		    /* files that may be asked for in a batch */

struct namer {
	struct privsep *privsep;
	struct privsep_child child;
	struct symbolizer_options options;
	char *debug_root;
	unsigned int failures;
	bool idle;
	atomic_bool cancelled;
	int result;
	uint8_t *memory; /* a copy of the last result */
	struct name_files *files;
	struct buffer request;
	struct wire_message message;
};

int namer__new(struct privsep *privsep, const struct symbolizer_options *options,
	       struct namer **out)
{
	struct namer *namer = calloc(1, sizeof(*namer));
	int err;

	if (!namer)
		return -ENOMEM;
	namer->privsep = privsep;
	namer->child = (struct privsep_child)PRIVSEP_NO_CHILD;
	namer->options = *options;
	namer->result = -1;
	namer->debug_root = strdup(options->debug_root ? options->debug_root : "/usr/lib/debug");
	err = namer->debug_root ? name_files__new(privsep, options->debuginfod, namer->debug_root,
						  &namer->files)
				: -ENOMEM;
	if (err) {
		namer__free(namer);
		return err;
	}
	*out = namer;
	return 0;
}

/* Not all kernels and containers let dwell do this: then it competes with the program. */
static void yield_to_others(const struct privsep_child *child)
{
	const struct sched_param none = {};

	(void)sched_setscheduler(child->pid, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, child->pid,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

static int start(struct namer *namer)
{
	struct buffer *request = &namer->request;
	int err;

	if (namer->failures >= NAMES_MAX_FAILURES)
		return -EBUSY;
	if (namer->result < 0)
		namer->result = memfd_create("dwell-names", MFD_CLOEXEC);
	if (namer->result < 0)
		return -errno;
	err = privsep__spawn(namer->privsep, PRIVSEP_NAMER, &namer->child);
	if (err)
		return err;
	if (namer->idle)
		yield_to_others(&namer->child);
	request->n = 0;
	buffer__varint(request, NAMES_START);
	buffer__varint(request, namer->options.lines);
	buffer__varint(request, namer->options.debuginfod);
	wire__put_string(request, namer->debug_root);
	return request->failed ? -ENOMEM
			       : wire__send(namer->child.socket, request->data, request->n,
					    &namer->result, 1);
}

static int send_batch(struct namer *namer, const struct symbol_source *source,
		      const struct unnamed_address *addresses, size_t n)
{
	struct buffer *request = &namer->request;

	request->n = 0;
	buffer__varint(request, NAMES_BATCH);
	names_wire__put_source(request, source);
	names_wire__put_addresses(request, addresses, n);
	return request->failed
		       ? -ENOMEM
		       : wire__send(namer->child.socket, request->data, request->n, NULL, 0);
}

/* Tells the process that there is no such file. */
static int refuse(struct namer *namer, int err)
{
	struct buffer *request = &namer->request;

	request->n = 0;
	buffer__varint(request, NAMES_FILE);
	buffer__varint(request, (uint64_t)-err);
	return request->failed
		       ? -ENOMEM
		       : wire__send(namer->child.socket, request->data, request->n, NULL, 0);
}

/* A batch in progress. */
struct progress {
	struct namer_source *source;
	uint64_t started; /* without the time in which files are opened */
	uint64_t allowed; /* ns */
	uint64_t cpu_before;
	uint64_t for_files; /* part of allowed */
	unsigned int opens;
};

/* Passes the process the file that it asks for, or an error. */
static int pass_file(struct namer *namer, struct progress *progress, struct cursor *cursor)
{
	char name[PATH_MAX];
	struct symbol_file_request request = {
		.kind = wire__number(cursor, SYMBOL_FILE_KINDS - 1),
		.outside = wire__number(cursor, 1),
		.name = name,
	};
	uint64_t begin = now_ns(CLOCK_MONOTONIC), size = 0, more;
	int err;

	wire__string(cursor, name, sizeof(name));
	if (cursor->bad || cursor__left(cursor) || ++progress->opens > MAX_OPENS)
		return -EPROTO;
	err = name_files__pass(namer->files, progress->source, &request, namer->child.socket,
			       &size);
	progress->started += now_ns(CLOCK_MONOTONIC) - begin;
	more = size / BYTES_RATE * SECOND_NS;
	if (more > FILES_NS - progress->for_files)
		more = FILES_NS - progress->for_files;
	progress->for_files += more;
	progress->allowed += more;
	return err ? refuse(namer, err) : 0;
}

/* Receives the next message until @until, or until it is cancelled. */
static int receive_until(struct namer *namer, uint64_t until)
{
	int err = -ETIMEDOUT;

	while (err == -ETIMEDOUT && !atomic_load(&namer->cancelled)) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);
		bool is_last = until <= now + NAMES_CANCEL_NS;

		err = wire__receive(namer->child.socket, is_last ? until : now + NAMES_CANCEL_NS, 0,
				    &namer->message);
		if (is_last)
			return err;
	}
	return err == -ETIMEDOUT ? -ECANCELED : err;
}

/* Receives the next message, unless the time is up. A process that waits for a CPU gets more. */
static int receive(struct namer *namer, struct progress *progress, struct cursor *cursor)
{
	struct wire_message *message = &namer->message;
	int err = -ETIMEDOUT;

	for (int i = 0; i < PRIVSEP_PATIENCE && err == -ETIMEDOUT; i++) {
		err = receive_until(namer,
				    progress->started + (uint64_t)(i + 1) * progress->allowed);
		if (err == -ETIMEDOUT &&
		    !privsep__is_starved(&namer->child, progress->cpu_before, progress->allowed))
			break;
	}
	if (!err)
		*cursor =
			(struct cursor){.at = message->data, .end = message->data + message->size};
	return err == -EPIPE ? -EFAULT : err;
}

/* Copies the result, which the process may still write to. */
static int read_result(struct namer *namer, size_t size, struct cursor *result)
{
	size_t done = 0;

	free(namer->memory);
	namer->memory = malloc(size ? size : 1);
	if (!namer->memory)
		return -ENOMEM;
	while (done < size) {
		ssize_t n = pread(namer->result, namer->memory + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -EIO : -EPROTO;
		done += (size_t)n;
	}
	*result = (struct cursor){.at = namer->memory, .end = namer->memory + size};
	return 0;
}

/* Serves the process until it has finished the batch. */
static int run_batch(struct namer *namer, struct progress *progress, struct cursor *result)
{
	for (;;) {
		struct cursor cursor = {};
		int err = receive(namer, progress, &cursor);
		size_t size;

		if (err)
			return err;
		switch (cursor__varint(&cursor)) {
		case NAMES_HELLO:
			if (progress->opens++ > MAX_OPENS)
				return -EPROTO;
			break;
		case NAMES_OPEN:
			err = pass_file(namer, progress, &cursor);
			if (err)
				return err == -EPIPE ? -EFAULT : err;
			break;
		case NAMES_DONE:
			err = -(int)wire__number(&cursor, 4095);
			size = wire__number(&cursor, NAMES_MAX_RESULT);
			if (cursor.bad)
				return err ? err : -EPROTO;
			return err ? err : read_result(namer, size, result);
		default:
			return -EPROTO;
		}
	}
}

int namer__ask(struct namer *namer, struct namer_source *source,
	       const struct unnamed_address *addresses, size_t n, struct cursor *result)
{
	struct progress progress = {.source = source, .allowed = BATCH_NS + n * ADDRESS_NS};
	bool fresh = namer->child.socket < 0;
	int err = fresh ? start(namer) : 0;

	if (!err)
		err = send_batch(namer, &source->source, addresses, n);
	if (err == -EPIPE && !fresh) { /* it has ended before */
		privsep__kill(&namer->child);
		namer->failures++;
		err = start(namer);
		if (!err)
			err = send_batch(namer, &source->source, addresses, n);
	}
	if (!err) {
		progress.started = now_ns(CLOCK_MONOTONIC);
		progress.cpu_before = privsep__cpu_ns(&namer->child);
		err = run_batch(namer, &progress, result);
	}
	if (!err)
		return 0;
	namer->failures += err != -ECANCELED;
	privsep__kill(&namer->child);
	return err == -EPIPE ? -EFAULT : err;
}

void namer__be_idle(struct namer *namer)
{
	namer->idle = true;
}

void namer__cancel(struct namer *namer)
{
	atomic_store(&namer->cancelled, true);
}

pid_t namer__pid(const struct namer *namer)
{
	return namer->child.pid;
}

void namer__free(struct namer *namer)
{
	if (!namer)
		return;
	privsep__kill(&namer->child);
	if (namer->files)
		name_files__free(namer->files);
	if (namer->result >= 0)
		close(namer->result);
	buffer__free(&namer->request);
	free(namer->debug_root);
	free(namer->memory);
	free(namer);
}
