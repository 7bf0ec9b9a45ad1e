// SPDX-License-Identifier: BSD-2-Clause
/* The processes that open and read files: what they may do, and what happens when they stop. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "privsep/parser.h"
#include "privsep/sandbox.h"
#include "privsep/unwind_request.h"
#include "symbols/symbols.h"
#include "symbols/unwind/unwind_table.h"
#include "tests/unit/rounds.h"

#define SECOND_NS 1000000000ULL

static struct privsep *privsep;
static char folder[] = "/tmp/dwell-privsep-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[2][128];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
	return path[next];
}

static int start(void **state)
{
	return !mkdtemp(folder) || privsep__start(&privsep);
}

static int stop(void **state)
{
	char command[160];

	privsep__free(privsep);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static struct parser *new_parser(uint64_t request_ns)
{
	const struct parser_options options = {.request_ns = request_ns};
	struct parser *parser;

	assert_int_equal(parser__new(privsep, &options, &parser), 0);
	return parser;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int find(const char *root, const char *path, bool no_follow, struct found_file *found)
{
	const struct open_request request = {
		.root = root, .path = path, .no_follow = no_follow, .to = -1, .result = -1};

	return opener__open(privsep__opener(privsep), &request, found);
}

static void regular_files_are_found(void **state)
{
	struct found_file found;
	struct stat stats;
	char byte;

	write_file(in_folder("file"), "text");
	assert_int_equal(find(NULL, in_folder("file"), false, &found), 0);
	assert_int_equal(stat(in_folder("file"), &stats), 0);
	assert_int_equal(found.inode, stats.st_ino);
	assert_int_equal(found.size, 4);
	assert_int_equal(found.owner, geteuid());
	assert_int_equal(found.device, (uint64_t)major(stats.st_dev) << 20 | minor(stats.st_dev));
	/* The caller cannot read it, even by mistake. */
	assert_int_equal(read(found.fd, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_true(fcntl(found.fd, F_GETFD) & FD_CLOEXEC);
	close(found.fd);
	/* On a disk, no opener is needed (from Linux 5.12 on). */
	if (major(stats.st_dev))
		assert_int_equal(opener__pid(privsep__opener(privsep)), 0);
}

/* In this process, where that cannot block, and by an opener, for a root that is no process's. */
static void both_ways_find_the_same(void **state)
{
	static const char *const roots[] = {NULL, "/proc/self/root", "/."};

	assert_int_equal(symlink("file", in_folder("to-file")), 0);
	for (int no_follow = 0; no_follow < 2; no_follow++) {
		struct found_file first = {}, found;
		struct stat stats;

		for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
			assert_int_equal(find(roots[i], in_folder("to-file"), no_follow, &found),
					 no_follow ? -ELOOP : 0);
			if (no_follow)
				continue;
			assert_int_equal(fstat(found.fd, &stats), 0);
			close(found.fd);
			assert_true(S_ISREG(stats.st_mode) && stats.st_ino == found.inode);
			if (!i)
				first = found;
			assert_true(found.device == first.device && found.inode == first.inode);
			assert_true(found.size == first.size && found.owner == first.owner);
			assert_int_equal(found.mode, first.mode);
		}
	}
}

/* What has ended holds up nothing. */
static void openers_may_be_killed(void **state)
{
	struct found_file found;

	for (int i = 0; i < 30; i++) {
		assert_int_equal(find("/.", in_folder("file"), false, &found), 0);
		close(found.fd);
		assert_int_equal(kill(opener__pid(privsep__opener(privsep)), SIGKILL), 0);
	}
}

static void nothing_else_is_opened(void **state)
{
	struct found_file found = {.fd = -7};

	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_int_equal(symlink("/dev/null", in_folder("device")), 0);
	assert_int_equal(find(NULL, in_folder("fifo"), false, &found), -ENOENT);
	assert_int_equal(find(NULL, in_folder("device"), false, &found), -ENOENT);
	assert_int_equal(find(NULL, "/dev/zero", false, &found), -ENOENT);
	assert_int_equal(find(NULL, folder, false, &found), -ENOENT);
	assert_int_equal(find(NULL, in_folder("missing"), false, &found), -ENOENT);
	assert_int_equal(find(in_folder("missing"), "/file", false, &found), -ENOENT);
	assert_int_equal(found.fd, -7);
}

