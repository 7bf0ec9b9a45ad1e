// SPDX-License-Identifier: BSD-2-Clause
/*
 * The Clang plugin of dwell-cc (clang 14 and newer): the same as compiler/gcc_plugin.cc, as the
 * last pass on LLVM's intermediate representation.
 */
#include <llvm/Analysis/CFG.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>

#include "compiler/llvm_versions.h"
#include "compiler/selection.h"
#include "arch/shadow_asm.h"

using namespace llvm;

namespace
{

cl::opt<int> min_size("dwell-min-size", cl::init(SELECTION_BY_FORM), cl::Hidden);
cl::opt<std::string> only("dwell-only", cl::Hidden);

bool is_annotated_off(const Function &function, const SmallPtrSetImpl<const Value *> &off)
{
	return off.count(&function) || function.hasFnAttribute("dwell_off") ||
	       function.hasFnAttribute(Attribute::Naked) || function.hasFnAttribute("interrupt");
}

/* Functions with __attribute__((annotate("dwell_off"))), and resolvers of indirect functions. */
SmallPtrSet<const Value *, 16> find_off(const Module &module)
{
	const GlobalVariable *annotations = module.getGlobalVariable("llvm.global.annotations");
	SmallPtrSet<const Value *, 16> off;

	for (const GlobalIFunc &ifunc : module.ifuncs())
		off.insert(ifunc.getResolver()->stripPointerCasts());
	if (!annotations || !annotations->hasInitializer())
		return off;
	for (const Use &use : annotations->getInitializer()->operands()) {
		const auto *entry = dyn_cast<ConstantStruct>(use.get());
		const auto *text =
			entry ? dyn_cast<GlobalVariable>(entry->getOperand(1)->stripPointerCasts())
			      : nullptr;
		const auto *data = text && text->hasInitializer()
					   ? dyn_cast<ConstantDataArray>(text->getInitializer())
					   : nullptr;

		if (data && data->isCString() && data->getAsCString() == "dwell_off")
			off.insert(entry->getOperand(0)->stripPointerCasts());
	}
	return off;
}

void insert_asm(IRBuilder<> &at, const char *text, const char *constraints, Value *own)
{
	auto *type = FunctionType::get(at.getVoidTy(), {byte_pointer(at)}, false);

	at.CreateCall(type, InlineAsm::get(type, text, constraints, true), {own});
}

Value *insert_push(Function &function)
{
	BasicBlock &entry = function.getEntryBlock();
	IRBuilder<> at(&entry, entry.getFirstInsertionPt());
	auto *type = FunctionType::get(byte_pointer(at), {byte_pointer(at)}, false);
	Value *site;

	/* Behind what becomes the frame, so that it stays a part of the prologue. */
	while (isa<AllocaInst>(*at.GetInsertPoint()))
		at.SetInsertPoint(&entry, std::next(at.GetInsertPoint()));
	site = at.CreateCall(
		intrinsic(function.getParent(), Intrinsic::returnaddress),
		{at.getInt32(0)});
	return at.CreateCall(
		type,
		InlineAsm::get(type, SHADOW_PUSH("%", "$$", "$1"), SHADOW_PUSH_CLANG, true),
		{site});
}

/* A tail call leaves the function. */
Instruction *end_of(ReturnInst *leaving)
{
	auto *call = dyn_cast_or_null<CallInst>(leaving->getPrevNonDebugInstruction());

	if (CallInst *must = leaving->getParent()->getTerminatingMustTailCall())
		return must;
	if (call && call->isTailCall() && !isa<IntrinsicInst>(call) && !call->isInlineAsm() &&
	    (!leaving->getReturnValue() || leaving->getReturnValue() == call))
		return call;
	return leaving;
}

void insert_pop(Instruction *before, Value *own)
{
	IRBuilder<> at(before);

	insert_asm(at, SHADOW_POP("%", "$$", "$0"), SHADOW_POP_CLANG, own);
}

void insert_reset(BasicBlock *block, BasicBlock::iterator before, Value *own)
{
	IRBuilder<> at(block, before);
	auto *type = FunctionType::get(byte_pointer(at), {byte_pointer(at)}, false);

	at.CreateCall(type,
		      InlineAsm::get(type, SHADOW_RESET("%"), SHADOW_RESET_CLANG, true),
		      {own});
}

void instrument(Function &function)
{
	SmallVector<ReturnInst *, 8> returns;
	SmallVector<BasicBlock *, 8> pads;
	SmallVector<CallInst *, 2> twice;
	Value *own;

	for (BasicBlock &block : function) {
		if (block.isLandingPad())
			pads.push_back(&block);
		for (Instruction &instruction : block) {
			auto *call = dyn_cast<CallInst>(&instruction);

			if (auto *leaving = dyn_cast<ReturnInst>(&instruction))
				returns.push_back(leaving);
			else if (call && call->canReturnTwice())
				twice.push_back(call);
		}
	}
	/* With -flto, inlining goes on at link time; there must be one push in a frame. */
	function.removeFnAttr(Attribute::AlwaysInline);
	function.addFnAttr(Attribute::NoInline);
	own = insert_push(function);
	for (BasicBlock *pad : pads)
		insert_reset(pad, pad->getFirstInsertionPt(), own);
	for (CallInst *call : twice)
		insert_reset(call->getParent(), std::next(call->getIterator()), own);
	for (ReturnInst *leaving : returns)
		insert_pop(end_of(leaving), own);
}

/*
 * Whether @instruction can go on for long by itself. An inlined system call, for example, is an asm. An
 * intrinsic is replaced by few instructions, unless it works on memory of any length.
 */
bool may_take_long(const Instruction &instruction)
{
	const auto *call = dyn_cast<CallBase>(&instruction);
	const auto *bytes = dyn_cast<MemIntrinsic>(&instruction);

	if (!call)
		return false;
	if (const auto *text = dyn_cast<InlineAsm>(call->getCalledOperand()))
		return !text->getAsmString().empty();
	if (bytes)
		return !isa<ConstantInt>(bytes->getLength());
	return !isa<IntrinsicInst>(call);
}

/* Whether it calls something, or has a loop. */
bool calls_or_loops(const Function &function)
{
	SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> back;

	for (const Instruction &instruction : instructions(function))
		if (may_take_long(instruction))
			return true;
	FindFunctionBackedges(function, back);
	return !back.empty();
}

bool is_selected(const Function &function, const struct selection &options)
{
	if (!selection__has_name(&options, demangle(function.getName().str()).c_str()))
		return false;
	if (options.min_size == SELECTION_BY_FORM)
		return calls_or_loops(function);
	return (int)function.getInstructionCount() >= options.min_size;
}

struct shadow_pass : PassInfoMixin<shadow_pass> {
	static bool isRequired()
	{
		return true;
	}

	PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
	{
		struct selection options;
		SmallPtrSet<const Value *, 16> off = find_off(module);

		options.min_size = min_size;
		options.only = only.empty() ? nullptr : only.c_str();
		if (Triple(module.getTargetTriple()).getArch() != Triple::SHADOW_TRIPLE)
			return PreservedAnalyses::all();
		for (Function &function : module)
			if (!function.isDeclaration() &&
			    !function.hasAvailableExternallyLinkage() &&
			    !is_annotated_off(function, off) &&
			    is_selected(function, options))
				instrument(function);
		return PreservedAnalyses::none();
	}
};

} // namespace

extern "C" PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "dwell", "1", [](PassBuilder &builder) {
			builder.registerOptimizerLastEPCallback(
				[](ModulePassManager &passes, auto...) {
					passes.addPass(shadow_pass());
				});
		}};
}
