# SPDX-License-Identifier: BSD-2-Clause
#
# make fuzz FUZZ_SECONDS=600    feeds damaged recordings to the reader, damaged ELF files and
#                               .eh_frame to the unwind tables, damaged causal profiles to
#                               theirs, and answers of parsers to who asked (clang, libFuzzer)
#
# The corpora stay in $(BUILD)/fuzz from one run to the next.

FUZZ_SECONDS ?= 60
FUZZ_SRC := tests/fuzz/fuzz_reader.c $(wildcard recording/*.c base/*.c)
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

$(BUILD)/fuzz/fuzz_reader: $(FUZZ_SRC) $(BUILD)/base/version_text.h $(wildcard recording/*.h base/*.h tests/fuzz/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(FUZZ_SRC) -lzstd -lz -ljansson -lm

UNWIND_FUZZ_SRC := tests/fuzz/fuzz_unwind.c $(wildcard symbols/unwind/*.c base/*.c) symbols/elf/elf_file.c

$(BUILD)/fuzz/fuzz_unwind: $(UNWIND_FUZZ_SRC) $(BUILD)/base/version_text.h $(wildcard symbols/unwind/*.h symbols/elf/*.h base/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(UNWIND_FUZZ_SRC) -ldw -lelf -lzstd -lz

$(BUILD)/fuzz/seeds: $(BUILD)/tests/fuzz/seeds.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

CAUSAL_FUZZ_SRC := tests/fuzz/fuzz_causal.c $(wildcard recording/causal/*.c analysis/causal/*.c \
	render/causal/*.c base/*.c) recording/file_type.c render/format.c render/json.c render/terminal.c

$(BUILD)/fuzz/fuzz_causal: $(CAUSAL_FUZZ_SRC) $(BUILD)/base/version_text.h $(BUILD)/libdwell.a $(wildcard recording/causal/*.h analysis/causal/*.h render/causal/*.h base/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(CAUSAL_FUZZ_SRC) \
		$(BUILD)/libdwell.a $(LDLIBS)

PRIVSEP_FUZZ_SRC := tests/fuzz/fuzz_privsep.c $(wildcard privsep/*.c)

$(BUILD)/fuzz/fuzz_privsep: $(PRIVSEP_FUZZ_SRC) $(BUILD)/libdwell.a $(wildcard privsep/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(PRIVSEP_FUZZ_SRC) \
		$(BUILD)/libdwell.a $(LDLIBS)

fuzz: fuzz-reader fuzz-unwind fuzz-causal fuzz-privsep

fuzz-reader: $(BUILD)/fuzz/fuzz_reader $(BUILD)/fuzz/seeds
	$(Q)mkdir -p $(BUILD)/fuzz/seed $(BUILD)/fuzz/corpus
	$(Q)$(BUILD)/fuzz/seeds $(BUILD)/fuzz/seed
	$(Q)nice $(BUILD)/fuzz/fuzz_reader -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/corpus $(BUILD)/fuzz/seed

# Whole files, and the .eh_frame of others behind the byte that says so.
fuzz-unwind: $(BUILD)/fuzz/fuzz_unwind $(BUILD)/tests/programs/switches $(BUILD)/tests/programs/chains_cc
	$(Q)mkdir -p $(BUILD)/fuzz/unwind-seed $(BUILD)/fuzz/unwind-corpus
	$(Q)strip -o $(BUILD)/fuzz/unwind-seed/switches $(BUILD)/tests/programs/switches
	$(Q)for program in switches chains_cc; do \
		objcopy -O binary --only-section=.eh_frame $(BUILD)/tests/programs/$$program \
			$(BUILD)/fuzz/frames && \
		{ printf '\000'; cat $(BUILD)/fuzz/frames; } >$(BUILD)/fuzz/unwind-seed/$$program.frames; \
	done
	$(Q)nice $(BUILD)/fuzz/fuzz_unwind -max_total_time=$(FUZZ_SECONDS) -max_len=32768 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/unwind-corpus $(BUILD)/fuzz/unwind-seed

fuzz-causal: $(BUILD)/fuzz/fuzz_causal
	$(Q)mkdir -p $(BUILD)/fuzz/causal-corpus
	$(Q)nice $(BUILD)/fuzz/fuzz_causal -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/causal-corpus tests/data/causal

fuzz-privsep: $(BUILD)/fuzz/fuzz_privsep
	$(Q)mkdir -p $(BUILD)/fuzz/privsep-corpus
	$(Q)nice $(BUILD)/fuzz/fuzz_privsep -max_total_time=$(FUZZ_SECONDS) -max_len=4096 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/privsep-corpus

.PHONY: fuzz fuzz-reader fuzz-unwind fuzz-causal fuzz-privsep
