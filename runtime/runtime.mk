# SPDX-License-Identifier: BSD-2-Clause
#
# libdwell.so, which `dwell causal run` preloads into the profiled program.

RUNTIME_SRC := $(wildcard runtime/*.c)
RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(BUILD)/%.o)
RUNTIME := $(BUILD)/libdwell.so

$(RUNTIME_OBJ): override CFLAGS += -fPIC -fvisibility=hidden -fno-stack-protector

$(RUNTIME): $(RUNTIME_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,now -Wl,-soname,libdwell.so -o $@ $^

all: $(RUNTIME)
-include $(RUNTIME_OBJ:.o=.d)
