# SPDX-License-Identifier: BSD-2-Clause
#
# dwell-cc and dwell-c++: the wrapper, a plugin for each compiler whose headers are installed, and what
# is linked into the programs. Only for processors with arch/$(ARCH)/shadow_asm.h.

GCC_PLUGIN_CC ?= gcc
GCC_PLUGIN_HEADERS := $(wildcard $(shell $(GCC_PLUGIN_CC) -print-file-name=plugin 2>/dev/null)/include)
LLVM_VERSION := $(shell $(CLANG) -dumpversion 2>/dev/null | cut -d. -f1)
LLVM_CONFIG ?= $(firstword $(shell command -v llvm-config-$(LLVM_VERSION) llvm-config 2>/dev/null))
LLVM_HEADERS := $(and $(LLVM_CONFIG),$(wildcard $(shell $(LLVM_CONFIG) --includedir)/llvm/Passes/PassPlugin.h))
COMPILER := $(BUILD)/compiler

# No vector registers, no libc: it runs at any place of any function.
CALLS_FLAGS := -fPIC -fvisibility=hidden -ffreestanding -fno-builtin -fno-stack-protector \
	$(SHADOW_FLAGS)
CALLS_OBJ := $(patsubst compiler/runtime/%.c,$(COMPILER)/%.o,$(sort $(wildcard compiler/runtime/*.c))) $(COMPILER)/shadow_enter.o
DWELL_CC := $(BUILD)/dwell-cc $(BUILD)/dwell-c++ $(COMPILER)/libdwell-calls.a
HAS_CXX := $(shell command -v $(CXX) 2>/dev/null)
DWELL_CC += $(if $(and $(HAS_CXX),$(wildcard $(GCC_PLUGIN_HEADERS)/gcc-plugin.h)),$(COMPILER)/dwell_gcc.so)
DWELL_CC += $(if $(and $(HAS_CXX),$(LLVM_HEADERS)),$(COMPILER)/dwell_clang.so)

$(COMPILER)/%.o: compiler/runtime/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(SAME_PATHS) $(CPPFLAGS) -O2 -g $(CALLS_FLAGS) -MMD -MP -c -o $@ $<

$(COMPILER)/%.o: arch/$(ARCH)/%.S
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -g $(SAME_PATHS) -c -o $@ $<

# One member: whoever needs one part needs all.
$(COMPILER)/libdwell-calls.a: $(CALLS_OBJ)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(COMPILER)/calls.o $^
	$(Q)rm -f $@
	$(Q)$(AR) qcsD $@ $(COMPILER)/calls.o

PLUGIN_FLAGS := -fno-rtti -fPIC -shared -O2 -g -Wall -I. $(SAME_PATHS) \
	$(and $(HARDENING),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong $(HARDEN_LINK))

$(COMPILER)/dwell_gcc.so: compiler/gcc_plugin.cc $(wildcard compiler/*.h arch/*.h arch/*/*.h)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=gnu++14 $(PLUGIN_FLAGS) -isystem $(GCC_PLUGIN_HEADERS) -o $@ $<

$(COMPILER)/dwell_clang.so: compiler/clang_plugin.cc $(wildcard compiler/*.h arch/*.h arch/*/*.h)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 $(PLUGIN_FLAGS) -isystem $(shell $(LLVM_CONFIG) --includedir) -o $@ $<

$(BUILD)/dwell-cc $(BUILD)/dwell-c++: compiler/dwell-cc
	$(Q)mkdir -p $(@D)
	$(Q)cp $< $@

ifeq ($(wildcard arch/$(ARCH)/shadow_asm.h),)
DWELL_CC :=
endif
all: $(DWELL_CC)
-include $(CALLS_OBJ:.o=.d)
