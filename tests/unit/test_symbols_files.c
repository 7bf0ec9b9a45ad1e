// SPDX-License-Identifier: BSD-2-Clause
/* Where programs and their debug files are found, and which are refused. */
#include <inttypes.h>

#include "tests/unit/test_symbols_support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* What every address of @reference resolves to, @path (the same program) gives too. */
static void assert_same(const char *reference, const char *path, const char *build_id, int fd,
			const char *debug_root, const char *root)
{
	struct symbolizer *symbolizer = new_symbolizer(true, debug_root);
	struct symbol_source source = {.path = path, .root = root, .build_id = build_id, .fd = fd};
	int expected = add_file(symbolizer, reference, NULL, -1);
	int number = symbolizer__add_source(symbolizer, &source);
	struct segment code = read_code(reference);
	size_t inlined = 0;

	for (uint64_t at = code.offset; at < code.offset + code.size; at++) {
		struct frames a;
		struct frames b;

		a.n = symbolizer__resolve(symbolizer, expected, at, a.at, MAX_FRAMES);
		b.n = symbolizer__resolve(symbolizer, number, at, b.at, MAX_FRAMES);
		assert_int_equal(a.n, b.n);
		inlined += a.n - 1;
		for (size_t i = 0; i < a.n; i++) {
			/* Stubs are in the program, not in its debug file. */
			if (!strstr(a.at[i].name, "@plt"))
				assert_string_equal(a.at[i].name, b.at[i].name);
			assert_int_equal(a.at[i].line, b.at[i].line);
			assert_int_equal(a.at[i].inlined, b.at[i].inlined);
		}
	}
	assert_true(inlined > 100);
	assert_null(symbolizer__diagnostic(symbolizer, number));
	symbolizer__free(symbolizer);
}

/* What there is to say of @path, after asking for something in it. */
static void assert_diagnostic(const char *path, const char *build_id, const char *text)
{
	struct symbolizer *symbolizer = new_symbolizer(true, in_scratch("debug"));
	int number = add_file(symbolizer, path, build_id, -1);
	const char *diagnostic;

	name_at(symbolizer, number, 0x1100);
	diagnostic = symbolizer__diagnostic(symbolizer, number);
	if (!diagnostic || !strstr(diagnostic, text))
		fail_msg("%s is not in %s", text, diagnostic ? diagnostic : "(null)");
	assert_null(strchr(diagnostic, '\n'));
	symbolizer__free(symbolizer);
}

/* SCRATCH/whole in two: SCRATCH/bare and SCRATCH/whole.debug. */
static void build_split(const char *flags)
{
	build("gcc", flags, "calls.c", "whole");
	assert_int_equal(run("cd %s && objcopy --only-keep-debug whole whole.debug && "
			     "objcopy --strip-all --add-gnu-debuglink=whole.debug whole bare",
			     scratch),
			 0);
}

static void debug_links_are_followed(void **state)
{
	static const char *const ids[] = {"", "-Wl,--build-id=none"};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char whole[512];
		char bare[512];

		build_split(ids[i]);
		strcpy(whole, in_scratch("whole"));
		strcpy(bare, in_scratch("bare"));
		assert_same(whole, bare, NULL, -1, in_scratch("debug"), NULL);
		assert_int_equal(run("cd %s && mkdir -p .debug && mv whole.debug .debug/", scratch),
				 0);
		assert_same(whole, bare, NULL, -1, in_scratch("debug"), NULL);
		assert_int_equal(run("cd %s && mkdir -p debug%s && mv .debug/whole.debug debug%s/",
				     scratch, scratch, scratch),
				 0);
		assert_same(whole, bare, NULL, -1, in_scratch("debug"), NULL);
		assert_int_equal(run("rm -r %s/debug", scratch), 0);
		assert_diagnostic(bare, NULL, "stripped");
	}
}

static void a_wrong_debug_file_is_not_used(void **state)
{
	char bare[512];

	build_split("-Wl,--build-id=none");
	strcpy(bare, in_scratch("bare"));
	assert_int_equal(run("echo more >>%s", in_scratch("whole.debug")), 0);
	assert_diagnostic(bare, NULL, "stripped");
	build_split("");
	build("gcc", "-DOTHER -O1", "calls.c", "whole");
	assert_int_equal(run("cd %s && objcopy --only-keep-debug whole whole.debug", scratch), 0);
	assert_diagnostic(bare, NULL, "stripped");
	assert_int_equal(run("echo garbage >%s", in_scratch("whole.debug")), 0);
	assert_diagnostic(bare, NULL, "stripped");
}

