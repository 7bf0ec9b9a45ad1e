// SPDX-License-Identifier: BSD-2-Clause
/* Names by a process without privileges: the same as in this process, and what happens if it stops.
 */
#include "tests/unit/test_symbols_support.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "privsep/names.h"
#include "privsep/name_files.h"
#include "privsep/names_wire.h"
#include "privsep/opener.h"
#include "symbols/symbol_files.h"
#include "tests/unit/rounds.h"

static struct privsep *privsep;

static int start(void **state)
{
	return scratch__make(state) || privsep__start(&privsep);
}

static int stop(void **state)
{
	privsep__free(privsep);
	return scratch__remove(state);
}

static struct names *new_names(struct privsep *by, const char *debug_root)
{
	const struct symbolizer_options options = {.lines = true, .debug_root = debug_root};
	struct names *names;

	assert_int_equal(names__new(by, &options, &names), 0);
	return names;
}

/* The names of addresses, as text. */
struct text {
	char *data;
	size_t size;
	FILE *file;
	size_t n;
};

static int add_text(void *arg, size_t index, const struct symbol_frame *frames, size_t n)
{
	struct text *text = arg;

	text->n++;
	fprintf(text->file, "%zu:", index);
	for (size_t i = 0; i < n; i++)
		fprintf(text->file, " %s %s:%u%s", frames[i].name,
			frames[i].file ? frames[i].file : "-", frames[i].line,
			frames[i].inlined ? " in" : "");
	fputc('\n', text->file);
	return 0;
}

static size_t resolve(struct names *names, int source, const struct unnamed_address *addresses,
		      size_t n, char **out)
{
	struct text text = {};

	text.file = open_memstream(&text.data, &text.size);
	assert_non_null(text.file);
	assert_int_equal(names__resolve(names, source, addresses, n, add_text, &text), 0);
	fclose(text.file);
	*out = text.data;
	return text.n;
}

/* Asks for @n addresses from @first on, with and without the namer; @text must be in the answer. */
static void assert_same(const struct symbol_source *source, const char *debug_root, uint64_t first,
			size_t n, const char *text)
{
	struct names *there = new_names(privsep, debug_root), *here = new_names(NULL, debug_root);
	struct unnamed_address *addresses = calloc(n, sizeof(*addresses));
	_cleanup_free_ char *a = NULL, *b = NULL;
	const char *diagnostic;
	int x, y;

	assert_non_null(addresses);
	for (size_t i = 0; i < n; i++)
		addresses[i] = (struct unnamed_address){first + i, i % 16 == 15};
	x = names__add_source(there, source);
	y = names__add_source(here, source);
	assert_int_equal(resolve(there, x, addresses, n, &a), n);
	assert_int_equal(resolve(here, y, addresses, n, &b), n);
	assert_string_equal(a, b);
	assert_non_null(strstr(a, text));
	diagnostic = names__diagnostic(here, y);
	if (diagnostic)
		assert_string_equal(names__diagnostic(there, x), diagnostic);
	else
		assert_null(names__diagnostic(there, x));
	assert_false(names__failed(there, x));
	names__free(there);
	names__free(here);
	free(addresses);
}

static void names_are_the_same(void **state)
{
	char path[512];
	struct symbol_source source = {.path = path, .fd = -1};
	struct segment code;

	strcpy(path, build("gcc", "", "calls.c", "whole"));
	code = read_code(path);
	assert_same(&source, NULL, code.offset, code.size, "sum_twice");
	source.fd = open(path, O_PATH | O_CLOEXEC);
	unlink(path);
	assert_same(&source, NULL, code.offset, code.size, "calls.c:");
	close(source.fd);
	source.fd = -1;
	assert_same(&source, NULL, code.offset, 100, "0:  -:0"); /* there is no file now */
}

