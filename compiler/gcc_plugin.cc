// SPDX-License-Identifier: BSD-2-Clause
/*
 * The GCC plugin of dwell-cc: each function that is left after inlining pushes an entry on the
 * shadow stack of its thread, and pops it at its end (LDB, NSDI'24, section 4.1, which patches
 * LLVM's code generation). The last pass on GIMPLE, so that the optimizers do not see it.
 */
#include <gcc-plugin.h>
#include <plugin-version.h>

#include <tree.h>
#include <gimple.h>
#include <gimple-iterator.h>
#include <tree-pass.h>
#include <context.h>
#include <cgraph.h>
#include <ssa.h>
#include <tree-cfg.h>
#include <tree-eh.h>
#include <tree-inline.h>
#include <cfganal.h>
#include <builtins.h>
#include <stringpool.h>
#include <attribs.h>
#include <langhooks.h>
#include <diagnostic-core.h>

#include "compiler/selection.h"
#include "arch/shadow_asm.h"

int plugin_is_GPL_compatible;

namespace
{

struct selection options;

tree operand(const char *constraint, tree value)
{
	return build_tree_list(
		build_tree_list(NULL_TREE, build_string(strlen(constraint) + 1, constraint)),
		value);
}

/* @output and @input, or NULL_TREE, with their constraints; @clobbers ends with NULL. */
gasm *make_asm(const char *text, tree output, tree input, const char *const *clobbers)
{
	vec<tree, va_gc> *outputs = NULL, *inputs = NULL, *clobbered = NULL;
	gasm *statement;

	if (output)
		vec_safe_push(outputs, output);
	if (input)
		vec_safe_push(inputs, input);
	for (; *clobbers; clobbers++)
		vec_safe_push(
			clobbered,
			build_tree_list(NULL_TREE, build_string(strlen(*clobbers) + 1, *clobbers)));
	statement = gimple_build_asm_vec(text, inputs, outputs, clobbered, NULL);
	gimple_asm_set_volatile(statement, true);
	return statement;
}

gcall *make_return_address(tree site)
{
	gcall *call = gimple_build_call(builtin_decl_explicit(BUILT_IN_RETURN_ADDRESS), 1,
					build_zero_cst(unsigned_type_node));

	gimple_call_set_lhs(call, site);
	return call;
}

gasm *make_push(tree own, tree site)
{
	static const char *const clobbers[] = {SHADOW_PUSH_GCC, NULL};
	gasm *push = make_asm(SHADOW_PUSH("%%", "$", "%1"), operand(SHADOW_OWN_GCC, own),
			      operand("r", site), clobbers);

	SSA_NAME_DEF_STMT(own) = push;
	return push;
}

gasm *make_pop(tree own)
{
	static const char *const clobbers[] = {SHADOW_POP_GCC, NULL};

	return make_asm(SHADOW_POP("%%", "$", "%0"), NULL_TREE, operand("r", own), clobbers);
}

gasm *make_reset(tree own)
{
	static const char *const clobbers[] = {SHADOW_RESET_GCC, NULL};
	tree changed = make_ssa_name(ptr_type_node);
	gasm *reset =
		make_asm(SHADOW_RESET("%%"), operand(SHADOW_CHANGED_GCC, changed), operand("0", own), clobbers);

	SSA_NAME_DEF_STMT(changed) = reset;
	return reset;
}

bool is_annotated_off(tree decl)
{
	return lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(decl)) ||
	       lookup_attribute("dwell_off", DECL_ATTRIBUTES(decl));
}

/* A resolver of an indirect function runs before there is thread-local memory. */
bool is_resolver(tree decl)
{
	symtab_node *node = symtab_node::get(decl), *alias;
	ipa_ref *reference;

	for (unsigned i = 0; node && node->iterate_direct_aliases(i, reference); i++) {
		alias = reference->referring;
		if (alias && is_a<cgraph_node *>(alias) &&
		    lookup_attribute("ifunc", DECL_ATTRIBUTES(alias->decl)))
			return true;
	}
	return false;
}

/* Its size as the inliner estimates it, in instructions. */
int estimated_size(function *fun)
{
	basic_block bb;
	int size = 0;

	FOR_EACH_BB_FN(bb, fun)
	for (gimple_stmt_iterator at = gsi_start_bb(bb); !gsi_end_p(at); gsi_next(&at))
		size += estimate_num_insns(gsi_stmt(at), &eni_size_weights);
	return size;
}

/*
 * Whether @statement can go on for long by itself. An inlined system call, for example, is an asm. A
 * builtin that the compiler replaces by few instructions is no call.
 */
bool may_take_long(gimple *statement)
{
	if (gasm *text = dyn_cast<gasm *>(statement))
		return *gimple_asm_string(text) != '\0';
	if (!is_gimple_call(statement) || gimple_call_internal_p(statement))
		return false;
	return !is_inexpensive_builtin(gimple_call_fndecl(statement));
}