static void links_stay_inside_the_root(void **state)
{
	struct found_file found, other;

	assert_int_equal(mkdir(in_folder("root"), 0700), 0);
	assert_int_equal(mkdir(in_folder("root/etc"), 0700), 0);
	write_file(in_folder("root/etc/hostname"), "of the root");
	assert_int_equal(symlink("/etc/hostname", in_folder("root/link")), 0);
	assert_int_equal(symlink("../../../../../etc/hostname", in_folder("root/up")), 0);
	assert_int_equal(find(in_folder("root"), "/link", false, &found), 0);
	assert_int_equal(find(NULL, in_folder("root/etc/hostname"), false, &other), 0);
	assert_int_equal(found.inode, other.inode);
	close(found.fd);
	assert_int_equal(find(in_folder("root"), "/up", false, &found), 0);
	assert_int_equal(found.inode, other.inode);
	close(found.fd);
	close(other.fd);
	assert_int_equal(find(in_folder("root"), "/link", true, &found), -ELOOP);
}

/* As if it were blocked in a lookup. */
static void a_blocked_opener_is_replaced(void **state)
{
	pid_t blocked = opener__pid(privsep__opener(privsep));
	struct found_file found;
	uint64_t begin;

	assert_true(blocked > 0);
	assert_int_equal(kill(blocked, SIGSTOP), 0);
	begin = now_ns(CLOCK_MONOTONIC);
	assert_int_equal(find("/", in_folder("file"), false, &found), -ETIMEDOUT);
	assert_true(now_ns(CLOCK_MONOTONIC) - begin >= OPENER_NS);
	/* Where it blocked once, it is not tried again; elsewhere it works. */
	assert_int_equal(find("/", in_folder("file"), false, &found), -ETIMEDOUT);
	assert_int_equal(find(NULL, in_folder("file"), false, &found), 0);
	assert_int_not_equal(opener__pid(privsep__opener(privsep)), blocked);
	close(found.fd);
}

static uint64_t status_of(pid_t pid, const char *field, int base)
{
	char path[64], line[256];
	uint64_t value = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)) && line[strlen(field)] == ':')
			value = strtoull(line + strlen(field) + 1, NULL, base);
	fclose(file);
	return value;
}

static int build_id(struct parser *parser, const char *path, char hex[41])
{
	struct open_request request = {.path = path};

	return parser__build_id(parser, &request, NULL, hex, 41);
}

static void a_parser_has_nothing(void **state)
{
	struct parser *parser = new_parser(0);
	char hex[41], path[64], target[128];
	pid_t pid = parser__pid(parser);

	assert_int_equal(build_id(parser, "/proc/self/exe", hex),
			 0); /* it has entered the sandbox */
	assert_int_equal(status_of(pid, "Seccomp", 10), 2);
	assert_int_equal(status_of(pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_of(pid, "CapEff", 16), 0);
	assert_int_equal(status_of(pid, "CapPrm", 16), 0);
	assert_int_equal(status_of(pid, "CapAmb", 16), 0);
	if (!geteuid()) {
		assert_int_equal(parser__sandbox(parser), SANDBOX_ALL);
		assert_int_equal(status_of(pid, "Uid", 10), 65534);
		assert_int_equal(status_of(pid, "CapBnd", 16), 0);
	}
	for (int fd = 0; fd < 64; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
#ifdef SANITIZED
		if (fd == STDERR_FILENO)
			continue;
#endif
		if (fd < 3)
			assert_string_equal(target, "/dev/null");
		else
			assert_true(fd == 3 && !strncmp(target, "socket:", 7));
	}
	parser__free(parser);
}

static void build_ids_are_read(void **state)
{
	struct parser *parser = new_parser(0);
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char expected[41], hex[41];

	assert_int_equal(symbols__build_id(fd, expected, sizeof(expected)), 0);
	assert_int_equal(build_id(parser, "/proc/self/exe", hex), 0);
	assert_string_equal(hex, expected);
	assert_int_equal(build_id(parser, in_folder("file"), hex), -ENOENT);
	assert_int_equal(build_id(parser, in_folder("missing"), hex), -ENOENT);
	parser__free(parser);
}

/* What was asked, and what came of it. */
struct asked {
	unsigned int answers;
	int err;
	size_t n_rows;
	struct unwind_row *rows;
};

static void on_table(void *arg, uint64_t tag, const struct parser_answer *answer)
{
	struct asked *asked = arg;
	struct unwind_answer table;

	assert_int_equal(tag, 5);
	asked->answers++;
	asked->err = answer->err;
	if (!asked->err)
		asked->err = unwind_answer__decode(answer->fields, 1 << 20, &table);
	if (asked->err)
		return;
	asked->n_rows = table.n_rows;
	free(asked->rows);
	asked->rows = calloc(table.n_rows, sizeof(*asked->rows));
	assert_non_null(asked->rows);
	asked->err = unwind_answer__read_rows(answer->result, asked->rows, table.n_rows);
}

static void ask(struct parser *parser, const char *name, int fd, struct asked *asked)
{
	const struct parser_request request = {
		.name = name, .fd = fd, .on_answer = on_table, .arg = asked, .tag = 5};

	assert_int_equal(unwind_request__send(parser, &request, 1 << 20), 0);
}

static void run(struct parser *parser)
{
	parser__run_until(parser, now_ns(CLOCK_MONOTONIC) + 60 * SECOND_NS);
	assert_int_equal(parser__pending(parser), 0);
	assert_int_equal(parser__fd(parser), -1);
}

/* The same as in this process. */
static void tables_are_built(void **state)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int path = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	_cleanup_close_ int other = open(in_folder("file"), O_PATH | O_CLOEXEC);
	struct parser *parser = new_parser(0);
	struct asked exe = {}, vdso = {}, none = {};

	assert_int_equal(unwind_table__build(fd, &table), 0);
	ask(parser, "exe", path, &exe);
	ask(parser, "none", other, &none);
	ask(parser, "vdso", -1, &vdso);
	assert_int_equal(parser__pending(parser), 3);
	run(parser);
	assert_int_equal(exe.err, 0);
	assert_int_equal(exe.n_rows, table->n_rows);
	assert_memory_equal(exe.rows, table->rows, table->n_rows * sizeof(*table->rows));
	assert_int_equal(none.err, -ENOTSUP);
	assert_int_equal(vdso.err, 0);
	assert_true(vdso.n_rows > 0);
	free(exe.rows);
	free(vdso.rows);
	parser__free(parser);
}

