# SPDX-License-Identifier: BSD-2-Clause
#
# What profiling costs, beside other profilers. Nothing here asserts anything.

BENCH_ROUNDS ?= 5
BENCH := $(BUILD)/bench/walks $(BUILD)/bench/tables $(BUILD)/bench/waits $(BUILD)/bench/page

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS)

$(BUILD)/bench/waits $(BUILD)/bench/page: $(BUILD)/bench/random_trace.o

# Clients and what programs under test are made of.
BENCH += $(BUILD)/bench/programs/memcached_load
$(BUILD)/bench/programs/memcached_load: $(BUILD)/bench/programs/memcached_load.o

# A dwell-cc whose programs count their calls.
COUNTING := $(BUILD)/bench/counting
COUNTING_OBJ := $(BUILD)/bench/programs/count_calls.o $(BUILD)/bench/programs/count_enter.o
COUNTING_CC := $(if $(DWELL_CC),$(COUNTING)/dwell-cc $(COUNTING)/compiler/libdwell-calls.a)
BENCH += $(COUNTING_CC)

$(BUILD)/bench/programs/count_calls.o: override CFLAGS += -fPIC

$(BUILD)/bench/programs/%.o: arch/$(ARCH)/%.S
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

$(COUNTING)/compiler/libdwell-calls.a: $(COUNTING_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -r -o $(@D)/calls.o $^
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $(@D)/calls.o

$(COUNTING)/dwell-cc: $(DWELL_CC)
	$(Q)mkdir -p $(COUNTING)/compiler
	$(Q)cp $(BUILD)/dwell-cc $(BUILD)/dwell-c++ $(COUNTING)
	$(Q)cp $(filter %.so,$(DWELL_CC)) $(COUNTING)/compiler

$(BUILD)/bench/walks.o: $(BUILD)/bench/walks.skel.h
$(BUILD)/bench/walks.o: override CFLAGS += -fno-omit-frame-pointer

bench-programs: $(BUILD)/dwell $(DWELL_CC) programs $(BENCH)

bench: bench-programs
	$(Q)$(BUILD)/bench/walks
	$(Q)$(BUILD)/bench/tables
	$(Q)DWELL=$(BUILD)/dwell $(BUILD)/bench/waits
	$(Q)DWELL=$(BUILD)/dwell $(BUILD)/bench/page
	$(Q)BUILD=$(abspath $(BUILD)) bench/progs
	$(Q)BUILD=$(abspath $(BUILD)) bench/causal-cost --rounds $(BENCH_ROUNDS) --seconds 3
	$(Q)BUILD=$(abspath $(BUILD)) bench/calls-cost --rounds $(BENCH_ROUNDS) --priority fifo
	$(Q)BUILD=$(abspath $(BUILD)) bench/calls-latency --rounds $(BENCH_ROUNDS)
	$(Q)BUILD=$(abspath $(BUILD)) bench/run --rounds $(BENCH_ROUNDS)

.PHONY: bench bench-programs
