// SPDX-License-Identifier: BSD-2-Clause
/* Recordings as files: where they go, adding to them, full disks, and files of others. */
#include "tests/unit/recording_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void put_sample(struct recording_writer *writer)
{
	struct record sample = {.type = RECORD_SAMPLE, .sample = {.weight = 1}};

	assert_int_equal(record_stream__put(recording_writer__stream(writer), &sample), 0);
}

/* Names are added to a recording that is complete already. */
static void what_is_added_keeps_numbers(void **state)
{
	const char *path = temp__path(state, "added");
	struct recording_writer *writer;
	struct record_object object = {.type = OBJECT_FILE, .id = 4711};
	struct record_dso dso = {.kind = DSO_JIT, .pid = 7};
	_cleanup_outcome_ struct outcome outcome = {};
	struct dice dice = {.state = 3};
	struct copies put = {};
	uint32_t strings[2];

	assert_int_equal(recording_writer__create(path, &writer), 0);
	strings[0] = record_stream__string(recording_writer__stream(writer), "one");
	strings[1] = record_stream__string(recording_writer__stream(writer), "two");
	assert_int_equal(record_stream__object(recording_writer__stream(writer), &object), 1);
	assert_int_equal(record_stream__dso(recording_writer__stream(writer), &dso), 1);
	random__put(writer, &dice, 2000, &put);
	for (int round = 0; round < 3; round++) {
		char text[32];

		assert_int_equal(recording_writer__complete(writer), 0);
		outcome = outcome__of_file(path);
		assert_string_equal(outcome.warning, "");
		assert_put(&outcome, &put);
		outcome__free(&outcome);
		assert_int_equal(record_stream__string(recording_writer__stream(writer), "two"),
				 strings[1]);
		assert_int_equal(record_stream__string(recording_writer__stream(writer), "one"),
				 strings[0]);
		assert_int_equal(record_stream__object(recording_writer__stream(writer), &object),
				 1);
		assert_int_equal(record_stream__dso(recording_writer__stream(writer), &dso), 1);
		snprintf(text, sizeof(text), "new in round %d", round);
		assert_true(record_stream__string(recording_writer__stream(writer), text) >
			    strings[1]);
		random__put(writer, &dice, 500, &put);
	}
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
	assert_put(&outcome, &put);
	copies__free(&put);
}

/* A complete recording, whose writer is *@writer. */
static void complete(const char *path, struct recording_writer **writer)
{
	struct dice dice = {.state = 4};
	struct copies put = {};

	assert_int_equal(recording_writer__create(path, writer), 0);
	put_sample(*writer);
	random__put(*writer, &dice, 300, &put);
	assert_int_equal(recording_writer__complete(*writer), 0);
	copies__free(&put);
}

static void adding_nothing_changes_nothing(void **state)
{
	const char *path = temp__path(state, "unchanged");
	_cleanup_(buffer__free) struct buffer before = {}, after = {};
	struct recording_writer *writer;

	complete(path, &writer);
	before = file__read(path);
	assert_int_equal(recording_writer__complete(writer), 0);
	assert_int_equal(recording_writer__close(writer), 0);
	after = file__read(path);
	assert_int_equal(before.n, after.n);
	assert_memory_equal(before.data, after.data, before.n);
}

/* At the moment when the first chunk is written, no rest of the old index may be left. */
static void adding_may_be_interrupted(void **state)
{
	const char *path = temp__path(state, "interrupted");
	_cleanup_(buffer__free) struct buffer between = {};
	struct recording_writer *writer;
	struct outcome before, outcome;

	complete(path, &writer);
	before = outcome__of_file(path);
	assert_int_equal(
		record_stream__meta(recording_writer__stream(writer), "a new key", "a new value"),
		0);
	assert_int_equal(recording_writer__flush(writer), 0);
	between = file__read(path);
	assert_int_equal(between.n, recording_writer__size(writer));
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_memory(between.data, between.n);
	assert_int_equal(outcome.records.n, before.records.n + 3);
	assert_non_null(strstr(outcome.warning, "cut short"));
	assert_null(strstr(outcome.warning, "damaged"));
	outcome__free(&outcome);
	outcome__free(&before);
}

