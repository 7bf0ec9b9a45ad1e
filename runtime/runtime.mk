# SPDX-License-Identifier: BSD-2-Clause
#
# libdwell.so, which `dwell causal run` preloads into the profiled program.

RUNTIME_SRC := $(sort $(wildcard runtime/*.c))
RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(BUILD)/%.o)
RUNTIME := $(BUILD)/libdwell.so

# In other people's programs it is hardened by the linker only: it has no buffers, and must not end them.
$(RUNTIME_OBJ): HARDEN_C :=
$(RUNTIME_OBJ): override CFLAGS += -fPIC -fvisibility=hidden -fno-stack-protector

$(RUNTIME): $(RUNTIME_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(HARDEN_LINK) $(LDFLAGS) -shared -Wl,-soname,libdwell.so -o $@ $^

all: $(RUNTIME)
-include $(RUNTIME_OBJ:.o=.d)
