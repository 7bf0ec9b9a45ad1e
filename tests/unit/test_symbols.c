// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/hang.h"
#include "tests/unit/test_symbols_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "symbols/jitmap.h"
#include "symbols/kallsyms.h"
#include "symbols/ranges.h"
#include "symbols/strings.h"
#include "symbols/symtab.h"

static void ranges_find_every_range_around_an_address(void **state)
{
	struct ranges ranges = {};
	uint64_t random = 7;

	for (uint32_t i = 0; i < 300; i++) {
		uint64_t start = next_random(&random) % 1000;

		assert_int_equal(ranges__add(&ranges, start, start + next_random(&random) % 200, i),
				 0);
	}
	ranges__seal(&ranges);
	for (uint64_t address = 0; address < 1300; address++) {
		const struct range *found = ranges__find(&ranges, address);

		for (size_t i = ranges.n; i-- > 0;) {
			const struct range *range = &ranges.data[i];

			if (range->start > address || range->end <= address)
				continue;
			assert_ptr_equal(found, range);
			found = ranges__outer(&ranges, found, address);
		}
		assert_null(found);
	}
	ranges__free(&ranges);
}

static void strings_stay_and_are_kept_once(void **state)
{
	struct strings strings = {};
	const char *kept[3000];
	char text[64];

	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "string number %d", i);
		kept[i] = strings__intern(&strings, text);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "string number %d", i);
		assert_string_equal(kept[i], text);
		assert_ptr_equal(strings__intern(&strings, text), kept[i]);
	}
	assert_int_equal(strings.n, 3000);
	strings__free(&strings);
}

struct alias {
	uint64_t size;
	bool function;
	bool global;
	const char *name;
};

/* The name that is shown when all of @aliases stand at one address. */
static void assert_best(const struct alias *aliases, size_t n, const char *best)
{
	for (size_t first = 0; first < n; first++) {
		struct symtab symtab = {};

		for (size_t i = 0; i < n; i++) {
			const struct alias *alias = &aliases[(first + i) % n];
			struct symbol symbol = {.start = 64,
						.limit = 128,
						.size = alias->size,
						.function = alias->function,
						.global = alias->global,
						.raw = alias->name};

			assert_int_equal(symtab__add(&symtab, &symbol), 0);
		}
		assert_int_equal(symtab__seal(&symtab), 0);
		assert_string_equal(symtab__find(&symtab, 65)->raw, best);
		symtab__free(&symtab);
	}
}

static void the_plainest_alias_wins(void **state)
{
	const struct alias pread[] = {{16, true, true, "__libc_pread64"},
				      {16, true, true, "__pread64"},
				      {16, true, true, "pread64@@GLIBC_2.2.5"},
				      {16, true, false, "pread"}};
	const struct alias label[] = {
		{0, false, true, "_begin"}, {0, true, true, "___function"}, {0, false, false, "b"}};
	const struct alias sized[] = {{0, true, true, "a"}, {8, true, false, "__long_name"}};
	const struct alias glibc[] = {{8, true, false, "__GI_____strtod_l_internal"},
				      {8, true, false, "____strtod_l_internal"}};
	const struct alias mangled[] = {{8, true, true, "_Znwm"},
					{8, true, true, "_malloc_for_new"}};

	assert_best(pread, ARRAY_SIZE(pread), "pread64@@GLIBC_2.2.5");
	assert_best(label, ARRAY_SIZE(label), "___function");
	assert_best(sized, ARRAY_SIZE(sized), "__long_name");
	assert_best(glibc, ARRAY_SIZE(glibc), "____strtod_l_internal");
	assert_best(mangled, ARRAY_SIZE(mangled), "_Znwm");
}

static const char *raw_at(const struct symtab *symtab, uint64_t address)
{
	const struct symbol *symbol = symtab__find(symtab, address);

	return symbol ? symbol->raw : "";
}

