/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases in which a thread passes work to the next: by a queue, a pipe, a connection, or to a
 * disk.
 */
#include "tests/programs/common/disk_file.h"
#include "tests/programs/common/loopback.h"
#include "tests/programs/knots/cases.h"
#include "tests/programs/knots/graph.h"

#include <linux/futex.h>
#include <sys/socket.h>

/*
 * A bounded queue between two threads; only the number of items matters. Either thread closes
 * it at its end. It has no lock: a thread that waits for a CPU does not block the other, until
 * the queue is full or empty.
 */
#define QUEUE_SIZE   64
#define QUEUE_CLOSED (1u << 31)

static uint32_t queue; /* the number of items */

static uint32_t queue_now(void)
{
	return __atomic_load_n(&queue, __ATOMIC_ACQUIRE);
}

static void wake_for_queue(void)
{
	syscall(SYS_futex, &queue, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void wait_while(uint32_t items, struct vertex *self, const char *other)
{
	struct wait wait = wait__begin();

	while (queue_now() == items)
		syscall(SYS_futex, &queue, FUTEX_WAIT_PRIVATE, items, NULL, NULL, 0);
	vertex__waited(self, other, wait);
}

KEEP void wait_while_full(struct vertex *self, const char *taker)
{
	wait_while(QUEUE_SIZE, self, taker);
	NO_TAIL_CALL();
}

KEEP void wait_while_empty(struct vertex *self, const char *putter)
{
	wait_while(0, self, putter);
	NO_TAIL_CALL();
}

/* False when the queue is closed. */
KEEP bool put_item(struct vertex *self, const char *taker)
{
	if (queue_now() == QUEUE_SIZE)
		wait_while_full(self, taker);
	if (queue_now() & QUEUE_CLOSED)
		return false;
	if (!__atomic_fetch_add(&queue, 1, __ATOMIC_ACQ_REL))
		wake_for_queue();
	return true;
}

/* False when the queue is closed. */
KEEP bool take_item(struct vertex *self, const char *putter)
{
	if (!queue_now())
		wait_while_empty(self, putter);
	if (queue_now() & QUEUE_CLOSED)
		return false;
	if (__atomic_fetch_sub(&queue, 1, __ATOMIC_ACQ_REL) == QUEUE_SIZE)
		wake_for_queue();
	return true;
}

static void close_queue(void)
{
	__atomic_fetch_or(&queue, QUEUE_CLOSED, __ATOMIC_ACQ_REL);
	wake_for_queue();
}

/*
 * pipeline: figure 1 of the paper. A computes and passes the request to B; B computes, then
 * writes, which blocks about as long, as measured at the start. (The CPU time of writing is in
 * addition.) A computes 0.4 times as long as B, so it waits for B at least four fifths of its
 * time.
 *
 * pipeline-fsync: the same, but B's writes extend the file, and fsync() waits for the file
 * system's journal, if it has one, which waits for the disk.
 *
 * Expected: knot {B, disk}, with the journal's thread in the second case. The edge A -> B is
 * the longest, and outside the knot. Bottleneck: B and the disk never work at the same time.
 */
#define DISK_US_MIN  1000 /* so that wakeups are short beside it: B may write several times */
#define WRITES_MAX   32
#define RECORDS_KEPT 256

static struct {
	struct disk_file file;
	int fd;
	bool appends;
	char *memory;
	uint64_t turn;
	int writes; /* for one request */
	uint64_t a_us;
	uint64_t b_us;
} pipeline;

COMPUTE(compute_a)
COMPUTE(compute_b)

KEEP void flush_record(void)
{
	off_t offset = pipeline.turn++ % RECORDS_KEPT * 4096;

	if (pipeline.appends && !offset && ftruncate(pipeline.fd, 0))
		die("%s", pipeline.file.path);
	if (pwrite(pipeline.fd, pipeline.memory, 4096, offset) != 4096)
		die("%s", pipeline.file.path);
	if (pipeline.appends && fsync(pipeline.fd))
		die("%s", pipeline.file.path);
	NO_TAIL_CALL();
}

static void run_a(struct vertex *self)
{
	do {
		compute_a(pipeline.a_us);
		vertex__worked(self);
	} while (graph__time_left() && put_item(self, "B"));
	close_queue();
}

static void run_b(struct vertex *self)
{
	while (graph__time_left() && take_item(self, "A")) {
		struct wait wait;

		compute_b(pipeline.b_us);
		wait = wait__begin();
		for (int i = 0; i < pipeline.writes; i++)
			flush_record();
		vertex__waited(self, "disk", wait);
		vertex__worked(self);
	}
	close_queue();
}

/* How long one write blocks, in us: the median of several. */
static uint64_t measure_flush(void)
{
	uint64_t took[33];
	const int tries = sizeof(took) / sizeof(took[0]);

	for (int i = 0; i < tries; i++) {
		struct wait wait = wait__begin();

		flush_record();
		took[i] = wait__length(wait) / NS_PER_US;
	}
	qsort(took, tries, sizeof(took[0]), compare_numbers);
	return took[tries / 2] ? took[tries / 2] : 1;
}

static void prepare_pipeline(void)
{
	uint64_t flush, disk;

	disk_file__create(&pipeline.file, options.dir, "records", RECORDS_KEPT * 4096, O_DSYNC);
	pipeline.fd = pipeline.file.fd;
	if (pipeline.appends)
		pipeline.fd = open(pipeline.file.path, O_RDWR | O_CLOEXEC);
	unlink(pipeline.file.path);
	if (pipeline.fd < 0)
		die("%s", pipeline.file.path);
	pipeline.memory = disk_buffer(4096);
	flush = measure_flush();
	pipeline.writes = flush < DISK_US_MIN ? DISK_US_MIN / flush : 1;
	if (pipeline.writes > WRITES_MAX)
		pipeline.writes = WRITES_MAX;
	disk = pipeline.writes * flush;
	pipeline.b_us = disk;
	pipeline.a_us = disk * 4 / 10;
}

void case_pipeline(void)
{
	struct vertex *a = vertex__add("A", run_a);
	struct vertex *b = vertex__add("B", run_b);
	struct vertex *disk = vertex__add("disk", NULL);

	vertex__edge(a, b->name);
	vertex__edge(b, a->name);
	prepare_pipeline();
	graph__run_threads();
	vertex__device_waited(disk, b);
}

void case_pipeline_fsync(void)
{
	pipeline.appends = true;
	case_pipeline();
}

/*
 * full: the producer is ten times as fast as the consumer, so the queue is always full.
 *
 * Expected: no knot; sink {consumer}, which waits at most for the first item.
 *
 * empty: the consumer is ten times as fast, so the queue is always empty.
 *
 * Expected: no knot; sink {producer}.
 */
static struct {
	uint64_t produce_us;
	uint64_t consume_us;
} pace;

COMPUTE(compute_produce)
COMPUTE(compute_consume)

static void run_producer(struct vertex *self)
{
	do {
		compute_produce(pace.produce_us);
		vertex__worked(self);
	} while (graph__time_left() && put_item(self, "consumer"));
	close_queue();
}

static void run_consumer(struct vertex *self)
{
	while (graph__time_left() && take_item(self, "producer")) {
		compute_consume(pace.consume_us);
		vertex__worked(self);
	}
	close_queue();
}

static void run_queue(uint64_t produce_us, uint64_t consume_us)
{
	pace.produce_us = produce_us;
	pace.consume_us = consume_us;
	vertex__edge(vertex__add("producer", run_producer), "consumer");
	vertex__edge(vertex__add("consumer", run_consumer), "producer");
	graph__run_threads();
}

void case_full(void)
{
	run_queue(100, 1000);
}

void case_empty(void)
{
	run_queue(1000, 100);
}

/*
 * io: a thread reads at random offsets, and computes for as long as each read blocked it.
 *
 * Expected: knot {reader, disk}. Bottleneck: the two never work at the same time.
 */
#define READ_US_MAX 5000      /* so that one slow read does not prolong the run */
#define READ_SIZE   (1 << 20) /* small reads take more CPU time than they wait */

static struct disk_file read_file;
static char *read_memory;

COMPUTE(compute_block)

KEEP void read_block(uint64_t number)
{
	if (pread(read_file.fd, read_memory, READ_SIZE, number * READ_SIZE) != READ_SIZE)
		die("%s", read_file.path);
	NO_TAIL_CALL();
}

static void run_reader(struct vertex *self)
{
	uint64_t random = 88172645463325252ull;

	while (graph__time_left()) {
		struct wait wait = wait__begin();
		uint64_t us;

		read_block(draw(&random, 0, read_file.size / READ_SIZE - 1));
		us = vertex__waited(self, "disk", wait) / NS_PER_US;
		compute_block(us < READ_US_MAX ? us : READ_US_MAX);
		vertex__worked(self);
	}
}

void case_io(void)
{
	struct vertex *reader = vertex__add("reader", run_reader);
	struct vertex *disk = vertex__add("disk", NULL);

	disk_file__create(&read_file, options.dir, "blocks", 16 << 20, 0);
	unlink(read_file.path);
	read_memory = disk_buffer(READ_SIZE);
	graph__run_threads();
	vertex__device_waited(disk, reader);
}

/*
 * pipe: one process writes records into a pipe, another reads them and computes less for each.
 *
 * Expected: no knot; reader waits for writer. Bottleneck: writer, a sink.
 */
#define RECORD_SIZE 256 /* below PIPE_BUF: written and read as a whole */

static int pipe_ends[2];

COMPUTE(compute_record)
COMPUTE(compute_read)

KEEP void write_record(void)
{
	static const char record[RECORD_SIZE];

	if (write(pipe_ends[1], record, sizeof(record)) != sizeof(record))
		die("write");
	NO_TAIL_CALL();
}

/* False at the end. */
KEEP bool await_record(struct vertex *self)
{
	char record[RECORD_SIZE];
	struct wait wait = wait__begin();
	ssize_t size = read(pipe_ends[0], record, sizeof(record));

	if (size < 0)
		die("read");
	vertex__waited(self, "writer", wait);
	return size > 0;
}

static void run_pipe_writer(struct vertex *self)
{
	while (graph__time_left()) {
		compute_record(1000);
		write_record();
		vertex__worked(self);
	}
}

static void run_pipe_reader(struct vertex *self)
{
	while (await_record(self)) {
		compute_read(300);
		vertex__worked(self);
	}
}

void case_pipe(void)
{
	struct vertex *writer = vertex__add("writer", run_pipe_writer);
	struct vertex *reader = vertex__add("reader", run_pipe_reader);

	if (pipe2(pipe_ends, O_CLOEXEC))
		die("pipe");
	vertex__separate(writer, reader);
	graph__run_processes(writer, pipe_ends[1], reader, pipe_ends[0]);
}

/*
 * rpc: two processes with a TCP connection over loopback. The client sends a
 * request, waits for the reply and computes; the server computes and replies.
 *
 * Expected: knot {client, server}, each waits half of its time. Bottleneck: one
 * request at a time, so the two never work at the same time.
 */
#define MESSAGE_SIZE 64

static int client_fd, server_fd;

COMPUTE(compute_client)
COMPUTE(compute_server)

KEEP void send_message(int fd)
{
	static const char message[MESSAGE_SIZE];

	if (send(fd, message, sizeof(message), 0) != sizeof(message))
		die("send");
	NO_TAIL_CALL();
}

/* False when the other has closed the connection. */
static bool receive(int fd, struct vertex *self, const char *peer)
{
	char message[MESSAGE_SIZE];
	struct wait wait = wait__begin();
	ssize_t size = recv(fd, message, sizeof(message), MSG_WAITALL);

	if (size < 0)
		die("recv");
	vertex__waited(self, peer, wait);
	return size == sizeof(message);
}

KEEP bool await_reply(struct vertex *self)
{
	bool more = receive(client_fd, self, "server");

	NO_TAIL_CALL();
	return more;
}

KEEP bool await_request(struct vertex *self)
{
	bool more = receive(server_fd, self, "client");

	NO_TAIL_CALL();
	return more;
}

static void run_client(struct vertex *self)
{
	while (graph__time_left()) {
		send_message(client_fd);
		if (!await_reply(self))
			break;
		compute_client(500);
		vertex__worked(self);
	}
}

static void run_server(struct vertex *self)
{
	while (await_request(self)) {
		compute_server(500);
		send_message(server_fd);
		vertex__worked(self);
	}
}

void case_rpc(void)
{
	struct vertex *client = vertex__add("client", run_client);
	struct vertex *server = vertex__add("server", run_server);

	loopback__connect(&client_fd, &server_fd);
	vertex__separate(client, server);
	graph__run_processes(client, client_fd, server, server_fd);
}