static void adding_to_an_empty_recording(void **state)
{
	const char *path = temp__path(state, "from-nothing");
	_cleanup_outcome_ struct outcome outcome = {};
	struct recording_writer *writer;

	assert_int_equal(recording_writer__create(path, &writer), 0);
	assert_int_equal(recording_writer__complete(writer), 0);
	assert_int_equal(record_stream__meta(recording_writer__stream(writer), "a", "b"), 0);
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(path);
	assert_string_equal(outcome.warning, "");
	assert_int_equal(outcome.records.n, 3);
}

static void an_existing_file_is_renamed(void **state)
{
	const char *path = temp__path(state, "twice");
	const char *old = temp__path(state, "twice.old");
	struct recording_writer *writer;
	_cleanup_outcome_ struct outcome outcome = {};
	struct stat st;

	random__write(path, 1, 1, 5);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(recording_writer__create(path, &writer), 0);
	put_sample(writer);
	assert_int_equal(recording_writer__close(writer), 0);
	outcome = outcome__of_file(old);
	assert_int_equal(outcome.err, 0);
	assert_true(outcome.records.n >= 5);
}

static ino_t inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* It has its name from then on, and can be read while it grows. */
static void the_first_sample_takes_the_place(void **state)
{
	const char *path = temp__path(state, "first"), *old = temp__path(state, "first.old");
	_cleanup_outcome_ struct outcome outcome = {};
	struct recording_writer *writer;
	ino_t before;

	random__write(path, 1, 1, 5);
	before = inode(path);
	assert_int_equal(recording_writer__create(path, &writer), 0);
	for (int i = 0; i < 3; i++) {
		record_stream__meta(recording_writer__stream(writer), "key", "value %d", i);
		assert_int_equal(recording_writer__flush(writer), 0);
		assert_true(inode(path) == before);
	}
	put_sample(writer);
	assert_true(inode(path) == before);
	assert_int_equal(recording_writer__flush(writer), 0);
	assert_true(inode(path) && inode(path) != before);
	assert_true(inode(old) == before);
	outcome = outcome__of_file(path);
	assert_int_equal(outcome.err, 0);
	assert_true(outcome.records.n > 3);
	assert_int_equal(recording_writer__close(writer), 0);
	assert_true(inode(old) == before);
}

/* Twice: the recording that was there is neither replaced nor moved. */
static void without_a_sample_nothing_is_replaced(void **state)
{
	const char *path = temp__path(state, "good"), *old = temp__path(state, "good.old");
	struct recording_writer *writer;
	ino_t before;

	random__write(path, 1, 1, 5);
	before = inode(path);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(recording_writer__create(path, &writer), 0);
		record_stream__meta(recording_writer__stream(writer), "key", "value");
		assert_int_equal(recording_writer__complete(writer), 0);
		assert_false(recording_writer__has_name(writer));
		assert_int_equal(recording_writer__close(writer), 0);
		assert_true(inode(path) == before);
		assert_false(inode(old));
	}
	/* Neither does one that is given up. */
	assert_int_equal(recording_writer__create(path, &writer), 0);
	put_sample(writer);
	recording_writer__discard(writer);
	assert_true(inode(path) == before);
	/* What is empty, or not there, is no loss. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(truncate(path, 0), 0);
		if (i)
			assert_int_equal(unlink(path), 0);
		assert_int_equal(recording_writer__create(path, &writer), 0);
		record_stream__meta(recording_writer__stream(writer), "key", "value");
		assert_int_equal(recording_writer__complete(writer), 0);
		assert_true(recording_writer__has_name(writer));
		assert_int_equal(recording_writer__close(writer), 0);
		assert_true(inode(path));
		assert_false(inode(old));
	}
}

/* Only the names of @directory: no file under another name is left there. */
static void assert_names(const char *directory, size_t n)
{
	_cleanup_closedir_ DIR *all = opendir(directory);

	assert_non_null(all);
	for (size_t found = 0;;) {
		const struct dirent *entry = readdir(all);

		if (!entry) {
			assert_int_equal(found, n);
			return;
		}
		found += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	}
}