static void symbols_end_where_they_end(void **state)
{
	const struct symbol symbols[] = {
		{.start = 100, .size = 50, .limit = 1000, .raw = "sized", .function = true},
		{.start = 110, .limit = 1000, .raw = "label_inside"},
		{.start = 120, .size = 10, .limit = 1000, .raw = "nested", .function = true},
		{.start = 200, .limit = 1000, .raw = "unsized", .function = true},
		{.start = 300, .size = 10, .limit = 1000, .raw = "after", .function = true},
		{.start = 900, .limit = 1000, .raw = "last", .function = true},
		{.start = 990, .raw = "no_limit"},
		{.start = 2000, .size = 8, .raw = "short", .global = true, .function = true},
		{.start = 2000, .size = 32, .raw = "long", .function = true},
	};
	struct symtab symtab = {};
	const struct {
		uint64_t address;
		const char *name;
	} cases[] = {{99, ""},	       {100, "sized"},	 {115, "sized"}, {120, "nested"},
		     {129, "nested"},  {130, "sized"},	 {149, "sized"}, {150, ""},
		     {200, "unsized"}, {299, "unsized"}, {300, "after"}, {310, ""},
		     {900, "last"},    {989, "last"},	 {990, ""},	 {1000, ""},
		     {2000, "short"},  {2007, "short"},	 {2008, "long"}, {2032, ""}};

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		assert_int_equal(symtab__add(&symtab, &symbols[i]), 0);
	assert_int_equal(symtab__seal(&symtab), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(raw_at(&symtab, cases[i].address), cases[i].name);
	symtab__free(&symtab);
}

static void names_lose_versions_and_stubs_say_so(void **state)
{
	struct symbol version = {.raw = "pread64@@GLIBC_2.2.5"};
	struct symbol stub = {.raw = "_ZN2ns4funcEi", .plt = true};
	struct strings strings = {};

	assert_string_equal(symbol__name(&version, &strings), "pread64");
	assert_string_equal(symbol__name(&stub, &strings), "ns::func@plt");
	strings__free(&strings);
}

static void names_are_demangled(void **state)
{
	static const struct {
		const char *mangled;
		const char *plain;
	} names[] = {
		{"main", NULL},
		{"_start", NULL},
		{"", NULL},
		{"_Z", NULL},
		{"_ZN", NULL},
		{"_R", NULL},
		{"_Znot_mangled", NULL},
		{"_ZN2ns4funcEi", "ns::func"},
		{"_Znwm", "operator new"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZN3FooC2Ev", "Foo::Foo"},
		{"_ZN3FooD0Ev", "Foo::~Foo"},
		{"_ZN12_GLOBAL__N_16hiddenEv", "(anonymous namespace)::hidden"},
		{"_ZN2ns4funcEi.cold", "ns::func"},
		/* Rust, legacy: the hash goes, the escapes are read. */
		{"_ZN1r1m1n1f17h28e608784870988cE", "r::m::n::f"},
		{"_ZN29_$LT$r..S$u20$as$u20$r..T$GT$2go17h85e087bf38ecd78dE", "<r::S as r::T>::go"},
		{"_ZN1r1m1n1f28_$u7b$$u7b$closure$u7d$$u7d$17h899915ac7499282bE",
		 "r::m::n::f::{{closure}}"},
		/* Rust, v0. */
		{"_RNvCs6GmmlP4bgsG_1r4main", "r::main"},
		{"_RNvXCs6GmmlP4bgsG_1rNtB2_1SNtB2_1T2go", "<r::S as r::T>::go"},
		{"_RINvNtNtCs6GmmlP4bgsG_1r1m1n1fINtNtCslNYArtu3iFV_5alloc3vec3VeclEEB6_",
		 "r::m::n::f::<alloc::vec::Vec<i32>>"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *plain = symbols__demangle(names[i].mangled);

		if (!names[i].plain) {
			assert_null(plain);
			continue;
		}
		assert_non_null(plain);
		assert_string_equal(plain, names[i].plain);
	}
}

/* @number as back references are written: 0 is "_", 1 is "0_", and so on. */
static void append_reference(char *name, size_t number, const char *digits)
{
	size_t base = strlen(digits);
	char text[8] = {};
	size_t at = sizeof(text) - 1;

	text[--at] = '_';
	for (size_t left = number; left; left = left > base ? (left - 1) / base + 1 : 0)
		text[--at] = digits[(left - 1) % base];
	strcat(name, text + at);
}

/*
 * Each template argument is a pair of the one before, so that the last is 2^30
 * times as long as the first when written out.
 */
static void names_that_explode_are_left_alone(void **state)
{
	static const char base36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char base62[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char cpp[1024] = "_Z1fISt4pairIiiE";
	char rust[1024] = "_RINvC1a1fTmmE";
	size_t before = strlen("INvC1a1f");

	for (size_t i = 0; i < 30; i++) {
		size_t start = strlen(rust) - 2;

		strcat(cpp, "S0_IS");
		append_reference(cpp, i + 2, base36);
		strcat(cpp, "S");
		append_reference(cpp, i + 2, base36);
		strcat(cpp, "E");
		strcat(rust, "TB");
		append_reference(rust, before, base62);
		strcat(rust, "B");
		append_reference(rust, before, base62);
		strcat(rust, "E");
		before = start;
	}
	strcat(cpp, "EvT_");
	strcat(rust, "E");
	assert_string_equal(strrchr(rust, 'T'), "TB4r_B4r_EE");
	hang__limit(20);
	assert_null(symbols__demangle(cpp));
	assert_null(symbols__demangle(rust));
	hang__limit(0);
}

/* Reads @text as /proc/kallsyms. */
static int read_kallsyms(struct kallsyms *kallsyms, const char *text, bool generated)
{
	char *path = in_scratch("kallsyms");

	*kallsyms = (struct kallsyms){};
	write_file(path, text);
	return kallsyms__read(kallsyms, path, generated);
}

static void kallsyms_names_only_what_is_there(void **state)
{
	static const struct {
		uint64_t address;
		const char *name;
	} cases[] = {
		{0xffffffff80ffffff, ""},
		{0xffffffff81000000, "startup_64"},
		{0xffffffff8100003f, "startup_64"},
		{0xffffffff81000040, "do_one"},
		{0xffffffff810001ff, "do_one"},
		{0xffffffff81000200, ""},
		{0xffffffff81200fff, "before_a_hole"},
		{0xffffffff81201000, ""},
		{0xffffffff81800000, "behind_a_hole"},
		{0xffffffffc0000010, "ext4_writepages"},
		{0xffffffffc0000fff, "ext4_writepages"},
		{0xffffffffc0001000, ""},
		{0xffffffffc0003000, "vfs_func"},
		{0xffffffffc0003080, "bpf_prog_6deef7357e7b4530_sd_fw_egress"},
		{0xffffffffc0003fff, "bpf_prog_6deef7357e7b4530_sd_fw_egress"},
		{0xffffffffc0004000, ""},
		{0x10, ""},
	};
	struct kallsyms kallsyms;

	assert_int_equal(
		read_kallsyms(&kallsyms,
			      "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000040 t do_one\n"
			      "ffffffff81000000 t _internal_start\n"
			      "ffffffff81000000 T startup_64\n"
			      "ffffffff81000200 D some_data\n"
			      "broken line\n"
			      "ffffffff81200010 T before_a_hole\n"
			      "ffffffff81800000 T behind_a_hole\n"
			      "ffffffffc0000010 t ext4_writepages\t[ext4]\n"
			      "ffffffffc0003000 T vfs_func\t[other]\n"
			      "ffffffffc0003080 t bpf_prog_6deef7357e7b4530_sd_fw_egress\t[bpf]",
			      true),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(raw_at(&kallsyms.symtab, cases[i].address), cases[i].name);
	kallsyms__free(&kallsyms);
}

/* What the kernel generated and can unload is another program now than when it was recorded. */
static void generated_code_is_named_only_while_it_is_loaded(void **state)
{
	static const char text[] = "ffffffff81000000 T do_one\n"
				   "ffffffffc0003000 t ext4_writepages\t[ext4]\n"
				   "ffffffffc0004000 t bpf_prog_6deef7357e7b4530_count\t[bpf]\n"
				   "ffffffffc0005000 t ftrace_trampoline\t[__builtin__ftrace]\n"
				   "ffffffffc0006000 t kprobe_insn_page\t[__builtin__kprobes]\n";

	for (int generated = 0; generated < 2; generated++) {
		struct kallsyms kallsyms;

		assert_int_equal(read_kallsyms(&kallsyms, text, generated), 0);
		assert_string_equal(raw_at(&kallsyms.symtab, 0xffffffff81000010), "do_one");
		assert_string_equal(raw_at(&kallsyms.symtab, 0xffffffffc0003010),
				    "ext4_writepages");
		assert_string_equal(raw_at(&kallsyms.symtab, 0xffffffffc0004010),
				    generated ? "bpf_prog_6deef7357e7b4530_count" : "");
		assert_string_equal(raw_at(&kallsyms.symtab, 0xffffffffc0005010),
				    generated ? "ftrace_trampoline" : "");
		assert_string_equal(raw_at(&kallsyms.symtab, 0xffffffffc0006010),
				    generated ? "kprobe_insn_page" : "");
		kallsyms__free(&kallsyms);
	}
}

static void hidden_kallsyms_are_refused(void **state)
{
	struct kallsyms kallsyms;

	assert_int_equal(read_kallsyms(&kallsyms,
				       "0000000000000000 T _text\n"
				       "0000000000000000 t do_one\n",
				       true),
			 -1);
	assert_int_equal(read_kallsyms(&kallsyms, "", true), -1);
	assert_int_equal(kallsyms__read(&kallsyms, in_scratch("nothing"), true), -2);
}

/* Every kernel address asked has the name of a symbol that /proc/kallsyms has there. */
static void the_running_kernel_is_named(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(false, NULL);
	struct symbol_source source = {.kind = SYMBOL_SOURCE_KERNEL, .fd = -1};
	int number = symbolizer__add_source(symbolizer, &source);
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long address;
	unsigned long at = 0;
	bool named = true;
	int asked = 0;
	char name[512];
	char line[512];
	char type;

	name_at(symbolizer, number, 0);
	if (symbolizer__diagnostic(symbolizer, number)) {
		assert_non_null(
			strstr(symbolizer__diagnostic(symbolizer, number), "kptr_restrict"));
		symbolizer__free(symbolizer);
		print_message("skipped: kernel addresses are hidden\n");
		skip();
	}
	/* Aliases follow each other: one of those at an address has to be the answer. */
	while (file && fgets(line, sizeof(line), file) && asked < 20000) {
		if (sscanf(line, "%lx %c %511s", &address, &type, name) != 3 ||
		    !strchr("tTwW", type) || !address)
			continue;
		if (address != at) {
			assert_true(named);
			named = false;
			asked++;
		}
		at = address;
		named = named || !strcmp(name_at(symbolizer, number, address), name);
	}
	assert_true(asked > 1000);
	assert_string_equal(name_at(symbolizer, number, 4096), "");
	assert_string_equal(name_at(symbolizer, number, UINT64_MAX), "");
	symbolizer__free(symbolizer);
}

static void a_kernel_of_another_build_is_not_named(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(false, NULL);
	struct symbol_source source = {.kind = SYMBOL_SOURCE_KERNEL, .build_id = "00ff", .fd = -1};
	int number = symbolizer__add_source(symbolizer, &source);

	if (access("/sys/kernel/notes", R_OK)) {
		symbolizer__free(symbolizer);
		print_message("skipped: no /sys/kernel/notes\n");
		skip();
	}
	assert_string_equal(name_at(symbolizer, number, 0xffffffff81000000), "");
	assert_non_null(strstr(symbolizer__diagnostic(symbolizer, number), "another build id"));
	symbolizer__free(symbolizer);
}

static void the_vdso_is_named(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	struct symbol_source source = {.kind = SYMBOL_SOURCE_VDSO, .fd = -1};
	int number = symbolizer__add_source(symbolizer, &source);
	bool found = false;

	for (uint64_t offset = 0; offset < 0x4000; offset += 16)
		found |= strstr(name_at(symbolizer, number, offset), "clock_gettime") != NULL;
	if (!found && symbolizer__diagnostic(symbolizer, number)) {
		symbolizer__free(symbolizer);
		print_message("skipped: no vdso\n");
		skip();
	}
	assert_true(found);
	assert_null(symbolizer__diagnostic(symbolizer, number));
	symbolizer__free(symbolizer);
}

static int add_jit(struct symbolizer *symbolizer, const char *root)
{
	struct symbol_source source = {.kind = SYMBOL_SOURCE_JIT,
				       .root = root,
				       .pid = (uint32_t)getpid(),
				       .fd = -1,
				       .owner = -1};

	return symbolizer__add_source(symbolizer, &source);
}

static void jit_maps_are_read_as_runtimes_write_them(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	int number = add_jit(symbolizer, scratch);

	assert_int_equal(run("mkdir -p %s/tmp", scratch), 0);
	write_file(in_scratch("tmp/perf-%d.map", getpid()),
		   "7f0000001000 100 LazyCompile:~render view.js:12\n"
		   "0x7f0000002000 0x20 Interpreter\n"
		   "broken\n"
		   "7f0000003000 zz bad size\n"
		   "7f0000003000 0 empty\n"
		   "ffffffffffffff00 1000 wraps\n"
		   "7f0000001080 40 void Reused::method(int)\n"
		   "7f0000004000 10\n"
		   "7f0000005000 10 last");
	assert_string_equal(name_at(symbolizer, number, 0x7f0000001000),
			    "LazyCompile:~render view.js:12");
	assert_string_equal(name_at(symbolizer, number, 0x7f0000001080),
			    "void Reused::method(int)");
	assert_string_equal(name_at(symbolizer, number, 0x7f00000010c0),
			    "LazyCompile:~render view.js:12");
	assert_string_equal(name_at(symbolizer, number, 0x7f0000001100), "");
	assert_string_equal(name_at(symbolizer, number, 0x7f000000201f), "Interpreter");
	assert_string_equal(name_at(symbolizer, number, 0x7f0000003000), "");
	assert_string_equal(name_at(symbolizer, number, 0x7f0000004000), "");
	assert_string_equal(name_at(symbolizer, number, 0x7f0000005000), "last");
	assert_null(symbolizer__diagnostic(symbolizer, number));
	symbolizer__free(symbolizer);
}

static void of_overlapping_jit_functions_the_last_wins(void **state)
{
	struct {
		unsigned long start;
		unsigned long size;
	} written[2000];
	char *path = in_scratch("tmp/perf-%d.map", getpid());
	struct jitmap jitmap = {};
	uint64_t random = 3;
	FILE *file;

	assert_int_equal(run("mkdir -p %s/tmp", scratch), 0);
	file = fopen(path, "we");
	assert_non_null(file);
	for (int i = 0; i < 2000; i++) {
		written[i].start = next_random(&random) % 20000;
		written[i].size = 1 + next_random(&random) % 100;
		fprintf(file, "%lx %lx f%d\n", written[i].start, written[i].size, i);
	}
	fclose(file);
	assert_int_equal(jitmap__read(&jitmap, scratch, (uint32_t)getpid(), -1), 0);
	for (unsigned long address = 0; address < 20200; address++) {
		const char *found = jitmap__find(&jitmap, address);
		char name[16] = "";

		for (int i = 0; i < 2000; i++)
			if (address - written[i].start < written[i].size)
				snprintf(name, sizeof(name), "f%d", i);
		assert_string_equal(found ? found : "", name);
	}
	jitmap__free(&jitmap);
}

/* /tmp is open to all: what another user put there is not believed, and nothing hangs. */
static void jit_maps_of_others_are_refused(void **state)
{
	char *path = in_scratch("tmp/perf-%d.map", getpid());
	const uint32_t pid = (uint32_t)getpid();
	struct jitmap jitmap = {};
	struct stat stats;

	assert_int_equal(run("mkdir -p %s/tmp && rm -f %s/tmp/perf-*", scratch, scratch), 0);
	assert_int_equal(run("echo '1000 10 planted' > %s/tmp/real", scratch), 0);
	assert_int_equal(run("ln -s real %s/tmp/perf-%d.map", scratch, getpid()), 0);
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, -1), -ELOOP);
	assert_int_equal(run("rm %s", path), 0);
	assert_int_equal(run("mkfifo %s", path), 0);
	alarm(20); /* an open that waits takes no CPU time */
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, -1), -ENOENT);
	alarm(0);
	assert_int_equal(run("rm %s; mkdir %s", path, path), 0);
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, -1), -ENOENT);
	assert_int_equal(run("rmdir %s; mv %s/tmp/real %s", path, scratch, path), 0);
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, -1), 0);
	assert_string_equal(jitmap__find(&jitmap, 0x1008), "planted");
	jitmap__free(&jitmap);
	assert_int_equal(stat(path, &stats), 0);
	if (stats.st_uid || chown(path, 12345, (gid_t)-1)) /* only root can give it away */
		return;
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, -1), -EPERM);
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, 12346), -EPERM);
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, 12345), 0);
	jitmap__free(&jitmap);
	assert_int_equal(chown(path, 0, (gid_t)-1), 0);
	assert_int_equal(jitmap__read(&jitmap, scratch, pid, 12345), 0);
	jitmap__free(&jitmap);
}

