# SPDX-License-Identifier: BSD-2-Clause
#
# make fuzz FUZZ_SECONDS=600    feeds damaged recordings to the reader, damaged ELF files and
#                               .eh_frame to the unwind tables, damaged programs and debug files to
#                               what finds names and code in them, damaged maps of JIT compilers,
#                               damaged causal profiles, requests to parsers, and answers of
#                               parsers to who asked (clang, libFuzzer)
#
# make fuzz-symbols and the like run one of them, each for FUZZ_SECONDS; FUZZ_FLAGS are more options
# for libFuzzer, such as -runs=1000000. The corpora stay in $(BUILD)/fuzz from one run to the next.

FUZZ_SECONDS ?= 60
FUZZ_FLAGS ?=
FUZZ_SRC := tests/fuzz/fuzz_reader.c $(wildcard recording/*.c base/*.c)
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

$(BUILD)/fuzz/fuzz_reader: $(FUZZ_SRC) $(BUILD)/base/version_text.h $(wildcard recording/*.h base/*.h tests/fuzz/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(FUZZ_SRC) -lzstd -lz -ljansson -lm

UNWIND_FUZZ_SRC := tests/fuzz/fuzz_unwind.c $(wildcard symbols/unwind/*.c arch/*.c arch/*/*.c base/*.c) \
	symbols/elf/elf_file.c symbols/ranges.c

$(BUILD)/fuzz/fuzz_unwind: $(UNWIND_FUZZ_SRC) $(BUILD)/base/version_text.h $(wildcard symbols/unwind/*.h symbols/elf/*.h arch/*.h arch/*/*.h base/*.h)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(UNWIND_FUZZ_SRC) -ldw -lelf -lcapstone -lzstd -lz

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

# Sources of symbols/, with what they need of arch/ and base/.
SYMBOLS_SRC := $(wildcard symbols/*.c symbols/*/*.c arch/*.c arch/*/*.c base/*.c)
SYMBOLS_HDR := $(BUILD)/base/version_text.h $(wildcard symbols/*.h symbols/*/*.h arch/*.h arch/*/*.h base/*.h privsep/*.h)
SYMBOLS_FUZZ_SRC := tests/fuzz/fuzz_symbols.c $(SYMBOLS_SRC) \
	$(addprefix privsep/,code_process.c code_answer.c names_wire.c wire.c)
JITMAP_FUZZ_SRC := tests/fuzz/fuzz_jitmap.c $(wildcard base/*.c) symbols/elf/elf_file.c \
	$(addprefix symbols/,jitmap.c ranges.c symbol_files.c)
REQUESTS_FUZZ_SRC := tests/fuzz/fuzz_requests.c $(SYMBOLS_SRC) $(wildcard privsep/*.c)

$(BUILD)/fuzz/fuzz_symbols: $(SYMBOLS_FUZZ_SRC) $(SYMBOLS_HDR)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(SYMBOLS_FUZZ_SRC) $(LDLIBS)

$(BUILD)/fuzz/fuzz_jitmap: $(JITMAP_FUZZ_SRC) $(SYMBOLS_HDR)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) -o $@ $(JITMAP_FUZZ_SRC) $(LDLIBS)

$(BUILD)/fuzz/fuzz_requests: $(REQUESTS_FUZZ_SRC) $(SYMBOLS_HDR) $(BUILD)/libdwell.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(WARNINGS) $(CPPFLAGS) $(FUZZ_CFLAGS) \
		-DFUZZ_PROGRAM='"$(abspath $(BUILD))/fuzz/program.so"' -o $@ $(REQUESTS_FUZZ_SRC) \
		$(BUILD)/libdwell.a $(LDLIBS)

$(BUILD)/fuzz/program.so: tests/fuzz/program.c tests/programs/common/probe.h
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) -O2 -g -fPIC -shared -nostdlib -o $@ $<

$(BUILD)/fuzz/go_seeds: $(BUILD)/tests/fuzz/go_seeds.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/fuzz/go: $(BUILD)/fuzz/go_seeds
	$(Q)mkdir -p $@
	$(Q)$< $@

fuzz: fuzz-reader fuzz-unwind fuzz-symbols fuzz-jitmap fuzz-causal fuzz-requests fuzz-privsep

fuzz-reader: $(BUILD)/fuzz/fuzz_reader $(BUILD)/fuzz/seeds
	$(Q)mkdir -p $(BUILD)/fuzz/seed $(BUILD)/fuzz/corpus
	$(Q)$(BUILD)/fuzz/seeds $(BUILD)/fuzz/seed
	$(Q)nice $(BUILD)/fuzz/fuzz_reader -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/corpus $(BUILD)/fuzz/seed

# Whole files, and the .eh_frame and .gopclntab of others behind the byte that says so.
fuzz-unwind: $(BUILD)/fuzz/fuzz_unwind $(BUILD)/fuzz/go $(BUILD)/tests/programs/switches $(BUILD)/tests/programs/chains_cc
	$(Q)mkdir -p $(BUILD)/fuzz/unwind-seed $(BUILD)/fuzz/unwind-corpus
	$(Q)strip -o $(BUILD)/fuzz/unwind-seed/switches $(BUILD)/tests/programs/switches
	$(Q)for program in switches chains_cc; do \
		objcopy -O binary --only-section=.eh_frame $(BUILD)/tests/programs/$$program \
			$(BUILD)/fuzz/frames && \
		{ printf '\000'; cat $(BUILD)/fuzz/frames; } >$(BUILD)/fuzz/unwind-seed/$$program.frames; \
	done
	$(Q)for table in 0 1 2 3; do \
		{ printf '\004'; cat $(BUILD)/fuzz/go/$$table; } >$(BUILD)/fuzz/unwind-seed/go-$$table; \
	done
	$(Q)nice $(BUILD)/fuzz/fuzz_unwind -max_total_time=$(FUZZ_SECONDS) -max_len=32768 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/unwind-corpus $(BUILD)/fuzz/unwind-seed

fuzz-causal: $(BUILD)/fuzz/fuzz_causal
	$(Q)mkdir -p $(BUILD)/fuzz/causal-corpus
	$(Q)nice $(BUILD)/fuzz/fuzz_causal -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/causal-corpus tests/data/causal

fuzz-symbols: $(BUILD)/fuzz/fuzz_symbols $(BUILD)/fuzz/go
	$(Q)mkdir -p $(BUILD)/fuzz/symbols-seed $(BUILD)/fuzz/symbols-corpus
	$(Q)tests/fuzz/symbols_seeds $(BUILD)/fuzz/symbols-seed $(BUILD)/fuzz/go
	$(Q)nice $(BUILD)/fuzz/fuzz_symbols -max_total_time=$(FUZZ_SECONDS) -max_len=16384 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/symbols-corpus $(BUILD)/fuzz/symbols-seed

fuzz-jitmap: $(BUILD)/fuzz/fuzz_jitmap
	$(Q)mkdir -p $(BUILD)/fuzz/jitmap-seed $(BUILD)/fuzz/jitmap-corpus
	$(Q)printf '7f00 40 main.run\n7f10 20 a b\nffffffffffffff00 ff last\n' \
		>$(BUILD)/fuzz/jitmap-seed/map
	$(Q)nice $(BUILD)/fuzz/fuzz_jitmap -max_total_time=$(FUZZ_SECONDS) -max_len=256 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/jitmap-corpus $(BUILD)/fuzz/jitmap-seed

fuzz-requests: $(BUILD)/fuzz/fuzz_requests $(BUILD)/fuzz/program.so
	$(Q)mkdir -p $(BUILD)/fuzz/requests-seed $(BUILD)/fuzz/requests-corpus
	$(Q)tests/fuzz/requests_seeds $(BUILD)/fuzz/requests-seed
	$(Q)nice $(BUILD)/fuzz/fuzz_requests -max_total_time=$(FUZZ_SECONDS) -max_len=512 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/requests-corpus $(BUILD)/fuzz/requests-seed

fuzz-privsep: $(BUILD)/fuzz/fuzz_privsep
	$(Q)mkdir -p $(BUILD)/fuzz/privsep-corpus
	$(Q)nice $(BUILD)/fuzz/fuzz_privsep -max_total_time=$(FUZZ_SECONDS) -max_len=4096 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_FLAGS) \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/privsep-corpus

.PHONY: fuzz fuzz-reader fuzz-unwind fuzz-symbols fuzz-jitmap fuzz-causal fuzz-requests fuzz-privsep
