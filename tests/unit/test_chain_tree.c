// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/workload.h"

#include "analysis/chain_tree.h"

static struct model *model;

static int load(void **state)
{
	model = workload__load(false);
	return 0;
}

static int unload(void **state)
{
	model__free(model);
	return 0;
}

/* tid 101. */
static const struct model_thread *worker(void)
{
	for (size_t i = 1; i < model->threads.n; i++)
		if (model->threads.data[i].tid == 101)
			return &model->threads.data[i];
	fail();
	return NULL;
}

/* The names from node @at up to the root, as "a<b<c". */
static void names(const struct chain_tree *tree, int64_t at, char *text, size_t size)
{
	char address[24];

	text[0] = '\0';
	for (; at; at = tree->nodes.data[at].parent) {
		const struct chain_frame *frame = &tree->frames.data[tree->nodes.data[at].frame];

		snprintf(text + strlen(text), size - strlen(text), "%s%s", text[0] ? "<" : "",
			 chain_frame__text(frame, model, address));
		assert_true(tree->nodes.data[at].parent < at);
	}
}

static void chains_share_their_outer_functions(void **state)
{
	const struct model_sample *samples = worker()->samples.data;
	struct chain_tree tree = {};
	char text[256];
	int64_t compute = chain_tree__add(&tree, model, 0, samples[0].user, false);
	int64_t work = chain_tree__add(&tree, model, 0, samples[30].user, false);
	const struct chain_frame *frame;

	assert_int_equal(tree.nodes.n, 4); /* the root, main, work, compute */
	assert_int_equal(tree.nodes.data[compute].parent, work);
	names(&tree, compute, text, sizeof(text));
	assert_string_equal(text, "compute<work<main");
	frame = &tree.frames.data[tree.nodes.data[compute].frame];
	assert_string_equal(model__string(model, frame->file), "prog.c");
	assert_int_equal(frame->line, 30);
	assert_false(frame->kernel);
	chain_tree__free(&tree);
}

static void a_chain_is_added_once(void **state)
{
	struct chain_tree tree = {};
	int64_t first = 0;

	for (int i = 0; i < 3; i++) {
		int64_t node =
			chain_tree__add(&tree, model, 0, worker()->samples.data[0].user, false);

		assert_true(!i || node == first);
		first = node;
		assert_int_equal(tree.nodes.n, 4);
		assert_int_equal(tree.frames.n, 4);
		assert_int_equal(tree.chains.n, 1);
	}
	chain_tree__free(&tree);
}

static void off_the_cpu_without_the_scheduler(void **state)
{
	const struct model_interval *read = &worker()->intervals.data[0];
	struct chain_tree tree = {};
	char text[256];
	int64_t off = chain_tree__add(&tree, model, read->kernel, read->user, true);
	int64_t on = chain_tree__add(&tree, model, read->kernel, read->user, false);

	names(&tree, off, text, sizeof(text));
	assert_string_equal(text, "filemap_read<entry<__libc_pread64<work<main");
	assert_true(tree.frames.data[tree.nodes.data[off].frame].kernel);
	assert_int_not_equal(on, off);
	chain_tree__free(&tree);
}

static void no_stack_is_the_root(void **state)
{
	struct chain_tree tree = {};
	char text[24];

	assert_int_equal(chain_tree__add(&tree, model, 0, 0, true), 0);
	assert_int_equal(tree.nodes.n, 1);
	assert_string_equal(chain_frame__text(&tree.frames.data[0], model, text), "[unknown]");
	chain_tree__free(&tree);
}

static void an_address_stands_for_a_name(void **state)
{
	const struct chain_frame frame = {.address = 0x12ab, .dso = 1};
	char text[24];

	assert_string_equal(chain_frame__text(&frame, model, text), "0x12ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_share_their_outer_functions),
		cmocka_unit_test(a_chain_is_added_once),
		cmocka_unit_test(off_the_cpu_without_the_scheduler),
		cmocka_unit_test(no_stack_is_the_root),
		cmocka_unit_test(an_address_stands_for_a_name),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
