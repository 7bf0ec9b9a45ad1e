// SPDX-License-Identifier: BSD-2-Clause
/* Analyses read one model at once: what one finds stays valid when another one is gone. */
#include "tests/unit/waits_support.h"

/* Two threads of one name, which results tell apart by names that the model has not. */
static struct model *model_of_twins(void)
{
	struct program program = program__begin(true);

	program__thread(&program, 1, "twin");
	program__thread(&program, 2, "twin");
	program__thread(&program, 3, "other");
	program__wait(&program, 1, 2, 0, 100 * MS);
	program__wait(&program, 2, 3, 20 * MS, 100 * MS);
	return synthetic__load(&program.made, 100 * MS);
}

static const struct waitgraph_options separate = {.merge = {.separate = true}};

static void assert_names(const struct analysis *analysis)
{
	size_t found = 0;

	for (uint32_t i = 0; i < analysis->graph.vertices.n; i++) {
		const char *name = vertex_name(analysis, i);

		found += !strcmp(name, "twin/101") || !strcmp(name, "twin/102") ||
			 !strcmp(name, "other") || !strcmp(name, "unknown");
	}
	assert_int_equal(found, 4);
}

static void results_own_their_names(void **state)
{
	struct model *model = model_of_twins();
	const size_t strings = model->strings.n;
	struct analysis first = analysis__of(model, &separate);
	struct analysis second = analysis__of(model, &separate);

	assert_int_equal(model->strings.n, strings);
	assert_names(&first);
	analysis__drop(&first);
	assert_names(&second);
	analysis__drop(&second);
	first = analysis__of(model, &separate); /* and the model is as good as new */
	assert_names(&first);
	assert_int_equal(model->strings.n, strings);
	analysis__drop(&first);
	model__free(model);
}

static void own_strings_have_numbers_of_their_own(void **state)
{
	struct model *model = model_of_twins();
	struct own_strings one = {.model = model}, two = {.model = model};
	uint32_t shared = own_strings__add(&one, "twin"), own = own_strings__add(&one, "twin/*");

	assert_string_equal(model__string(model, shared), "twin");
	assert_true(own >= model->strings.n);
	assert_int_equal(own_strings__add(&one, "twin/*"), own);
	assert_int_equal(own_strings__add(&two, "quite another"), own);
	assert_string_equal(own_strings__text(&one, own), "twin/*");
	assert_string_equal(own_strings__text(&two, own), "quite another");
	assert_string_equal(own_strings__text(&two, shared), "twin");
	assert_int_equal(own_strings__add(&one, ""), 0);
	own_strings__free(&one);
	assert_string_equal(own_strings__text(&two, own), "quite another");
	own_strings__free(&two);
	model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_own_their_names),
		cmocka_unit_test(own_strings_have_numbers_of_their_own),
	};

	return cmocka_run_group_tests_name("shared_model", tests, NULL, NULL);
}