/* Where the file system cannot create files without a name, and other users move things. */
static void refuse_unnamed_files(void)
{
	/* openat(directory, name, flags): of the flags, the lower half is enough. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void without_unnamed_files(void **state)
{
	const char *directory = temp__path(state, "named"), *path = temp__path(state, "named/file");
	int status;
	pid_t pid;

	assert_int_equal(mkdir(directory, 0700), 0);
	pid = fork();
	if (!pid) {
		struct recording_writer *writer;

		refuse_unnamed_files();
		assert_int_equal(openat(AT_FDCWD, directory, O_TMPFILE | O_RDWR, 0600), -1);
		assert_int_equal(recording_writer__create(path, &writer), 0);
		assert_names(directory, 1);
		assert_false(inode(path));
		put_sample(writer);
		assert_int_equal(recording_writer__flush(writer), 0);
		assert_true(inode(path));
		assert_names(directory, 1);
		assert_int_equal(recording_writer__close(writer), 0);
		assert_int_equal(recording_writer__create(path, &writer), 0);
		assert_names(directory, 2);
		recording_writer__discard(writer);
		assert_names(directory, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* What was there comes back when nothing can be put in its place. */
static void a_failed_create_moves_nothing(void **state)
{
	const char *path = temp__path(state, "stays");
	struct recording_writer *writer;
	_cleanup_outcome_ struct outcome outcome = {};
	struct rlimit limit, none;
	int err;

	random__write(path, 1, 1, 5);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = recording_writer__create(path, &writer);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(err, -EMFILE);
	outcome = outcome__of_file(path);
	assert_int_equal(outcome.err, 0);
	assert_true(outcome.records.n >= 5);
}

static void odd_places_are_refused(void **state)
{
	const char *directory = temp__path(state, "directory");
	const char *link = temp__path(state, "link");
	const char *fifo = temp__path(state, "fifo");
	struct recording_writer *writer;
	struct stat st;

	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(recording_writer__create(directory, &writer), -EISDIR);
	assert_int_equal(symlink("/etc/hostname", link), 0);
	assert_int_equal(recording_writer__create(link, &writer), -ELOOP);
	assert_int_equal(lstat(link, &st), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(recording_writer__create(fifo, &writer), -EINVAL);
	assert_int_equal(recording_writer__create(temp__path(state, "no/such/place"), &writer),
			 -ENOENT);
	assert_non_null(strstr(error__message(-ENOENT), "no/such/place"));
	assert_true(error__hint_text(-ENOENT)[0]);
}

static void a_device_swallows_everything(void **state)
{
	struct dice dice = {.state = 9};
	struct recording_writer *writer;
	struct copies put = {};
	struct stat st;

	assert_int_equal(recording_writer__create("/dev/null", &writer), 0);
	random__put(writer, &dice, 5000, &put);
	assert_true(recording_writer__size(writer) > 100000);
	assert_int_equal(recording_writer__close(writer), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	copies__free(&put);
}

/* Adding to what is not whole: behind a cut, yes, and that stays known; to damage, no. */
/* Writes until that fails; the records up to the last whole chunk must be there. */
static void fill_up(const char *path, int expected, struct recording_writer *writer)
{
	struct dice dice = {.state = 12};
	struct outcome outcome;
	struct copies put = {};
	struct stat st;
	size_t at = 0;
	int err = 0;

	for (int i = 0; i < 200000 && !err; i++) {
		struct record record = dice__record(&dice, writer);

		copies__add(&put, &record);
		err = record_stream__put(recording_writer__stream(writer), &record);
	}
	assert_int_equal(err, expected);
	assert_non_null(strstr(error__message(err), path));
	assert_int_equal(record_stream__put(recording_writer__stream(writer), &put.data[0].record),
			 expected);
	assert_int_equal(recording_writer__flush(writer), expected);
	assert_int_equal(record_stream__string(recording_writer__stream(writer), "too late"), 0);
	/* Nothing is left of the chunk that found no room. */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, recording_writer__size(writer));
	assert_int_equal(recording_writer__close(writer), expected);

	outcome = outcome__of_file(path);
	assert_int_equal(outcome.err, 0);
	assert_non_null(strstr(outcome.warning, "cut short"));
	assert_null(strstr(outcome.warning, "damaged"));
	assert_true(outcome.records.n > 1000);
	for (size_t i = 0; i < outcome.records.n; i++) {
		const struct record *have = &outcome.records.data[i].record;

		if (have->type < RECORD_STRING || have->type > RECORD_OBJECT)
			assert_true(record__same(have, &put.data[at++].record, false));
	}
	outcome__free(&outcome);
	copies__free(&put);
}

static void limit_file_size(rlim_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The second time, an empty file must not take the place of the recording that was kept. */
static void a_full_disk_keeps_the_old_recording(void **state)
{
	const char *path = temp__path(state, "kept");
	struct recording_writer *writer;

	signal(SIGXFSZ, SIG_IGN);
	random__write(path, 1, 1, 5);
	limit_file_size(0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(recording_writer__create(path, &writer), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	for (int i = 0; i < 2; i++) {
		_cleanup_outcome_ struct outcome outcome = outcome__of_file(path);

		assert_int_equal(outcome.err, 0);
		assert_true(outcome.records.n >= 5);
	}
}

static void a_file_size_limit_leaves_whole_chunks(void **state)
{
	const char *path = temp__path(state, "limited");
	struct recording_writer *writer;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(recording_writer__create(path, &writer), 0);
	limit_file_size(1000001);
	fill_up(path, -EFBIG, writer);
	limit_file_size(RLIM_INFINITY);
}

/* At whatever byte adding fails, the recording is as it was. */
static void adding_fails_without_a_trace(void **state)
{
	const char *path = temp__path(state, "unlucky");
	struct outcome before, outcome;
	struct recording_writer *writer;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	for (int more = -200; more < 500; more += 7) {
		int err;

		complete(path, &writer);
		before = outcome__of_file(path);
		assert_int_equal(stat(path, &st), 0);
		limit_file_size((rlim_t)(st.st_size + more));
		record_stream__meta(recording_writer__stream(writer), "name", "value");
		recording_writer__flush(writer);
		record_stream__meta(recording_writer__stream(writer), "another name",
				    "another value");
		err = recording_writer__close(writer);
		limit_file_size(RLIM_INFINITY);
		outcome = outcome__of_file(path);
		assert_true(outcome.records.n == before.records.n + (err ? 0 : 6));
		/* Below its old size, there is no room for the old index either. */
		if (more >= 0)
			assert_string_equal(outcome.warning, "");
		else
			assert_true(outcome.warning[0] || !err);
		outcome__free(&outcome);
		outcome__free(&before);
	}
}

/* A file system of one megabyte, which only root can have; in a process of its own. */
static void a_full_disk_leaves_whole_chunks(void **state)
{
	const char *directory = temp__path(state, "disk");
	const char *path = temp__path(state, "disk/full");
	struct recording_writer *writer;
	int status;
	pid_t pid;

	assert_int_equal(mkdir(directory, 0700), 0);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS))
			_exit(77);
		/* Where / is no mount point (in a chroot), the mount is taken back instead. */
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
		if (mount("dwell", directory, "tmpfs", 0, "size=1m"))
			_exit(77);
		if (recording_writer__create(path, &writer))
			_exit(1);
		fill_up(path, -ENOSPC, writer);
		umount2(directory, MNT_DETACH);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* clang-format off */
#define FILE_OF(bytes, err, says) {(bytes), sizeof(bytes) - 1, (err), (says)}
static const struct {
	const char *bytes;
	size_t size;
	int err;
	const char *says;
} foreign_files[] = {
	FILE_OF("", -ENODATA, "is empty"),
	FILE_OF("PERFILE2\x68\0\0\0", -EINVAL, "perf.data"),
	FILE_OF("\x1f\x8b\x08\0\0\0\0\0\0\3", -EINVAL, "gzip"),
	FILE_OF("\x7f" "ELF\2\1\1\0", -EINVAL, "ELF"),
	FILE_OF("\xd4\xc3\xb2\xa1\2\0\4\0", -EINVAL, "pcap"),
	FILE_OF("\x28\xb5\x2f\xfd\0\0\0", -EINVAL, "zstd"),
	FILE_OF("{\"traceEvents\": []}", -EINVAL, "JSON"),
	FILE_OF("#!/bin/sh\n", -EINVAL, "script"),
	FILE_OF("main;read 12\nmain;write 3\n", -EINVAL, "text"),
	FILE_OF("\x17\x08\x44tracing", -EINVAL, "trace-cmd"),
	FILE_OF("\1\2\3\4", -EINVAL, "something else"),
	FILE_OF("\x89" "DWL\r\n\x1a\n\1\0", -ENODATA, "cut short"),
	FILE_OF("\x89" "DWL", -ENODATA, "cut short"),
	FILE_OF("\x89" "DWL\n\x1a\n\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", -EINVAL,
		"a transfer as text"),
};
/* clang-format on */

static void other_files_are_named(void **state)
{
	const char *path = temp__path(state, "foreign");
	struct recording_reader *reader = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(foreign_files); i++) {
		file__write(path, foreign_files[i].bytes, foreign_files[i].size);
		assert_int_equal(recording_reader__open(path, &reader), foreign_files[i].err);
		if (!strstr(error__message(foreign_files[i].err), foreign_files[i].says) ||
		    !strstr(error__message(foreign_files[i].err), path) ||
		    !error__hint_text(foreign_files[i].err)[0])
			fail_msg("\"%s\" does not say \"%s\"", error__message(foreign_files[i].err),
				 foreign_files[i].says);
	}
	assert_null(reader);
}

static void unreadable_places_are_explained(void **state)
{
	const char *path = temp__path(state, "nobody");
	struct recording_reader *reader = NULL;

	assert_int_equal(recording_reader__open(temp__path(state, "missing"), &reader), -ENOENT);
	assert_non_null(strstr(error__hint_text(-ENOENT), "dwell record"));
	assert_int_equal(recording_reader__open("/", &reader), -EISDIR);
	assert_non_null(strstr(error__message(-EISDIR), "directory"));
	assert_int_equal(recording_reader__open("/dev/null", &reader), -EINVAL);
	assert_non_null(strstr(error__message(-EINVAL), "device"));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(recording_reader__open(path, &reader), -EINVAL);
	if (geteuid() != 0) {
		path = temp__path(state, "secret");
		file__write(path, "x", 1);
		assert_int_equal(chmod(path, 0), 0);
		assert_int_equal(recording_reader__open(path, &reader), -EACCES);
	}
	assert_null(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_keeps_numbers),
		cmocka_unit_test(adding_nothing_changes_nothing),
		cmocka_unit_test(adding_may_be_interrupted),
		cmocka_unit_test(adding_to_an_empty_recording),
		cmocka_unit_test(an_existing_file_is_renamed),
		cmocka_unit_test(the_first_sample_takes_the_place),
		cmocka_unit_test(without_a_sample_nothing_is_replaced),
		cmocka_unit_test(without_unnamed_files),
		cmocka_unit_test(a_failed_create_moves_nothing),
		cmocka_unit_test(a_full_disk_keeps_the_old_recording),
		cmocka_unit_test(odd_places_are_refused),
		cmocka_unit_test(a_device_swallows_everything),
		cmocka_unit_test(other_files_are_named),
		cmocka_unit_test(unreadable_places_are_explained),
		cmocka_unit_test(a_file_size_limit_leaves_whole_chunks),
		cmocka_unit_test(adding_fails_without_a_trace),
		cmocka_unit_test(a_full_disk_leaves_whole_chunks),
	};

	return cmocka_run_group_tests_name("recording files", tests, temp__make, temp__remove);
}
