# SPDX-License-Identifier: BSD-2-Clause

PROGRAM_FOLDERS := tests/programs $(patsubst %/,%,$(wildcard tests/programs/*/))
LINT_C := $(wildcard $(addsuffix /*.[ch],$(LIB_FOLDERS) abi include compiler compiler/runtime tests/calls bpf bpf/core bpf/record bpf/causal cmd bench bench/programs tests/unit $(PROGRAM_FOLDERS) tests/fuzz))
LINT_TIDY := $(LIB_SRC) $(CMD_SRC) $(wildcard compiler/runtime/*.c)

lint: lint-format lint-tidy lint-cppcheck

lint-format:
	$(call say,FORMAT,$(words $(LINT_C)) files)
	$(Q)clang-format --dry-run --Werror $(LINT_C)

lint-tidy: $(SKELETONS) $(BUILD)/base/version_text.h
	$(call say,TIDY,$(words $(LINT_TIDY)) files)
	$(Q)printf '%s\n' $(LINT_TIDY) | xargs -r -P "$$(nproc)" -n 6 tools/tidy $(STD) $(CPPFLAGS) --

lint-cppcheck:
	$(call say,CPPCHECK,$(words $(LINT_TIDY)) files)
	$(Q)test -z '$(strip $(LINT_TIDY))' || cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
		--suppressions-list=.cppcheck-suppressions --inline-suppr -D_GNU_SOURCE -D__$(ARCH)__ \
		'-DLIBBPF_OPTS(type,name,...)=struct type name' -I. \
		-j "$$(nproc)" $(LINT_TIDY)

format:
	clang-format -i $(LINT_C)

.PHONY: lint lint-format lint-tidy lint-cppcheck format