static void debug_files_are_found(void **state)
{
	char bare[512];
	char hex[129];
	struct symbol_source source = {.path = bare, .fd = -1};
	struct segment code = read_code(build("gcc", "", "calls.c", "linked"));

	strcpy(bare, in_scratch("bare"));
	read_build_id(in_scratch("linked"), hex);
	assert_int_equal(run("cd %s && objcopy --only-keep-debug linked linked.debug && objcopy "
			     "--strip-all --add-gnu-debuglink=linked.debug linked bare",
			     scratch),
			 0);
	assert_same(&source, NULL, code.offset, code.size, "calls.c:");
	/* Only what the program's owner may read. */
	assert_int_equal(chmod(in_scratch("linked.debug"), 0600), 0);
	assert_same(&source, NULL, code.offset, code.size, "calls.c:");
	assert_int_equal(run("cd %s && mkdir -p debug/.build-id/%.2s && cp linked.debug "
			     "debug/.build-id/%.2s/%s.debug && rm linked.debug",
			     scratch, hex, hex, hex + 2),
			 0);
	assert_same(&source, in_scratch("debug"), code.offset, code.size, "calls.c:");
	if (!geteuid()) {
		struct names *names = new_names(privsep, in_scratch("debug"));
		const struct unnamed_address address = {code.offset + code.size / 2, false};
		_cleanup_free_ char *text = NULL;

		assert_int_equal(chown(bare, 12345, 12345), 0);
		resolve(names, names__add_source(names, &source), &address, 1, &text);
		assert_null(strstr(text, "calls.c:"));
		names__free(names);
	}
}

static void jit_maps_and_the_vdso_are_named(void **state)
{
	const struct symbol_source jit = {
		.kind = SYMBOL_SOURCE_JIT, .pid = (uint32_t)getpid(), .owner = geteuid(), .fd = -1};
	const struct symbol_source vdso = {.kind = SYMBOL_SOURCE_VDSO, .path = "[vdso]", .fd = -1};
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "1000 100 made_up\n1100 10 another one\n");
	fclose(file);
	assert_same(&jit, NULL, 0x1000, 0x110, "another one");
	unlink(path);
	assert_same(&jit, NULL, 0x1000, 0x110, "0:  -:0");
	if (image)
		assert_same(&vdso, NULL, 0, 4096, "clock_gettime");
}

static void assert_failed(struct names *names, int source, const char *path, int err,
			  const char *text)
{
	const struct privsep_failure *failures;
	bool found = false;
	uint64_t more;
	size_t n;

	assert_true(names__failed(names, source));
	assert_non_null(strstr(names__diagnostic(names, source), path));
	assert_non_null(strstr(names__diagnostic(names, source), text));
	failures = privsep__failures(privsep, &n, &more);
	for (size_t i = 0; i < n; i++)
		found |= failures[i].err == err && !strcmp(failures[i].path, path);
	assert_true(found);
}

static void send_later(pid_t pid, int signal)
{
	pid_t child = fork();

	if (child)
		return;
	usleep(200000);
	kill(pid, signal);
	_exit(0);
}

/* Three sources: the reader of the second one is killed, or stops. */
static void one_file_fails(int signal, int err, const char *why)
{
	struct names *names = new_names(privsep, NULL);
	char paths[3][512];
	int sources[3];
	struct unnamed_address address = {};
	_cleanup_free_ char *text[4] = {};

	for (int i = 0; i < 3; i++) {
		char name[32];
		struct symbol_source source = {.path = paths[i], .fd = -1};

		snprintf(name, sizeof(name), "file%d-%d", signal, i);
		strcpy(paths[i], build("gcc", i ? "-DOTHER -O1" : "", "calls.c", name));
		sources[i] = names__add_source(names, &source);
	}
	address.address = offset_of(paths[0], "sum_twice");
	assert_int_equal(resolve(names, sources[0], &address, 1, &text[0]), 1);
	assert_true(names__pid(names) > 0);
	kill(names__pid(names), SIGSTOP);
	if (signal)
		send_later(names__pid(names), signal);
	assert_int_equal(resolve(names, sources[1], &address, 1, &text[1]), 0);
	assert_failed(names, sources[1], paths[1], err, why);
	/* Not again. */
	assert_int_equal(resolve(names, sources[1], &address, 1, &text[2]), 0);
	address.address = offset_of(paths[2], "sum_twice");
	assert_int_equal(resolve(names, sources[2], &address, 1, &text[3]), 1);
	assert_non_null(strstr(text[3], "sum_twice"));
	assert_false(names__failed(names, sources[2]));
	names__free(names);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	for (int i = 0; i < 3; i++)
		free(TAKE_PTR(text[i + 1]));
}