static const struct privsep_failure *failure_of(const char *path)
{
	const struct privsep_failure *failures;
	uint64_t more;
	size_t n;

	failures = privsep__failures(privsep, &n, &more);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(failures[i].path, path))
			return &failures[i];
	return NULL;
}

static void the_next_request_survives_a_crash(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct parser *parser = new_parser(0);
	struct asked first = {}, second = {};
	pid_t pid = parser__pid(parser);

	kill(pid, SIGSTOP); /* so that it is killed while it has the request */
	ask(parser, "first", fd, &first);
	ask(parser, "second", fd, &second);
	parser__run_until(parser, 0);
	kill(pid, SIGKILL);
	run(parser);
	assert_int_equal(first.err, -EFAULT);
	assert_int_equal(second.err, 0);
	assert_int_not_equal(parser__pid(parser), pid);
	assert_int_equal(failure_of("first")->err, -EFAULT);
	assert_null(failure_of("second"));
	free(second.rows);
	parser__free(parser);
}

static void slow_parsers_are_replaced(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct parser *parser = new_parser(2 * SECOND_NS);
	struct asked slow = {}, next = {};
	char hex[41];

	assert_int_equal(build_id(parser, "/proc/self/exe", hex), 0);
	kill(parser__pid(parser), SIGSTOP);
	ask(parser, "slow", fd, &slow);
	ask(parser, "next", fd, &next);
	run(parser);
	assert_int_equal(slow.err, -ETIMEDOUT);
	assert_int_equal(next.err, 0);
	assert_int_equal(failure_of("slow")->err, -ETIMEDOUT);
	free(next.rows);
	parser__free(parser);
}

/* Each request kills its process, but only so many are started. */
static void restarts_are_bounded(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct parser *parser = new_parser(0);
	struct asked asked = {};
	unsigned int killed = 0;

	for (int i = 0; i < 2 * PARSER_MAX_FAILURES && asked.err != -EBUSY; i++) {
		pid_t pid = parser__pid(parser);

		if (pid)
			kill(pid, SIGSTOP);
		ask(parser, "killer", fd, &asked);
		parser__run_until(parser, 0);
		if (parser__pid(parser))
			kill(parser__pid(parser), SIGKILL);
		run(parser);
		killed += asked.err == -EFAULT;
	}
	assert_int_equal(asked.err, -EBUSY);
	assert_true(killed >= 1 && killed <= PARSER_MAX_FAILURES + 1);
	free(asked.rows);
	parser__free(parser);
}

/* A valid answer, and copies of it with random bytes, truncated, and of random rows. */
static void put_answer(struct buffer *buffer, size_t n_rows, size_t n_segments)
{
	buffer->n = 0;
	buffer__varint(buffer, n_rows);
	buffer__varint(buffer, n_segments);
	for (size_t i = 0; i < n_segments; i++) {
		buffer__varint(buffer, 0x1000 * i);
		buffer__varint(buffer, 0x1000);
		buffer__svarint(buffer, i % 2 ? -0x800 : 0x40000000);
	}
}

