// SPDX-License-Identifier: BSD-2-Clause
/*
 * Unwind tables against what a program does: it is single-stepped, every call
 * seen is put on a shadow stack, and after each step a walk by the tables has
 * to find exactly the return addresses of the shadow stack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/array.h"
#include "symbols/unwind/unwind_table.h"

#define MAX_DEPTH   128
#define MAX_MODULES 32

struct frame {
	uint64_t at; /* of the return address on the stack */
	uint64_t pc;
};

struct module {
	uint64_t start, end; /* executable mapping */
	uint64_t offset;     /* in the file */
	char name[64];	     /* the end of its path */
	struct unwind_table *table;
};

/* A stopped program. */
struct traced {
	pid_t pid;
	struct user_regs_struct regs;
	struct frame shadow[MAX_DEPTH];
	size_t depth;
	struct module modules[MAX_MODULES];
	size_t n_modules;
	uint64_t stack[4096]; /* a copy of the top of the stack */
	uint64_t stack_at;
	size_t stack_size;
};

/* What was seen; every one of them has to have been. */
struct tally {
	bool is_static;
	size_t steps;
	size_t walks;
	size_t deepest;
	size_t plt;
	size_t deref;
	size_t signals;
	size_t unsupported;
	size_t unsupported_loader; /* of them: its lazy binding uses rbx */
	size_t lost;		   /* at an address without unwind information */
	size_t overwritten;	   /* by the exception runtime, before it leaves */
};

static char scratch[64];

static int scratch_make(void **state)
{
	strcpy(scratch, "/tmp/dwell-unwind-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_remove(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}

static void peek(const struct traced *t, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)address, size};

	assert_int_equal(process_vm_readv(t->pid, &local, 1, &remote, 1, 0), size);
}

/* At most; the stack may end sooner, or not reach down to rsp yet. */
static void copy_stack(struct traced *t)
{
	struct iovec local = {t->stack, sizeof(t->stack)};
	struct iovec remote = {(void *)t->regs.rsp, sizeof(t->stack)};
	ssize_t n = process_vm_readv(t->pid, &local, 1, &remote, 1, 0);

	t->stack_at = t->regs.rsp;
	t->stack_size = n > 0 ? (size_t)n : 0;
}

static uint64_t load(const struct traced *t, uint64_t address)
{
	uint64_t value = 0;

	if (address - t->stack_at < t->stack_size && t->stack_size - (address - t->stack_at) >= 8)
		memcpy(&value, (const char *)t->stack + (address - t->stack_at), 8);
	else
		peek(t, address, &value, sizeof(value));
	return value;
}

/* The vdso's table: it is the same as ours. */
static struct unwind_table *vdso_table(const struct traced *t, const struct module *m)
{
	struct unwind_table *table = NULL;
	_cleanup_free_ char *image = malloc(m->end - m->start);

	peek(t, m->start, image, m->end - m->start);
	assert_int_equal(unwind_table__build_memory(image, m->end - m->start, &table), 0);
	return table;
}

static void add_module(struct traced *t, struct module m, const char *path)
{
	int fd;

	assert_true(t->n_modules < MAX_MODULES);
	if (!strcmp(path, "[vdso]")) {
		m.table = vdso_table(t, &m);
	} else if (*path == '/') {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(unwind_table__build(fd, &m.table), 0);
		close(fd);
	}
	snprintf(m.name, sizeof(m.name), "%.60s",
		 strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	t->modules[t->n_modules++] = m;
}

static void drop_modules(struct traced *t)
{
	for (size_t i = 0; i < t->n_modules; i++)
		unwind_table__free(t->modules[i].table);
	t->n_modules = 0;
}

static void read_modules(struct traced *t)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		struct module m = {};
		char perms[8], name[256] = "";

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m.start, &m.end, perms,
			   &m.offset, name) >= 4 &&
		    perms[2] == 'x' && strcmp(name, "[vsyscall]") != 0)
			add_module(t, m, name);
	}
}

static const struct module *find_module(const struct traced *t, uint64_t pc)
{
	for (size_t i = 0; i < t->n_modules; i++)
		if (pc >= t->modules[i].start && pc < t->modules[i].end)
			return &t->modules[i];
	return NULL;
}

static bool is_in(const struct traced *t, uint64_t pc, const char *name)
{
	const struct module *m = find_module(t, pc);

	return m && !strncmp(m->name, name, strlen(name));
}