static void a_reader_that_is_killed_fails_one_file(void **state)
{
	one_file_fails(SIGKILL, -EFAULT, "was killed");
}

static void a_reader_that_is_slow_fails_one_file(void **state)
{
	one_file_fails(0, -ETIMEDOUT, "took too long");
}

static void a_reader_that_has_ended_is_replaced(void **state)
{
	struct names *names = new_names(privsep, NULL);
	char path[512];
	struct symbol_source source = {.path = path, .fd = -1};
	struct unnamed_address address = {};
	_cleanup_free_ char *first = NULL, *second = NULL;
	int number;

	strcpy(path, build("gcc", "", "calls.c", "again"));
	address.address = offset_of(path, "sum_twice");
	number = names__add_source(names, &source);
	assert_int_equal(resolve(names, number, &address, 1, &first), 1);
	kill(names__pid(names), SIGKILL);
	for (int i = 0; i < 1000 && !kill(names__pid(names), 0); i++)
		usleep(1000); /* the zygote waits for it at the next fork only */
	assert_int_equal(resolve(names, number, &address, 1, &second), 1);
	assert_string_equal(first, second);
	names__free(names);
}

static void *cancel_later(void *names)
{
	usleep(100000);
	names__cancel(names);
	return NULL;
}

/* A reader that does not answer, in the background: the request ends, and is no failure of the
 * file. */