static void check_answer(const uint8_t *bytes, size_t size)
{
	struct cursor cursor = {.at = bytes, .end = bytes + size};
	struct unwind_answer answer;
	char hex[41];

	if (!unwind_answer__decode(&cursor, 1000, &answer)) {
		assert_true(answer.n_rows >= 1 && answer.n_rows <= 1000);
		assert_true(answer.n_segments >= 1 && answer.n_segments <= UNWIND_MAX_SEGMENTS);
		for (size_t i = 0; i < answer.n_segments; i++) {
			const struct unwind_segment *segment = &answer.segments[i];
			uint64_t address = segment->offset + (uint64_t)segment->bias;

			assert_true(address <= UINT32_MAX && segment->size &&
				    segment->size <= UINT32_MAX - address);
		}
	}
	cursor = (struct cursor){.at = bytes, .end = bytes + size};
	if (!parser_answer__build_id(&cursor, hex, sizeof(hex)))
		assert_true(*hex && strlen(hex) == strspn(hex, "0123456789abcdef"));
}

static void damaged_answers_are_refused(void **state)
{
	struct buffer buffer = {};
	uint64_t seed = 1;

	put_answer(&buffer, 1000, 3);
	check_answer(buffer.data, buffer.n);
	put_answer(&buffer, 1001, 3);
	assert_int_equal(unwind_answer__decode(
				 &(struct cursor){.at = buffer.data, .end = buffer.data + buffer.n},
				 1000, &(struct unwind_answer){}),
			 -EPROTO);
	for (unsigned int i = 0; i < rounds(20000); i++) {
		/* At the end of a page of its own for the sanitizer: an exact allocation. */
		uint8_t *copy;
		size_t size;

		put_answer(&buffer, seed % 1200, seed % 70);
		size = seed % 5 ? buffer.n : seed % (buffer.n + 1);
		copy = malloc(size ? size : 1);
		assert_non_null(copy);
		memcpy(copy, buffer.data, size);
		for (seed = hash__mix(seed + i); size && seed % 4; seed = hash__mix(seed))
			copy[(seed >> 8) % size] = (uint8_t)(seed >> 40);
		check_answer(copy, size);
		free(copy);
		seed = hash__mix(seed + 1);
	}
	buffer__free(&buffer);
}

static void disordered_rows_are_refused(void **state)
{
	const struct unwind_row rows[] = {
		{.pc = 1, .rule = UNWIND_CFA_SP}, {.pc = 2}, {.pc = 5, .rule = UNWIND_CFA_END}};
	struct unwind_row bad[3];

	assert_true(unwind_answer__is_valid(rows, 3));
	memcpy(bad, rows, sizeof(bad));
	bad[1].pc = 5;
	assert_false(unwind_answer__is_valid(bad, 3));
	memcpy(bad, rows, sizeof(bad));
	bad[0].pc = 3;
	assert_false(unwind_answer__is_valid(bad, 3));
	memcpy(bad, rows, sizeof(bad));
	bad[2].rule = UNWIND_CFA_FP_SWITCH + 1;
	assert_false(unwind_answer__is_valid(bad, 3));
	bad[2].rule = UNWIND_RULE(0, UNWIND_FP_FRAME + 1);
	assert_false(unwind_answer__is_valid(bad, 3));
}

/* A process that answers in another way than was agreed. */
static void results_that_are_too_short_are_refused(void **state)
{
	_cleanup_close_ int memory = memfd_create("rows", MFD_CLOEXEC);
	const struct unwind_row rows[2] = {{.pc = 1}, {.pc = 2}};
	struct unwind_row read[3];

	assert_int_equal(write(memory, rows, sizeof(rows)), sizeof(rows));
	assert_int_equal(unwind_answer__read_rows(memory, read, 2), 0);
	assert_int_equal(unwind_answer__read_rows(memory, read, 3), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regular_files_are_found),
		cmocka_unit_test(both_ways_find_the_same),
		cmocka_unit_test(openers_may_be_killed),
		cmocka_unit_test(nothing_else_is_opened),
		cmocka_unit_test(links_stay_inside_the_root),
		cmocka_unit_test(a_blocked_opener_is_replaced),
		cmocka_unit_test(a_parser_has_nothing),
		cmocka_unit_test(build_ids_are_read),
		cmocka_unit_test(tables_are_built),
		cmocka_unit_test(the_next_request_survives_a_crash),
		cmocka_unit_test(slow_parsers_are_replaced),
		cmocka_unit_test(restarts_are_bounded),
		cmocka_unit_test(damaged_answers_are_refused),
		cmocka_unit_test(disordered_rows_are_refused),
		cmocka_unit_test(results_that_are_too_short_are_refused),
	};

	return cmocka_run_group_tests_name("privsep", tests, start, stop);
}
