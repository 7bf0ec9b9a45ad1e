# SPDX-License-Identifier: BSD-2-Clause
#
# tests/unit/test_*.c   cmocka programs, each linked with the library
# tests/programs/*.c    known-answer programs, which the e2e tests profile
# tests/e2e/*.t         whole commands, as a user gives them (TAP)
# tests/static/*.t      the sources themselves

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)

PROGRAM_SRC := $(wildcard tests/programs/*.c)
PROGRAMS := $(PROGRAM_SRC:tests/programs/%.c=$(BUILD)/tests/programs/%)

SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZED := $(UNIT:$(BUILD)/%=$(BUILD)/asan/%)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(BUILD)/tests/programs/%: tests/programs/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) -D_GNU_SOURCE -I. -O2 -g -MMD -MP -o $@ $< -lpthread -lm

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

-include $(UNIT:=.d) $(PROGRAMS:=.d)
.PHONY: unit programs sanitized check check-installed