/* What is left of a file that was cut short is not taken for a stripped program. */
static void a_file_that_is_cut_short_is_told(void **state)
{
	char whole[512];

	build_split("");
	strcpy(whole, in_scratch("whole"));
	for (int lost = 1; lost < 10000; lost *= 20) {
		assert_int_equal(run("cd %s && cp bare cut && truncate -s -%d cut", scratch, lost),
				 0);
		assert_diagnostic(in_scratch("cut"), NULL, "is cut short, or damaged");
	}
	assert_int_equal(run("cd %s && cp %s cut && truncate -s 4096 cut", scratch, whole), 0);
	assert_diagnostic(in_scratch("cut"), NULL, "is cut short, or damaged");
}

/* Puts SCRATCH/whole.debug where its build id says. */
static void file_by_build_id(char hex[129])
{
	read_build_id(in_scratch("whole"), hex);
	assert_int_equal(run("cd %s && mkdir -p debug/.build-id/%.2s && "
			     "mv whole.debug debug/.build-id/%.2s/%s.debug",
			     scratch, hex, hex, hex + 2),
			 0);
}

static void debug_files_are_found_by_build_id(void **state)
{
	char whole[512];
	char hex[129];

	build_split("-Wl,-z,separate-code");
	strcpy(whole, in_scratch("whole"));
	file_by_build_id(hex);
	assert_same(whole, in_scratch("bare"), NULL, -1, in_scratch("debug"), NULL);
	assert_same(whole, in_scratch("bare"), hex, -1, in_scratch("debug"), NULL);
	/* Without the program, too. */
	assert_same(whole, "/no/such/file", hex, -1, in_scratch("debug"), NULL);
	/* And when another one took its place. */
	assert_same(whole, "/bin/sh", hex, -1, in_scratch("debug"), NULL);
	assert_int_equal(run("rm -r %s/debug", scratch), 0);
	assert_diagnostic(in_scratch("bare"), hex, "stripped");
}

static void a_replaced_file_is_not_used(void **state)
{
	char first[512];
	char hex[129];
	int fd;

	strcpy(first, build("gcc", "", "calls.c", "first"));
	read_build_id(first, hex);
	assert_int_equal(run("cp %s %s", first, in_scratch("kept")), 0);
	fd = open(first, O_RDONLY | O_CLOEXEC);
	assert_int_equal(run("mv %s %s", build("gcc", "-O1", "calls.c", "second"), first), 0);
	assert_diagnostic(first, hex, "was replaced");
	/* The descriptor is of the file that ran. */
	assert_same(in_scratch("kept"), first, hex, fd, in_scratch("debug"), NULL);
	unlink(first);
	assert_diagnostic(first, hex, "No such file");
	assert_same(in_scratch("kept"), first, hex, fd, in_scratch("debug"), NULL);
	assert_same(in_scratch("kept"), "/bin/sh", hex, fd, in_scratch("debug"), NULL);
	close(fd);
}

/* As in a container, whose absolute links lead nowhere outside it. */
static void files_are_looked_up_inside_their_root(void **state)
{
	char path[512];
	char root[512];

	strcpy(path, build("gcc", "", "calls.c", "inside"));
	strcpy(root, in_scratch("root"));
	assert_int_equal(run("cd %s && rm -rf root && mkdir -p root/opt/real && "
			     "cp inside root/opt/real/program && ln -s /opt/real root/opt/link",
			     scratch),
			 0);
	assert_same(path, "/opt/real/program", NULL, -1, NULL, root);
	assert_same(path, "/opt/link/program", NULL, -1, NULL, root);
}

/* Our own file system is searched for a process's path only if a build id can tell. */
static void the_same_path_elsewhere_is_no_proof(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, in_scratch("debug"));
	char path[512];
	char hex[129];
	struct symbol_source source = {.path = path, .root = "/nonexistent", .fd = -1};
	uint64_t at;
	int number;

	strcpy(path, build("gcc", "", "calls.c", "outside"));
	read_build_id(path, hex);
	at = offset_of(path, "sum_text");
	number = symbolizer__add_source(symbolizer, &source);
	assert_string_equal(name_at(symbolizer, number, at), "");
	source.build_id = hex;
	number = symbolizer__add_source(symbolizer, &source);
	assert_string_equal(name_at(symbolizer, number, at), "sum_text");
	symbolizer__free(symbolizer);
}

static void mini_debug_information_names_functions(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, in_scratch("debug"));
	char path[512];
	int number;

	need_tool("xz");
	strcpy(path, build("gcc", "", "calls.c", "mini"));
	assert_int_equal(
		run("cd %s && objcopy --strip-debug mini sym && rm -f sym.xz && xz -k sym && "
		    "objcopy --strip-all --add-section .gnu_debugdata=sym.xz mini small",
		    scratch),
		0);
	number = add_file(symbolizer, in_scratch("small"), NULL, -1);
	assert_string_equal(name_at(symbolizer, number, offset_of(path, "sum_twice")), "sum_twice");
	assert_non_null(strstr(symbolizer__diagnostic(symbolizer, number), "no debug information"));
	symbolizer__free(symbolizer);
}