static void a_request_is_cancelled(void **state)
{
	struct names *names = new_names(privsep, NULL);
	char path[512];
	struct symbol_source source = {.path = path, .fd = -1};
	struct unnamed_address address = {};
	_cleanup_free_ char *text = NULL;
	size_t before, after;
	uint64_t more;
	pthread_t thread;
	int number;

	strcpy(path, build("gcc", "", "calls.c", "cancelled"));
	address.address = offset_of(path, "sum_twice");
	names__run_in_background(names);
	number = names__add_source(names, &source);
	assert_int_equal(resolve(names, number, &address, 1, &text), 1);
	assert_int_equal(sched_getscheduler(names__pid(names)), SCHED_IDLE);
	kill(names__pid(names), SIGSTOP);
	privsep__failures(privsep, &before, &more);
	assert_int_equal(pthread_create(&thread, NULL, cancel_later, names), 0);
	assert_int_equal(names__resolve(names, number, &address, 1, add_text, NULL), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(names__resolve(names, number, &address, 1, add_text, NULL), -ECANCELED);
	assert_false(names__failed(names, number));
	privsep__failures(privsep, &after, &more);
	assert_int_equal(after, before);
	names__free(names);
}

/* SIGBUS, or an error: this process lives on, and what was found before stays. */
static void a_file_is_cut_short(void **state)
{
	struct names *names = new_names(privsep, NULL);
	char path[512], other[512];
	struct symbol_source source = {.path = path, .fd = -1}, next = {.path = other, .fd = -1};
	_cleanup_free_ char *first = NULL, *second = NULL, *third = NULL;
	struct unnamed_address *addresses;
	struct segment code;
	int number;

	assert_int_equal(run("cp /proc/%d/exe %s/large", getpid(), scratch), 0);
	strcpy(path, in_scratch("large"));
	strcpy(other, build("gcc", "", "calls.c", "other"));
	code = read_code(path);
	addresses = calloc(code.size / 64 + 1, sizeof(*addresses));
	assert_non_null(addresses);
	for (size_t i = 0; i <= code.size / 64; i++)
		addresses[i].address = code.offset + 64 * i;
	number = names__add_source(names, &source);
	assert_int_equal(resolve(names, number, addresses, 1, &first), 1);
	assert_int_equal(truncate(path, 4096), 0);
	resolve(names, number, addresses, code.size / 64, &second);
	assert_failed(names, number, path, -EFAULT, "was killed");
	number = names__add_source(names, &next);
	addresses[0].address = offset_of(other, "sum_twice");
	assert_int_equal(resolve(names, number, addresses, 1, &third), 1);
	assert_non_null(strstr(third, "sum_twice"));
	free(addresses);
	names__free(names);
}

static int path_of(enum symbol_file_kind kind, const char *name, char path[512])
{
	const struct symbol_source source = {.path = "/opt/app/bin/program"};
	const struct symbol_file_request request = {.kind = kind, .name = name};

	return symbol_file__path(&source, "/usr/lib/debug", &request, path, 512);
}

static void only_files_of_a_program_can_be_asked_for(void **state)
{
	static const struct {
		enum symbol_file_kind kind;
		const char *name;
		const char *path; /* NULL: refused */
	} cases[] = {
		{SYMBOL_FILE_DEBUG_ID, "abcdef", "/usr/lib/debug/.build-id/ab/cdef.debug"},
		{SYMBOL_FILE_PROGRAM_ID, "abcdef", "/usr/lib/debug/.build-id/ab/cdef"},
		{SYMBOL_FILE_DEBUG_ID, "ab/../../../../etc/shadow", NULL},
		{SYMBOL_FILE_DEBUG_ID, "ABCDEF", NULL},
		{SYMBOL_FILE_DEBUG_ID, "", NULL},
		{SYMBOL_FILE_DEBUG_ID, NULL, NULL},
		{SYMBOL_FILE_LINK_BESIDE, "x.debug", "/opt/app/bin/x.debug"},
		{SYMBOL_FILE_LINK_BELOW, "x.debug", "/opt/app/bin/.debug/x.debug"},
		{SYMBOL_FILE_LINK_DEBUG, "x.debug", "/usr/lib/debug/opt/app/bin/x.debug"},
		{SYMBOL_FILE_LINK_BESIDE, "program", NULL},
		{SYMBOL_FILE_LINK_BESIDE, "../x.debug", NULL},
		{SYMBOL_FILE_LINK_BESIDE, "..", NULL},
		{SYMBOL_FILE_LINK_BESIDE, "", NULL},
		{SYMBOL_FILE_LINK_DEBUG, "/etc/shadow", NULL},
		{SYMBOL_FILE_ALTERNATE, "/usr/lib/debug/.dwz/x", "/usr/lib/debug/.dwz/x"},
		{SYMBOL_FILE_ALTERNATE, "/usr/lib/debug/a/./b/..//../.dwz/x",
		 "/usr/lib/debug/.dwz/x"},
		{SYMBOL_FILE_ALTERNATE, "/opt/app/bin/../bin/x", "/opt/app/bin/x"},
		{SYMBOL_FILE_ALTERNATE, "/opt/app/bin/../x", NULL},
		{SYMBOL_FILE_ALTERNATE, "/opt/app/bin/x/y", NULL},
		{SYMBOL_FILE_ALTERNATE, "/usr/lib/debug/../../../etc/shadow", NULL},
		{SYMBOL_FILE_ALTERNATE, "/usr/lib/debugger/x", NULL},
		{SYMBOL_FILE_ALTERNATE, "/../usr/lib/debug", NULL},
		{SYMBOL_FILE_ALTERNATE, "/etc/shadow", NULL},
		{SYMBOL_FILE_ALTERNATE, "etc/shadow", NULL},
		{SYMBOL_FILE_ALTERNATE, "", NULL},
		{SYMBOL_FILE_MAPPED, "/etc/shadow", NULL},
		{SYMBOL_FILE_JIT_MAP, "/etc/shadow", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[512] = "";
		int err = path_of(cases[i].kind, cases[i].name, path);

		assert_int_equal(err == 0, cases[i].path != NULL);
		if (!err)
			assert_string_equal(path, cases[i].path);
	}
}

/* A namer that was taken over, and asks for what is not its. */
static void nothing_else_is_passed(void **state)
{
	static const struct symbol_file_request requests[] = {
		{.kind = SYMBOL_FILE_ALTERNATE, .outside = true, .name = "/etc/hostname"},
		{.kind = SYMBOL_FILE_LINK_BESIDE, .outside = true, .name = "../hostname"},
		{.kind = SYMBOL_FILE_MAPPED, .name = ""},
		{.kind = SYMBOL_FILE_JIT_MAP, .name = ""},
		{.kind = SYMBOL_FILE_FETCH_DEBUG, .name = "../../../etc"},
		{.kind = SYMBOL_FILE_LINK_BESIDE, .outside = true, .name = "device"},
		{.kind = SYMBOL_FILE_KINDS, .name = ""},
	};
	struct namer_source source = {.source = {.path = in_scratch("program"), .fd = -1}};
	static struct wire_message message;
	struct name_files *files;
	uint64_t size;
	int sockets[2];

	assert_int_equal(wire__pair(sockets), 0);
	assert_int_equal(symlink("/dev/zero", in_scratch("device")), 0);
	assert_int_equal(name_files__new(privsep, true, "/usr/lib/debug", &files), 0);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		assert_true(name_files__pass(files, &source, &requests[i], sockets[0], &size) < 0);
		assert_int_equal(wire__receive(sockets[1], 0, 1, &message), -ETIMEDOUT);
	}
	name_files__free(files);
	close(sockets[0]);
	close(sockets[1]);
}

/* What is accepted keeps the promises of names_wire.h. */
static void check_result(const uint8_t *bytes, size_t size, size_t n, struct strings *strings)
{
	struct names_reader reader = {.cursor = {.at = bytes, .end = bytes + size},
				      .strings = strings};
	struct symbol_frame frames[NAMES_MAX_FRAMES];

	for (size_t i = 0; i < n; i++) {
		size_t depth = names_reader__frames(&reader, frames);

		assert_true(depth <= NAMES_MAX_FRAMES);
		assert_int_equal(depth == 0, reader.cursor.bad);
		for (size_t k = 0; k < depth; k++) {
			assert_true(strlen(frames[k].name) <= NAMES_MAX_STRING);
			if (frames[k].file)
				assert_true(strlen(frames[k].file) <= NAMES_MAX_STRING);
		}
		if (!depth)
			break;
	}
	assert_true(reader.string_bytes <= size);
	names_reader__free(&reader);
}

static void put_result(struct names_writer *writer, uint64_t seed, size_t n)
{
	static const char *const names[] = {"main", "std::sort<int>", "", "x", NULL};

	for (size_t i = 0; i < n; i++) {
		struct symbol_frame frames[3] = {};
		size_t depth = 1 + seed % 3;

		for (size_t k = 0; k < depth; k++, seed = hash__mix(seed))
			frames[k] = (struct symbol_frame){names[seed % 5], names[(seed >> 8) % 5],
							  (uint32_t)(seed >> 32), seed & 1};
		names_writer__frames(writer, frames, depth);
	}
	names_writer__string(writer, "why");
}

static void damaged_results_are_refused(void **state)
{
	struct strings strings = {};
	uint64_t seed = 1;

	for (unsigned int i = 0; i < rounds(20000); i++) {
		struct names_writer writer = {};
		uint8_t *copy;
		size_t size;

		put_result(&writer, seed, 1 + seed % 20);
		size = seed % 5 ? writer.bytes.n : seed % (writer.bytes.n + 1);
		copy = malloc(size ? size : 1);
		assert_non_null(copy);
		memcpy(copy, writer.bytes.data, size);
		for (seed = hash__mix(seed + i); size && seed % 4; seed = hash__mix(seed))
			copy[(seed >> 8) % size] = (uint8_t)(seed >> 40);
		check_result(copy, size, 20, &strings);
		free(copy);
		names_writer__free(&writer);
		seed = hash__mix(seed + 1);
	}
	strings__free(&strings);
}

/* A web server on this machine, and where it listens. */
static pid_t serve_scratch(char url[64])
{
	char port[16] = "";
	int out[2];
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		if (freopen("/dev/null", "w", stderr) && !chdir(scratch))
			execlp("python3", "python3", "-c",
			       "import http.server, sys\n"
			       "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), "
			       "http.server.SimpleHTTPRequestHandler)\n"
			       "print(s.server_port, flush=True)\n"
			       "s.serve_forever()\n",
			       NULL);
		_exit(1);
	}
	close(out[1]);
	assert_true(read(out[0], port, sizeof(port) - 1) > 0);
	close(out[0]);
	snprintf(url, 64, "http://127.0.0.1:%d/", atoi(port));
	return pid;
}

