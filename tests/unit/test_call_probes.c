// SPDX-License-Identifier: BSD-2-Clause
/* Which functions are measured while their probes are set, removed and refused. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/probes/uprobes.h"
#include "collect/record/call_probes.h"
#include "privsep/privsep.h"

/* In place of those of the kernel. */
static struct call_probe_state states[CALL_PROBES];
static bool refuses;
static int refused_attachments;

void uprobes__prepare(struct bpf_program *program, const struct kernel_info *kernel)
{
}

int uprobes__attach(struct bpf_program *program, const struct kernel_info *kernel, int fd,
		    const struct uprobe_place *places, size_t n, bool at_return, size_t *refused,
		    struct uprobes **out)
{
	if (__atomic_load_n(&refuses, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&refused_attachments, 1, __ATOMIC_SEQ_CST);
		return -EINVAL;
	}
	*refused = 0;
	*out = malloc(1);
	return *out ? 0 : -ENOMEM;
}

void uprobes__free(struct uprobes *uprobes)
{
	free(uprobes);
}

void expensive(void);
void cheap(void);

__attribute__((noinline)) void expensive(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) void cheap(void)
{
	__asm__ volatile("nop; nop");
}

static struct privsep *privsep;

static int start(void **state)
{
	return privsep__start(&privsep);
}

static int stop(void **state)
{
	privsep__free(privsep);
	return 0;
}

static struct call_probes *begin(const struct function_patterns *patterns)
{
	const struct call_probes_config config = {.patterns = patterns,
						  .limit = 1,
						  .programs = {.states = states},
						  .privsep = privsep};
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct call_probes *probes;
	char path[PATH_MAX] = "";

	assert_true(fd >= 0 && readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(call_probes__new(&config, &probes), 0);
	call_probes__add_file(probes, fd, path);
	close(fd);
	return probes;
}

/* One of them is thinned out, and then the kernel refuses new probes for the other. */
static void refused_probes_are_not_set(void **state)
{
	struct function_patterns patterns = {};
	struct call_probes *probes;
	struct call_probe probe;

	assert_int_equal(function_patterns__add(&patterns, "expensive,cheap"), 0);
	probes = begin(&patterns);
	assert_true(call_probes__get(probes, 2, &probe));
	assert_string_equal(probe.name, "cheap");
	assert_true(states[1].open && states[2].open);
	states[1].ns = 1000000000;
	refuses = true;
	assert_int_equal(call_probes__start(probes), 0);
	while (!__atomic_load_n(&refused_attachments, __ATOMIC_SEQ_CST))
		usleep(1000);
	call_probes__stop(probes);
	assert_true(!states[1].open && !states[2].open);
	assert_null(call_probes__problem(probes, 0));
	assert_non_null(call_probes__problem(probes, 1));
	call_probes__free(probes);
	function_patterns__free(&patterns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(refused_probes_are_not_set)};

	return cmocka_run_group_tests_name("call probes", tests, start, stop);
}
