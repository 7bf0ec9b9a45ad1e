/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs among the versions of LLVM that compiler/clang_plugin.cc is built with: 14 to 21. */
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

/* The type `char *`; from 17 on there is only one type of pointers. */
inline llvm::PointerType *byte_pointer(llvm::IRBuilder<> &at)
{
#if LLVM_VERSION_MAJOR >= 17
	return at.getPtrTy();
#else
	return at.getInt8PtrTy();
#endif
}

inline llvm::Function *intrinsic(llvm::Module *module, llvm::Intrinsic::ID id)
{
#if LLVM_VERSION_MAJOR >= 20
	return llvm::Intrinsic::getOrInsertDeclaration(module, id);
#else
	return llvm::Intrinsic::getDeclaration(module, id);
#endif
}
