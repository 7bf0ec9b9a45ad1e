// SPDX-License-Identifier: BSD-2-Clause
/* Cases in which the base shares its work with others, or starts work. */
#include "tests/programs/paths/paths.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "tests/programs/common/disk_file.h"

#define B 1
#define C 2
#define D 3

/* ---- polls: a worker sets a flag, which does not wake who polls with a timeout ---- */

#define POLL_MS 5

static volatile bool done;

static void *work_unseen(void *arg)
{
	party__become(B);
	work_b(40);
	done = true;
	return arg;
}

void run_polls(void)
{
	for (int i = 0; i < rounds; i++) {
		pthread_t worker;

		done = false;
		worker = start_thread(work_unseen, NULL);
		while (!done) {
			uint64_t queued = run_queue_ns(), since = wall_ns();

			poll(NULL, 0, POLL_MS);
			since += run_queue_ns() - queued;
			truth__add("timeouts", wall_ns() - since);
			truth__add("polls", 1);
		}
		work_a(5);
		pthread_join(worker, NULL);
	}
}

/* ---- pool: workers behind a queue, with the requests of others at the same time ---- */

#define WORKERS	 3
#define REQUESTS 64

struct request {
	bool of_base;
	bool is_done;
	int worker;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	pthread_cond_t finished;
	struct request *queue[REQUESTS];
	unsigned int head, tail;
	bool closed;
} pool = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.finished = PTHREAD_COND_INITIALIZER,
};

static void submit(struct request *request)
{
	pthread_mutex_lock(&pool.mutex);
	pool.queue[pool.tail++ % REQUESTS] = request;
	pthread_cond_signal(&pool.filled);
	pthread_mutex_unlock(&pool.mutex);
}

static void await_request(struct request *request)
{
	pthread_mutex_lock(&pool.mutex);
	while (!request->is_done)
		pthread_cond_wait(&pool.finished, &pool.mutex);
	pthread_mutex_unlock(&pool.mutex);
}

static void *serve_pool(void *arg)
{
	int own = (int)(intptr_t)arg;

	party__become(own);
	pthread_mutex_lock(&pool.mutex);
	for (;;) {
		struct request *request;

		while (pool.head == pool.tail && !pool.closed)
			pthread_cond_wait(&pool.filled, &pool.mutex);
		if (pool.head == pool.tail)
			break;
		request = pool.queue[pool.head++ % REQUESTS];
		pthread_mutex_unlock(&pool.mutex);
		until_asleep(BASE);
		if (request->of_base)
			work_b(8);
		else
			other_work(6);
		pthread_mutex_lock(&pool.mutex);
		request->worker = own;
		request->is_done = true;
		if (request->of_base)
			pthread_cond_signal(&pool.finished);
		else
			free(request);
	}
	pthread_mutex_unlock(&pool.mutex);
	return NULL;
}

void run_pool(void)
{
	pthread_t workers[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		workers[i] = start_thread(serve_pool, (void *)(intptr_t)(B + i));
	for (int i = 0; i < rounds; i++) {
		struct request own = {.of_base = true};

		/* Those of others come first: all workers are busy with them. */
		for (int k = 0; k < WORKERS; k++) {
			struct request *other = calloc(1, sizeof(*other));

			submit(other);
		}
		submit(&own);
		wait__begin(B);
		await_request(&own);
		wait__end();
		wait__was_for(own.worker);
		work_a(5);
	}
	pthread_mutex_lock(&pool.mutex);
	pool.closed = true;
	pthread_cond_broadcast(&pool.filled);
	pthread_mutex_unlock(&pool.mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

/* ---- tree: children that work one after another, and at the same time ---- */

static void grandchild(void)
{
	until_asleep(B);
	work_d(12);
}

static void child_b(void)
{
	pid_t pid;

	until_asleep(BASE);
	work_b(6);
	pid = party__fork(D, grandchild);
	party__wait_for(D, pid);
}

static void child_c(void)
{
	work_c(30);
}

void run_tree(void)
{
	for (int i = 0; i < rounds; i++) {
		pid_t b = party__fork(B, child_b);
		pid_t c = party__fork(C, child_c);

		work_a(4);
		party__wait_for(B, b);
		party__wait_for(C, c);
	}
}

/* ---- background: a request that starts work, and does not wait for it ---- */

static int started;

static void *work_behind(void *arg)
{
	eventfd_t value;

	party__become(B);
	for (int i = 0; i < rounds; i++) {
		eventfd_read(started, &value);
		work_b(20);
	}
	return arg;
}

void run_background(void)
{
	pthread_t worker;

	started = eventfd(0, EFD_SEMAPHORE);
	worker = start_thread(work_behind, NULL);
	for (int i = 0; i < rounds; i++) {
		eventfd_write(started, 1);
		work_a(10);
		sleep_ns(25 * NS_PER_MS);
	}
	wait__begin(B);
	pthread_join(worker, NULL);
	wait__end();
}

/* ---- crowd: more threads than CPUs ---- */

static volatile bool over;

static void *spin(void *arg)
{
	set_name("spinner");
	while (!over)
		BURN(1000);
	return arg;
}

void run_crowd(void)
{
	long n = 2 * sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t spinners[256];
	struct rusage usage;
	uint64_t queued;

	for (long i = 0; i < n && i < 256; i++)
		spinners[i] = start_thread(spin, NULL);
	queued = run_queue_ns();
	for (int i = 0; i < rounds; i++)
		work_a(20);
	truth__add("queued", run_queue_ns() - queued);
	getrusage(RUSAGE_THREAD, &usage);
	truth__add("switches", (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
	over = true;
	for (long i = 0; i < n && i < 256; i++)
		pthread_join(spinners[i], NULL);
}

/* ---- server: reads from the disk and writes to it for its client ---- */

static int ends[2];
static struct disk_file file;

KEEP void serve_read(void *buffer, int i)
{
	uint64_t since = wall_ns();

	if (pread(file.fd, buffer, 1 << 20, (off_t)(i % 8) << 20) < 0)
		die("pread: %s", strerror(errno));
	log_work("serve_read", since);
	NO_TAIL_CALL();
}

KEEP void serve_sync(void *buffer, int i)
{
	uint64_t since = wall_ns();

	if (pwrite(file.fd, buffer, file.block, (off_t)(i % 8) << 20) < 0 || fsync(file.fd))
		die("fsync: %s", strerror(errno));
	log_work("serve_sync", since);
	NO_TAIL_CALL();
}

static void serve(void)
{
	void *buffer = disk_buffer(1 << 20);

	for (int i = 0; i < rounds; i++) {
		get(ends[1]);
		until_asleep(BASE);
		serve_read(buffer, i);
		serve_sync(buffer, i);
		work_b(5);
		put(ends[1]);
	}
	free(buffer);
}

void run_server(void)
{
	pid_t pid;

	disk_file__create(&file, directory, "paths", 8 << 20, O_RDWR);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair: %s", strerror(errno));
	pid = party__fork(B, serve);
	for (int i = 0; i < rounds; i++) {
		work_a(3);
		put(ends[0]);
		wait__begin(B);
		get(ends[0]);
		wait__end();
	}
	party__wait_for(B, pid);
	disk_file__remove(&file);
}