static void a_missing_jit_map_is_explained(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(false, NULL);
	int number = add_jit(symbolizer, scratch);

	unlink(in_scratch("tmp/perf-%d.map", getpid()));
	assert_string_equal(name_at(symbolizer, number, 0x1000), "");
	assert_non_null(strstr(symbolizer__diagnostic(symbolizer, number), "perf-"));
	symbolizer__free(symbolizer);
}

/* Whoever may write to /tmp could put a FIFO there, and the reader would wait for ever. */
static void what_is_no_regular_file_is_not_opened(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	int map = add_jit(symbolizer, scratch);
	char *path = in_scratch("tmp/perf-%d.map", getpid());
	int fifo;

	assert_int_equal(run("mkdir -p %s/tmp && rm -f %s && mkfifo %s", scratch, path, path), 0);
	fifo = add_file(symbolizer, path, NULL, -1);
	alarm(20);
	assert_string_equal(name_at(symbolizer, map, 0x1000), "");
	assert_string_equal(name_at(symbolizer, fifo, 0x1000), "");
	assert_string_equal(name_at(symbolizer, add_file(symbolizer, scratch, NULL, -1), 1), "");
	assert_non_null(symbolizer__diagnostic(symbolizer, fifo));
	alarm(0);
	unlink(path);
	symbolizer__free(symbolizer);
}