static const struct unwind_row *find_row(const struct traced *t, uint64_t pc, uint64_t *vaddr)
{
	const struct module *m = find_module(t, pc);
	uint64_t offset;

	if (!m || !m->table)
		return NULL;
	offset = pc - m->start + m->offset;
	for (size_t i = 0; i < m->table->n_segments; i++) {
		const struct unwind_segment *s = &m->table->segments[i];

		if (offset - s->offset < s->size) {
			*vaddr = offset + (uint64_t)s->bias;
			return unwind_rows__find(m->table->rows, m->table->n_rows, *vaddr);
		}
	}
	return NULL;
}

struct walk {
	uint64_t rip, rsp, rbp;
	uint64_t at; /* where rip was found */
	bool exact;  /* rip is the next instruction, not a return address */
};

enum step { STEP_FRAME, STEP_END, STEP_UNSUPPORTED, STEP_LOST };

static void walk_signal(const struct traced *t, struct walk *w)
{
	uint64_t ucontext = w->rsp;

	w->at = ucontext + 168;
	w->rip = load(t, ucontext + 168);
	w->rsp = load(t, ucontext + 160);
	w->rbp = load(t, ucontext + 120);
	w->exact = true;
}

/* To the caller, by the words of abi/unwind.h. */
static enum step walk_up(const struct traced *t, struct walk *w, struct tally *tally)
{
	uint64_t vaddr = 0, cfa, rbp = w->rbp;
	const struct unwind_row *row = find_row(t, w->rip - !w->exact, &vaddr);

	if (!row)
		return STEP_LOST;
	switch (UNWIND_CFA(row)) {
	case UNWIND_CFA_SP:
		cfa = w->rsp + (uint64_t)(row->cfa * 8L);
		break;
	case UNWIND_CFA_FP:
		cfa = w->rbp + (uint64_t)(row->cfa * 8L);
		break;
	case UNWIND_CFA_FP_DEREF:
		cfa = load(t, w->rbp + (uint64_t)(row->cfa * 8L));
		tally->deref++;
		break;
	case UNWIND_CFA_SP_DEREF:
		cfa = load(t, w->rsp + (uint64_t)(row->cfa * 8L));
		break;
	case UNWIND_CFA_SP_DEREF_8:
		cfa = load(t, w->rsp + (uint64_t)(row->cfa * 8L)) + 8;
		break;
	case UNWIND_CFA_PLT:
		cfa = w->rsp + 8 + ((int)(vaddr & 15) >= row->cfa ? 8 : 0);
		tally->plt++;
		break;
	case UNWIND_CFA_SIGNAL:
		tally->signals++;
		walk_signal(t, w);
		return STEP_FRAME;
	case UNWIND_CFA_END:
		return STEP_END;
	case UNWIND_CFA_UNSUPPORTED:
		return STEP_UNSUPPORTED;
	default:
		return STEP_LOST;
	}
	if (UNWIND_FP(row) == UNWIND_FP_CFA)
		rbp = load(t, cfa + (uint64_t)(row->fp * 8L));
	else if (UNWIND_FP(row) == UNWIND_FP_FRAME)
		rbp = load(t, w->rbp + (uint64_t)(row->fp * 8L));
	*w = (struct walk){.rip = load(t, cfa - 8), .rsp = cfa, .rbp = rbp, .at = cfa - 8};
	return STEP_FRAME;
}

static void fail_walk(const struct traced *t, size_t level, const struct walk *w)
{
	fprintf(stderr, "rip %#llx, level %zu of %zu: found %#lx\n", t->regs.rip, level, t->depth,
		w->rip);
	for (size_t i = 0; i < t->n_modules; i++)
		fprintf(stderr, "  module %#lx-%#lx offset %#lx\n", t->modules[i].start,
			t->modules[i].end, t->modules[i].offset);
	for (size_t i = t->depth; i-- > 0;)
		fprintf(stderr, "  %#lx at %#lx\n", t->shadow[i].pc, t->shadow[i].at);
	fail();
}

