# SPDX-License-Identifier: BSD-2-Clause
#
# tests/unit/test_*.c   cmocka programs, each linked with the library
# tests/programs/       known-answer programs, which the e2e tests profile
# tests/e2e/*.t         whole commands, as a user gives them (TAP)
# tests/static/*.t      the sources themselves
# tests/kernels/        other kernels, in virtual machines
# tests/builds/         builds and packages on other releases of Debian, in chroots

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)

# build/tests/programs/NAME, from tests/programs/NAME.c or from tests/programs/NAME/*.c.
PROGRAM_NAMES := $(patsubst tests/programs/%.c,%,$(wildcard tests/programs/*.c)) \
	$(patsubst tests/programs/%/main.c,%,$(wildcard tests/programs/*/main.c))
PROGRAMS := $(PROGRAM_NAMES:%=$(BUILD)/tests/programs/%)
PROGRAMS_CXX := $(patsubst tests/programs/%.cc,$(BUILD)/tests/programs/%,$(wildcard tests/programs/*.cc))
PROGRAMS += $(PROGRAMS_CXX)
PROGRAMS += $(patsubst tests/programs/%.rs,$(BUILD)/tests/programs/%,$(wildcard tests/programs/*.rs))
PROGRAMS += $(patsubst tests/programs/plugins/%.c,$(BUILD)/tests/programs/%.so,$(wildcard tests/programs/plugins/*.c))
PROGRAM_FLAGS := -D_GNU_SOURCE -I. -O2 -g -fomit-frame-pointer
PROGRAM_OBJECTS := $(BUILD)/tests/objects
PROGRAM_COMMON := $(wildcard tests/programs/common/*.c)

# By clang: its sanitizers check more than gcc's, and that it builds everything is checked, too.
SANITIZE := -O1 -g1 -DSANITIZED -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZED := $(UNIT:$(BUILD)/%=$(BUILD)/asan/%)

# They compile once and run for milliseconds; the two exceptions simulate.
UNIT_HOT := test_causal_truth test_knots
$(filter-out $(UNIT_HOT:%=$(BUILD)/tests/unit/%.o),$(UNIT:=.o)): override CFLAGS += -O0
# Of the sanitized library, what unit tests run little of.
SANITIZED_COLD := $(filter $(BUILD)/cmd/% $(BUILD)/collect/% $(BUILD)/render/%,$(CMD_OBJ) $(LIB_OBJ))
$(if $(findstring -DSANITIZED,$(CFLAGS)),$(SANITIZED_COLD)): override CFLAGS += -O0

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# $(call compile,OBJECTS,FLAGS): objects in the folder OBJECTS, and an archive of the shared code.
define compile
$(1)/%.o: tests/programs/%.c
	$$(call say,CC,$$<)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(STD) $$(WARNINGS) $$(PROGRAM_FLAGS) $(2) -MMD -MP -c -o $$@ $$<

$(1)/common.a: $(PROGRAM_COMMON:tests/programs/%.c=$(1)/%.o)
	$$(Q)rm -f $$@
	$$(Q)$$(AR) qcs $$@ $$^
endef

# $(call link,NAME,SOURCE,OBJECTS,FLAGS): build/tests/programs/NAME from SOURCE.c or SOURCE/*.c.
define link
$(BUILD)/tests/programs/$(1): $(patsubst tests/programs/%.c,$(3)/%.o,$(wildcard tests/programs/$(2).c tests/programs/$(2)/*.c)) $(3)/common.a
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(PROGRAM_FLAGS) $(4) -o $$@ $$^ $$(PROGRAM_LIBS) -lpthread -lm
endef

# $(call variant,NAME,SOURCE,COMPILER_FLAGS,LINKER_FLAGS): the same program by other flags.
variant = $(eval $(call compile,$(PROGRAM_OBJECTS)/$(1),$(3))) \
	$(eval $(call link,$(1),$(2),$(PROGRAM_OBJECTS)/$(1),$(3) $(4))) \
	$(eval PROGRAMS += $(BUILD)/tests/programs/$(1))

$(eval $(call compile,$(PROGRAM_OBJECTS)))
$(foreach name,$(PROGRAM_NAMES),$(eval $(call link,$(name),$(name),$(PROGRAM_OBJECTS))))
$(BUILD)/tests/programs/task_storage $(BUILD)/tests/programs/other_types: PROGRAM_LIBS := -lbpf

# What stacks look like depends on how a program is compiled and linked.
$(call variant,chains-O0,chains,-O0)
$(call variant,chains-O1,chains,-O1)
$(call variant,chains-O3,chains,-O3)
$(call variant,chains-Os,chains,-Os)
$(call variant,chains-no-pie,chains,-fno-pie,-no-pie)
$(call variant,chains-static,chains,-DNO_PLUGIN,-static)
$(call variant,chains-static-pie,chains,-fPIE -DNO_PLUGIN,-static-pie)
$(call variant,chains-no-plt,chains,-fno-plt,-z now)
$(call variant,undisturbed-static,undisturbed,,-static)
# Functions begin with endbr64, as in the packages of most distributions.
$(call variant,causal-cet,causal,-fcf-protection)

# With Coz's progress points. Coz reads DWARF up to version 4. Needs package coz-profiler.
$(eval $(call compile,$(PROGRAM_OBJECTS)/causal-coz,-gdwarf-4 -gstrict-dwarf -DUSE_COZ))
$(eval $(call link,causal-coz,causal,$(PROGRAM_OBJECTS)/causal-coz,-ldl))
causal-coz: $(BUILD)/tests/programs/causal-coz

$(BUILD)/tests/programs/%: tests/programs/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -Wall -Wextra $(PROGRAM_FLAGS) -MMD -MP -o $@ $< -lpthread

# By the newer of the two ways in which Rust mangles names.
$(BUILD)/tests/programs/%: tests/programs/%.rs
	$(call say,RUSTC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(RUSTC) -O -g -C symbol-mangling-version=v0 -o $@ $<

$(eval $(call compile,$(PROGRAM_OBJECTS)/pic,-fPIC))
$(BUILD)/tests/programs/%.so: $(PROGRAM_OBJECTS)/pic/plugins/%.o $(PROGRAM_OBJECTS)/pic/common.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PROGRAM_FLAGS) -shared -o $@ $^ -lpthread

$(BUILD)/tests/unit/test_hash_maps.o $(BUILD)/tests/unit/test_device.o: | $(SKELETONS)
$(BUILD)/tests/unit/test_kernel_fields.o: $(SKELETONS)

# The kernel side of test_kinds_kernel and test_field_values.
$(BUILD)/tests/unit/test_kinds_kernel.o: $(BUILD)/tests/unit/kind_steps.skel.h
$(BUILD)/tests/unit/test_field_values.o: $(BUILD)/tests/unit/field_values.skel.h
$(BUILD)/tests/unit/field_values.bpf.o: tests/unit/field_values.h

unit: $(UNIT)

programs: $(PROGRAMS)

sanitized:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CC=$(CLANG) CFLAGS='$(SANITIZE)' $(BUILD)/asan/dwell unit

# Everything a test needs, then every test; the last line is "N passed, N failed".
check:
	$(Q)tools/install-deps test
	$(Q)$(MAKE) --no-print-directory -j"$$(nproc)" WERROR=-Werror check-built
	$(Q)tests/run tests/static/*.t $(UNIT) $(SANITIZED) tests/e2e/*.t

check-built: all unit sanitized programs viewer/node_modules/.package-lock.json

# In three minutes: static tests (clang-tidy and cppcheck of files that changed since the last commit but one),
# unit tests without sanitizers, and an end-to-end test of each command.
QUICK := 31-output 42-waits-forms 72-path-errors 50-causal-report 55-causal-endings 85-calls-compare 90-html-data 93-export-traces
quick:
	$(Q)tools/install-deps test
	$(Q)$(MAKE) --no-print-directory -j"$$(nproc)" WERROR=-Werror all unit programs viewer/node_modules/.package-lock.json
	$(Q)DWELL_TEST_QUICK=1 tests/run tests/static/*.t $(UNIT) $(QUICK:%=tests/e2e/%.t)

# Other kernels, in qemu.
check-kernels:
	$(Q)tools/install-deps kernels
	$(Q)$(MAKE) --no-print-directory all programs
	$(Q)BUILD=$(abspath $(BUILD)) tests/run tests/kernels/ladder.t

# Builds, packages and runs on three releases of Debian, in chroots; these stay in CHROOTS.
CHROOTS ?= $(BUILD)/chroots
check-builds:
	$(Q)tools/install-deps builds
	$(Q)mkdir -p $(CHROOTS)
	$(Q)CHROOTS=$(abspath $(CHROOTS)) tests/run $(or $(RELEASES:%=tests/builds/%.t),$(wildcard tests/builds/*.t))

-include $(UNIT:=.d) $(PROGRAMS_CXX:=.d) $(wildcard $(addprefix $(PROGRAM_OBJECTS),/*.d /*/*.d /*/*/*.d))
.PHONY: unit programs causal-coz sanitized check check-built quick check-kernels check-builds
