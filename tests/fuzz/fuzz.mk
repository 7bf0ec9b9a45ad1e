# SPDX-License-Identifier: BSD-2-Clause
#
# make fuzz FUZZ_SECONDS=600    feeds damaged recordings to the reader (clang, libFuzzer)
#
# The corpus stays in $(BUILD)/fuzz/corpus from one run to the next.

FUZZ_SECONDS ?= 60
FUZZ_SRC := tests/fuzz/fuzz_reader.c $(wildcard recording/*.c base/*.c)
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

$(BUILD)/fuzz/fuzz_reader: $(FUZZ_SRC) $(wildcard recording/*.h base/*.h tests/fuzz/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(FUZZ_SRC) -lzstd -lz

$(BUILD)/fuzz/seeds: $(BUILD)/tests/fuzz/seeds.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

fuzz: $(BUILD)/fuzz/fuzz_reader $(BUILD)/fuzz/seeds
	$(Q)mkdir -p $(BUILD)/fuzz/seed $(BUILD)/fuzz/corpus
	$(Q)$(BUILD)/fuzz/seeds $(BUILD)/fuzz/seed
	$(Q)nice $(BUILD)/fuzz/fuzz_reader -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/corpus $(BUILD)/fuzz/seed

.PHONY: fuzz