/* Whether it calls something, or has a loop. */
bool calls_or_loops(function *fun)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
	for (gimple_stmt_iterator at = gsi_start_bb(bb); !gsi_end_p(at); gsi_next(&at))
		if (may_take_long(gsi_stmt(at)))
			return true;
	return mark_dfs_back_edges(fun);
}

bool is_selected(function *fun)
{
	tree decl = fun->decl;

	if (is_annotated_off(decl) || is_resolver(decl) ||
	    lookup_attribute("naked", DECL_ATTRIBUTES(decl)) ||
	    lookup_attribute("interrupt", DECL_ATTRIBUTES(decl)) || fun->calls_eh_return)
		return false;
	if (!selection__has_name(&options, lang_hooks.decl_printable_name(decl, 2)))
		return false;
	if (options.min_size == SELECTION_BY_FORM)
		return calls_or_loops(fun);
	return estimated_size(fun) >= options.min_size;
}

/* A tail call leaves the function. If it becomes an ordinary one, another pop follows, harmlessly.
 */
bool is_tail_call(gimple *statement)
{
	gcall *call = dyn_cast<gcall *>(statement);

	return call && (gimple_call_tail_p(call) || gimple_call_must_tail_p(call));
}

void insert_pops(function *fun, tree own)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
	{
		gimple_stmt_iterator at = gsi_last_nondebug_bb(bb), before;

		if (gsi_end_p(at))
			continue;
		if (is_a<greturn *>(gsi_stmt(at))) {
			before = at;
			gsi_prev_nondebug(&before);
			if (!gsi_end_p(before) && is_tail_call(gsi_stmt(before)))
				at = before;
		} else if (!is_tail_call(gsi_stmt(at))) {
			continue;
		}
		gsi_insert_before(&at, make_pop(own), GSI_SAME_STMT);
	}
}

bool is_entered_by_exception(basic_block bb)
{
	gimple_stmt_iterator at = gsi_start_bb(bb);
	edge_iterator i;
	edge from;

	FOR_EACH_EDGE(from, i, bb->preds)
	if (from->flags & EDGE_EH)
		return true;
	for (; !gsi_end_p(at); gsi_next(&at)) {
		glabel *label = dyn_cast<glabel *>(gsi_stmt(at));

		if (!label)
			break;
		if (DECL_NONLOCAL(gimple_label_label(label)))
			return true;
	}
	return false;
}

/* Where control comes back from calls that did not return. */
void insert_resets(function *fun, tree own)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
	{
		gimple_stmt_iterator at;
		gimple *last = gsi_stmt(gsi_last_nondebug_bb(bb));

		if (is_entered_by_exception(bb)) {
			at = gsi_after_labels(bb);
			gsi_insert_before(&at, make_reset(own), GSI_SAME_STMT);
		}
		if (last && is_a<gcall *>(last) && gimple_call_flags(last) & ECF_RETURNS_TWICE) {
			edge next = find_fallthru_edge(bb->succs);

			if (next)
				gsi_insert_on_edge(next, make_reset(own));
		}
	}
}

const pass_data data = {GIMPLE_PASS, "dwell", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0,
			0,	     0};

class shadow_pass : public gimple_opt_pass
{
      public:
	explicit shadow_pass(gcc::context *context) : gimple_opt_pass(data, context)
	{
	}

	unsigned int execute(function *fun) final override
	{
		edge begin;
		tree own, site;

		if (!is_selected(fun))
			return 0;
		own = make_ssa_name(ptr_type_node);
		site = make_ssa_name(ptr_type_node);
		insert_resets(fun, own);
		insert_pops(fun, own);
		begin = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun));
		gsi_insert_on_edge(begin, make_return_address(site));
		gsi_insert_on_edge(begin, make_push(own, site));
		gsi_commit_edge_inserts();
		/* The compiler takes the return address for a call that may change memory. */
		return TODO_update_ssa_only_virtuals;
	}
};

} // namespace

int plugin_init(plugin_name_args *args, plugin_gcc_version *version)
{
	register_pass_info info = {new shadow_pass(g), "optimized", 1, PASS_POS_INSERT_AFTER};

	if (!plugin_default_version_check(version, &gcc_version)) {
		error("dwell: this plugin was built for GCC %s, and this is %s; build dwell again",
		      gcc_version.basever, version->basever);
		return 1;
	}
	for (int i = 0; i < args->argc; i++)
		if (!selection__option(&options, args->argv[i].key, args->argv[i].value)) {
			error("dwell: %qs is not an option of the plugin", args->argv[i].key);
			return 1;
		}
	register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
	return 0;
}