static void check_walk(struct traced *t, struct tally *tally)
{
	struct walk w = {.rip = t->regs.rip, .rsp = t->regs.rsp, .rbp = t->regs.rbp, .exact = true};
	enum step step;

	copy_stack(t);
	tally->walks++;
	if (t->depth > tally->deepest)
		tally->deepest = t->depth;
	for (size_t level = t->depth; level-- > 0;) {
		uint64_t from = w.rip;

		step = walk_up(t, &w, tally);
		if (step == STEP_UNSUPPORTED) {
			tally->unsupported++;
			tally->unsupported_loader += is_in(t, from, "ld-linux");
			return;
		}
		tally->lost += step == STEP_LOST;
		if (step == STEP_LOST)
			return;
		if (step != STEP_FRAME)
			fail_walk(t, level, &w);
		if (w.at == t->shadow[level].at && w.rip == t->shadow[level].pc)
			continue;
		/* Before it leaves for a handler, libgcc writes into its own frames. */
		if ((level + 1 == t->depth && w.at != t->shadow[level].at) ||
		    !(tally->is_static || is_in(t, t->regs.rip, "libgcc_s")))
			fail_walk(t, level, &w);
		tally->overwritten++;
		return;
	}
	if (walk_up(t, &w, tally) != STEP_END)
		fail_walk(t, 0, &w);
}

static bool is_call(const struct traced *t, uint64_t pc)
{
	uint8_t code[16];
	size_t i = 0;

	peek(t, pc, code, sizeof(code));
	while (i < 4 &&
	       ((code[i] & 0xf0) == 0x40 || code[i] == 0x3e || code[i] == 0xf2 || code[i] == 0x66))
		i++;
	return code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10);
}

static void push_shadow(struct traced *t, uint64_t at)
{
	struct frame frame = {.at = at};

	peek(t, at, &frame.pc, sizeof(frame.pc));
	assert_true(t->depth < MAX_DEPTH);
	t->shadow[t->depth++] = frame;
}

/* One instruction on. False: the program is gone. */
static bool step(struct traced *t, int *deliver)
{
	struct user_regs_struct before = t->regs;
	int status, delivered = *deliver;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, t->pid, NULL, (long)*deliver), 0);
	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	if (!WIFSTOPPED(status)) {
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
		return false;
	}
	*deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	assert_int_equal(ptrace(PTRACE_GETREGS, t->pid, NULL, &t->regs), 0);
	while (t->depth && t->shadow[t->depth - 1].at < t->regs.rsp)
		t->depth--;
	if (delivered) {
		/* At the handler's first instruction: restorer, then struct ucontext. */
		push_shadow(t, t->regs.rsp + 8 + 168);
		push_shadow(t, t->regs.rsp);
	} else if (t->regs.rsp == before.rsp - 8 && is_call(t, before.rip)) {
		push_shadow(t, t->regs.rsp);
	}
	return true;
}

/* It runs on this thread's CPU: at every step one of the two waits for the other. */
static pid_t start(const char *path)
{
	cpu_set_t cpu;
	int status;
	pid_t pid;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	assert_int_equal(sched_setaffinity(0, sizeof(cpu), &cpu), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

/* The address of @name in the ELF file @path, by nm. */
static uint64_t symbol_address(const char *path, const char *name)
{
	char command[512], line[64] = "";
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" { print $1 }'", path, name);
	nm = popen(command, "re");
	assert_non_null(nm);
	assert_non_null(fgets(line, sizeof(line), nm));
	pclose(nm);
	return strtoull(line, NULL, 16);
}

/* Runs to @address by a breakpoint. */
static void run_to(struct traced *t, uint64_t address)
{
	int status;
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, t->pid, (void *)address, NULL);
	assert_int_equal(errno, 0);
	ptrace(PTRACE_POKETEXT, t->pid, (void *)address, (void *)((word & ~0xffL) | 0xcc));
	ptrace(PTRACE_CONT, t->pid, NULL, NULL);
	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	ptrace(PTRACE_POKETEXT, t->pid, (void *)address, (void *)word);
	ptrace(PTRACE_GETREGS, t->pid, NULL, &t->regs);
	t->regs.rip = address;
	ptrace(PTRACE_SETREGS, t->pid, NULL, &t->regs);
}

/* Where the program's file starts in memory. */
static uint64_t load_address(const struct traced *t, const char *program)
{
	char path[64], line[512];
	_cleanup_fclose_ FILE *maps = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	do
		assert_non_null(fgets(line, sizeof(line), maps));
	while (!strstr(line, program));
	return strtoull(line, NULL, 16);
}