static void the_same_source_has_the_same_number(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(false, NULL);
	char path[] = "/bin/sh";
	int sh = add_file(symbolizer, path, NULL, -1);
	struct symbol_source jit = {.kind = SYMBOL_SOURCE_JIT, .pid = 1, .fd = -1, .owner = -1};
	int first = symbolizer__add_source(symbolizer, &jit);

	assert_int_equal(add_file(symbolizer, "/bin/sh", "", -1), sh);
	assert_int_not_equal(add_file(symbolizer, "/bin/sh", "00", -1), sh);
	assert_int_not_equal(add_file(symbolizer, "/bin/ls", NULL, -1), sh);
	path[1] = 'x';
	assert_int_equal(add_file(symbolizer, "/bin/sh", NULL, -1), sh);
	jit.pid = 2;
	assert_int_not_equal(symbolizer__add_source(symbolizer, &jit), first);
	symbolizer__free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_find_every_range_around_an_address),
		cmocka_unit_test(strings_stay_and_are_kept_once),
		cmocka_unit_test(the_plainest_alias_wins),
		cmocka_unit_test(symbols_end_where_they_end),
		cmocka_unit_test(names_lose_versions_and_stubs_say_so),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(names_that_explode_are_left_alone),
		cmocka_unit_test(kallsyms_names_only_what_is_there),
		cmocka_unit_test(generated_code_is_named_only_while_it_is_loaded),
		cmocka_unit_test(hidden_kallsyms_are_refused),
		cmocka_unit_test(the_running_kernel_is_named),
		cmocka_unit_test(a_kernel_of_another_build_is_not_named),
		cmocka_unit_test(the_vdso_is_named),
		cmocka_unit_test(jit_maps_are_read_as_runtimes_write_them),
		cmocka_unit_test(of_overlapping_jit_functions_the_last_wins),
		cmocka_unit_test(jit_maps_of_others_are_refused),
		cmocka_unit_test(a_missing_jit_map_is_explained),
		cmocka_unit_test(what_is_no_regular_file_is_not_opened),
		cmocka_unit_test(the_same_source_has_the_same_number),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
