# SPDX-License-Identifier: BSD-2-Clause
#
# tests/unit/test_*.c are cmocka programs, each linked with the library and,
# when there is one, with what tests/unit/support.c shares.
# tests/programs/*.c are the known-answer programs.

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)
UNIT_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/unit/support.c))

PROGRAM_SRC := $(wildcard tests/programs/*.c)
PROGRAMS := $(PROGRAM_SRC:tests/programs/%.c=$(BUILD)/tests/programs/%)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(UNIT_SUPPORT) $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(BUILD)/tests/programs/%: tests/programs/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) -D_GNU_SOURCE -I. -O2 -g -MMD -MP -o $@ $< -lpthread -lm

unit: $(UNIT)
	$(Q)for t in $^; do $$t || exit 1; done

programs: $(PROGRAMS)

-include $(UNIT:=.d) $(PROGRAMS:=.d)
.PHONY: unit programs