/* The process that asks is not this one, and not root. */
static void servers_are_asked_by_another_process(void **state)
{
	struct symbolizer_options options = {
		.lines = true, .debuginfod = true, .debug_root = "/nonexistent"};
	char path[512], bare[512], hex[129], url[64];
	struct symbol_source source = {.path = bare, .build_id = hex, .fd = -1};
	struct unnamed_address address = {};
	_cleanup_free_ char *text = NULL;
	struct privsep *own;
	struct names *names;
	struct stat stats;
	pid_t pid;

	if (!dlopen("libdebuginfod.so.1", RTLD_LAZY)) {
		print_message("skipped: libdebuginfod is not installed\n");
		skip();
	}
	need_tool("python3");
	strcpy(path, build("gcc", "", "calls.c", "served"));
	read_build_id(path, hex);
	strcpy(bare, in_scratch("served-bare"));
	assert_int_equal(run("cd %s && mkdir -p buildid/%s cache && chmod 777 cache && objcopy "
			     "--only-keep-debug served buildid/%s/debuginfo && "
			     "objcopy --strip-all served served-bare && chmod 755 .",
			     scratch, hex, hex),
			 0);
	pid = serve_scratch(url);
	unsetenv("SUDO_UID");
	setenv("DEBUGINFOD_CACHE_PATH", in_scratch("cache"), 1);
	setenv("DEBUGINFOD_URLS", url, 1);
	assert_int_equal(privsep__start(&own), 0);
	assert_int_equal(names__new(own, &options, &names), 0);
	address.address = offset_of(path, "sum_twice");
	assert_int_equal(resolve(names, names__add_source(names, &source), &address, 1, &text), 1);
	assert_non_null(strstr(text, "calls.c:"));
	/* Root's cache is not for other users; the fetcher's own one is removed again. */
	assert_int_equal(stat(in_scratch("cache/%s", hex), &stats) != 0, !geteuid());
	names__free(names);
	privsep__free(own);
	assert_int_not_equal(system("ls -d /tmp/dwell-debuginfod-* >/dev/null 2>&1"), 0);
	unsetenv("DEBUGINFOD_URLS");
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_the_same),
		cmocka_unit_test(debug_files_are_found),
		cmocka_unit_test(jit_maps_and_the_vdso_are_named),
		cmocka_unit_test(a_reader_that_is_killed_fails_one_file),
		cmocka_unit_test(a_reader_that_is_slow_fails_one_file),
		cmocka_unit_test(a_reader_that_has_ended_is_replaced),
		cmocka_unit_test(a_request_is_cancelled),
		cmocka_unit_test(a_file_is_cut_short),
		cmocka_unit_test(only_files_of_a_program_can_be_asked_for),
		cmocka_unit_test(nothing_else_is_passed),
		cmocka_unit_test(damaged_results_are_refused),
		cmocka_unit_test(servers_are_asked_by_another_process),
	};

	return cmocka_run_group_tests_name("names", tests, start, stop);
}