static void parts_moved_out_by_dwz_are_found(void **state)
{
	char whole[512];
	char hex[129];

	need_tool("dwz");
	strcpy(whole, build("gcc", "", "calls.c", "whole"));
	assert_int_equal(run("cd %s && cp whole one && cp whole two && "
			     "dwz -m common.debug -M moved.debug one two",
			     scratch),
			 0);
	assert_int_equal(run("mv %s/common.debug %s/moved.debug", scratch, scratch), 0);
	assert_same(whole, in_scratch("one"), NULL, -1, in_scratch("debug"), NULL);
	read_build_id(in_scratch("moved.debug"), hex);
	assert_int_equal(run("cd %s && mkdir -p debug/.build-id/%.2s && "
			     "mv moved.debug debug/.build-id/%.2s/%s.debug",
			     scratch, hex, hex, hex + 2),
			 0);
	assert_same(whole, in_scratch("one"), NULL, -1, in_scratch("debug"), NULL);
}

static void build_ids_are_read(void **state)
{
	char hex[129];
	char got[129] = "untouched";
	int fd;

	build("gcc", "", "calls.c", "with");
	read_build_id(in_scratch("with"), hex);
	fd = open(in_scratch("with"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbols__build_id(fd, got, 8), -28);
	assert_string_equal(got, "untouched");
	assert_int_equal(symbols__build_id(fd, got, sizeof(got)), 0);
	assert_string_equal(got, hex);
	close(fd);
	fd = open(build("gcc", "-Wl,--build-id=none", "calls.c", "without"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbols__build_id(fd, got, sizeof(got)), -2);
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbols__build_id(fd, got, sizeof(got)), -2);
	close(fd);
	assert_int_equal(symbols__build_id(-1, got, sizeof(got)), -2);
}

/* A web server on this machine, and where it listens; skips when there can be none. */
static pid_t serve_scratch(char url[64])
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	char port[16] = "";
	int out[2];
	pid_t pid;

	if (!library) {
		print_message("skipped: libdebuginfod is not installed\n");
		skip();
	}
	need_tool("python3");
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

static void servers_are_asked_when_that_is_wanted(void **state)
{
	struct symbolizer_options options = {.lines = true, .debug_root = "/nonexistent"};
	char whole[512];
	char hex[129];
	char made_up[64];
	char url[64];
	pid_t pid;

	build_split("");
	strcpy(whole, in_scratch("whole"));
	read_build_id(whole, hex);
	assert_int_equal(run("cd %s && mkdir -p buildid/%s && mv whole.debug buildid/%s/debuginfo",
			     scratch, hex, hex),
			 0);
	pid = serve_scratch(url);
	setenv("DEBUGINFOD_CACHE_PATH", in_scratch("cache"), 1);
	setenv("DEBUGINFOD_URLS", url, 1);
	for (int wanted = 0; wanted < 2; wanted++) {
		struct symbolizer *symbolizer;
		int number;

		options.debuginfod = wanted;
		assert_int_equal(symbolizer__new(&options, &symbolizer), 0);
		number = add_file(symbolizer, in_scratch("bare"), hex, -1);
		snprintf(made_up, sizeof(made_up), "bare+0x%" PRIx64,
			 address_of(whole, "sum_twice"));
		assert_string_equal(name_at(symbolizer, number, offset_of(whole, "sum_twice")),
				    wanted ? "sum_twice" : made_up);
		assert_int_equal(symbolizer__diagnostic(symbolizer, number) == NULL, wanted);
		symbolizer__free(symbolizer);
	}
	unsetenv("DEBUGINFOD_URLS");
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_links_are_followed),
		cmocka_unit_test(a_wrong_debug_file_is_not_used),
		cmocka_unit_test(a_file_that_is_cut_short_is_told),
		cmocka_unit_test(debug_files_are_found_by_build_id),
		cmocka_unit_test(a_replaced_file_is_not_used),
		cmocka_unit_test(files_are_looked_up_inside_their_root),
		cmocka_unit_test(the_same_path_elsewhere_is_no_proof),
		cmocka_unit_test(mini_debug_information_names_functions),
		cmocka_unit_test(parts_moved_out_by_dwz_are_found),
		cmocka_unit_test(build_ids_are_read),
		cmocka_unit_test(servers_are_asked_when_that_is_wanted),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
