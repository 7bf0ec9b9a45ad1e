# SPDX-License-Identifier: BSD-2-Clause
#
# tests/unit/test_*.c   cmocka programs, each linked with the library
# tests/programs/*.c    known-answer programs, which the e2e tests profile
# tests/e2e/*.t         whole commands, as a user gives them (TAP)
# tests/static/*.t      the sources themselves
# tests/kernels/        the ladder for older kernels, in virtual machines

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)

PROGRAM_SRC := $(wildcard tests/programs/*.c)
PROGRAMS := $(PROGRAM_SRC:tests/programs/%.c=$(BUILD)/tests/programs/%)

# One program built in many ways: what stacks look like depends on them.
CHAINS := O0 O1 O3 Os no-pie static static-pie no-plt
CHAINS_FLAGS_O0 := -O0
CHAINS_FLAGS_O1 := -O1
CHAINS_FLAGS_O3 := -O3
CHAINS_FLAGS_Os := -Os
CHAINS_FLAGS_no-pie := -fno-pie -no-pie
CHAINS_FLAGS_static := -static -DNO_PLUGIN
CHAINS_FLAGS_static-pie := -fPIE -static-pie -DNO_PLUGIN
CHAINS_FLAGS_no-plt := -fno-plt -Wl,-z,now
PROGRAMS += $(CHAINS:%=$(BUILD)/tests/programs/chains-%)
PROGRAMS += $(patsubst tests/programs/%.cc,$(BUILD)/tests/programs/%,$(wildcard tests/programs/*.cc))
PROGRAMS += $(patsubst tests/programs/%.rs,$(BUILD)/tests/programs/%,$(wildcard tests/programs/*.rs))
PROGRAMS += $(patsubst tests/programs/plugins/%.c,$(BUILD)/tests/programs/%.so,$(wildcard tests/programs/plugins/*.c))
PROGRAMS += $(BUILD)/tests/programs/undisturbed-static $(BUILD)/tests/programs/causal-cet
PROGRAM_FLAGS := -D_GNU_SOURCE -I. -O2 -g -fomit-frame-pointer -MMD -MP

SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZED := $(UNIT:$(BUILD)/%=$(BUILD)/asan/%)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(BUILD)/tests/programs/%: tests/programs/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(PROGRAM_FLAGS) -o $@ $< $(PROGRAM_LIBS) -lpthread -lm

$(BUILD)/tests/programs/task_storage: PROGRAM_LIBS := -lbpf

$(CHAINS:%=$(BUILD)/tests/programs/chains-%): $(BUILD)/tests/programs/chains-%: tests/programs/chains.c
	$(call say,CC,"$< ($*)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(PROGRAM_FLAGS) $(CHAINS_FLAGS_$*) -o $@ $< -lpthread

# Its progress points as Coz has them; Coz reads no later DWARF. Needs package coz-profiler.
$(BUILD)/tests/programs/causal-coz: tests/programs/causal.c
	$(call say,CC,"$< (coz)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(PROGRAM_FLAGS) -gdwarf-4 -gstrict-dwarf -DUSE_COZ -o $@ $< \
		-lpthread -lm -ldl

causal-coz: $(BUILD)/tests/programs/causal-coz

# Functions begin with endbr64, as most distributions have it.
$(BUILD)/tests/programs/causal-cet: tests/programs/causal.c
	$(call say,CC,"$< (cet)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(PROGRAM_FLAGS) -fcf-protection -o $@ $< -lpthread -lm

$(BUILD)/tests/programs/undisturbed-static: tests/programs/undisturbed.c
	$(call say,CC,"$< (static)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(PROGRAM_FLAGS) -static -o $@ $< -lpthread

$(BUILD)/tests/programs/%: tests/programs/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -Wall -Wextra $(PROGRAM_FLAGS) -o $@ $< -lpthread

# By the newer of the two ways in which Rust mangles names.
$(BUILD)/tests/programs/%: tests/programs/%.rs
	$(call say,RUSTC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(RUSTC) -O -g -C symbol-mangling-version=v0 -o $@ $<

$(BUILD)/tests/programs/%.so: tests/programs/plugins/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(PROGRAM_FLAGS) -fPIC -shared -o $@ $< -lpthread

# The kernel side of test_kinds_kernel.
$(BUILD)/tests/unit/test_kinds_kernel.o: $(BUILD)/tests/unit/kind_steps.skel.h

unit: $(UNIT)

programs: $(PROGRAMS)

sanitized:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS='$(SANITIZE)' unit

# Everything a test needs, then every test; the last line is "N passed, N failed".
check:
	$(Q)tools/install-deps test
	$(Q)$(MAKE) --no-print-directory check-installed

check-installed: all unit sanitized programs
	$(Q)tests/run tests/static/*.t $(UNIT) $(SANITIZED) tests/e2e/*.t

# The ladder of older kernels, in qemu.
check-kernels:
	$(Q)tools/install-deps kernels
	$(Q)$(MAKE) --no-print-directory all programs
	$(Q)BUILD=$(abspath $(BUILD)) tests/run tests/kernels/ladder.t

-include $(UNIT:=.d) $(PROGRAMS:=.d) $(BUILD)/tests/programs/causal-coz.d
.PHONY: unit programs causal-coz sanitized check check-installed check-kernels