/*
 * The shadow stack of a program that is past its start: taken over from the
 * tables once; from then on it is kept by the steps.
 */
static void take_over(struct traced *t, struct tally *tally)
{
	struct walk w = {.rip = t->regs.rip, .rsp = t->regs.rsp, .rbp = t->regs.rbp, .exact = true};
	struct frame found[MAX_DEPTH];
	size_t n = 0;

	copy_stack(t);
	while (n < MAX_DEPTH && walk_up(t, &w, tally) == STEP_FRAME)
		found[n++] = (struct frame){.at = w.at, .pc = w.rip};
	assert_true(n >= 2 && n < MAX_DEPTH);
	t->depth = 0;
	while (n)
		t->shadow[t->depth++] = found[--n];
}

static void run_program(const char *path, bool pie, size_t max_steps, struct tally *tally)
{
	_cleanup_free_ struct traced *t = calloc(1, sizeof(*t));
	int deliver = 0;
	uint64_t begin, bias;

	assert_non_null(t);
	t->pid = start(path);
	bias = pie ? load_address(t, path) : 0;
	begin = bias + symbol_address(path, "watch_begin");
	run_to(t, begin);
	read_modules(t);
	take_over(t, tally);
	while (tally->steps < max_steps && step(t, &deliver)) {
		const struct module *first = &t->modules[0];

		tally->steps++;
		if (t->regs.rip - first->start >= first->end - first->start && tally->steps % 4)
			continue; /* a library: a sample of it will do */
		check_walk(t, tally);
	}
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	drop_modules(t);
}

struct variant {
	const char *flags;
	bool lazy; /* binding; else all symbols are bound at the start */
};

static void steps_agree(void **state)
{
	const struct variant *v = *state;
	struct tally tally = {.is_static = strstr(v->flags, "-static") != NULL};
	bool pie = !strstr(v->flags, "-no-pie") && !strstr(v->flags, "-static ");
	char path[128], command[512];

	snprintf(path, sizeof(path), "%s/frames", scratch);
	snprintf(command, sizeof(command), "g++ -w %s -o %s tests/data/unwind/frames.cc", v->flags,
		 path);
	assert_int_equal(system(command), 0);
	v->lazy ? unsetenv("LD_BIND_NOW") : setenv("LD_BIND_NOW", "1", 1);
	run_program(path, pie, 60000, &tally);
	print_message("%zu steps, %zu walks, %zu deep, plt %zu, deref %zu, signal %zu, "
		      "unsupported %zu, lost %zu, overwritten %zu\n",
		      tally.steps, tally.walks, tally.deepest, tally.plt, tally.deref,
		      tally.signals, tally.unsupported, tally.lost, tally.overwritten);
	assert_true(tally.walks > 5000 && tally.deepest > 12 && tally.signals > 30);
	assert_true(tally.plt > 30 || tally.is_static || strstr(v->flags, "-fno-plt"));
	assert_true(tally.deref > 1000 || !strstr(v->flags, "realign"));
	assert_true(v->lazy || !tally.unsupported_loader);
	/* longjmp's last instructions; see above. */
	assert_in_range(tally.unsupported - tally.unsupported_loader, 0, 16);
	assert_in_range(tally.lost, 0, tally.is_static ? 100 : 0);
	assert_in_range(tally.overwritten, 0, 250);
}

static const struct variant variants[] = {
	{"-O0", false},
	{"-O2 -fomit-frame-pointer", true},
	{"-O2 -fno-omit-frame-pointer -no-pie", false},
	{"-Os", false},
	{"-O2 -mstackrealign", false},
	{"-O1 -fcf-protection=full", true},
	{"-O2 -static ", false},
	{"-O2 -static-pie", false},
	{"-O3 -march=x86-64-v3 -fno-plt", false},
};
/* What is compared is as good without the sanitizers. */
#ifdef SANITIZED
#define VARIANTS 2
#else
#define VARIANTS ARRAY_SIZE(variants)
#endif

int main(void)
{
	struct CMUnitTest tests[VARIANTS];

	for (size_t i = 0; i < VARIANTS; i++)
		tests[i] = (struct CMUnitTest){.name = variants[i].flags,
					       .test_func = steps_agree,
					       .initial_state = (void *)&variants[i]};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
