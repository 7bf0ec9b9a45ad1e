# SPDX-License-Identifier: BSD-2-Clause
#
# What profiling costs, beside other profilers. Nothing here asserts anything.

BENCH_ROUNDS ?= 5
BENCH := $(BUILD)/bench/walks $(BUILD)/bench/tables $(BUILD)/bench/waits

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/bench/walks.o: $(BUILD)/bench/walks.skel.h
$(BUILD)/bench/walks.o: CFLAGS += -fno-omit-frame-pointer

bench: $(BUILD)/dwell programs $(BENCH)
	$(Q)$(BUILD)/bench/walks
	$(Q)$(BUILD)/bench/tables
	$(Q)DWELL=$(BUILD)/dwell $(BUILD)/bench/waits
	$(Q)BUILD=$(abspath $(BUILD)) bench/progs
	$(Q)BUILD=$(abspath $(BUILD)) bench/causal-cost --rounds $(BENCH_ROUNDS) --seconds 3
	$(Q)BUILD=$(abspath $(BUILD)) bench/run --rounds $(BENCH_ROUNDS)

.PHONY: bench
