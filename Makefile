# SPDX-License-Identifier: BSD-2-Clause
#
# make            build/dwell
# make demo       install dependencies, build, profile a bundled program, show it
# make check      install what the tests need, build, run all tests
# make quick      static and unit tests and an end-to-end test of each command, in three minutes
# make check-kernels, make check-builds    on other kernels, in qemu; on other releases of Debian, in chroots
# make bench      compare with other profilers
# make lint       clang-format, clang-tidy, cppcheck
# make install    with PREFIX=/usr/local, DESTDIR= and STRIP=strip
# make deb        Debian packages, in build/deb
#
# CC, CFLAGS, CPPFLAGS, LDFLAGS, CLANG (for the kernel side), BUILD=build, HARDENING=yes, WERROR=, V=0

VERSION := $(shell tools/version)
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CC ?= gcc
# The processor that dwell is built for: a folder in arch/.
ARCH ?= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
RUSTC ?= rustc
CLANG ?= clang
# On Debian, bpftool is not in the PATH of ordinary users.
BPFTOOL ?= $(or $(shell command -v bpftool 2>/dev/null),/usr/sbin/bpftool)
V ?= 0
comma := ,
ifeq ($(V),0)
Q := @
say = @printf '  %-8s %s\n' '$(1)' '$(2)';
endif

override CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD)
CFLAGS ?= -O2 -g
# Kept apart from CFLAGS, so that setting CFLAGS does not drop them.
# make check sets WERROR to -Werror.
WARNINGS := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter $(WERROR)
STD := -std=gnu11
# Objects do not depend on the folder they are built in: tests/static/reproducible.t.
SAME_PATHS := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(BUILD)/=build/
# HARDENING= builds without. glibc fortifies only what is optimized, and sanitizers check the same calls
# themselves. Packagers may set a level of their own. tests/static/hardening.t looks at the result.
HARDENING := yes
OPTIMIZES = $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
FORTIFIED = $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS))$(findstring -fsanitize,$(CFLAGS))
FORTIFY = $(and $(HARDENING),$(OPTIMIZES),$(if $(FORTIFIED),,yes),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_C = $(FORTIFY) $(and $(HARDENING),-fPIE -fstack-protector-strong -fstack-clash-protection)
HARDEN_LINK := $(and $(HARDENING),-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now$(comma)-z$(comma)noexecstack)
HARDEN_PROGRAM := $(and $(HARDENING),-pie $(HARDEN_LINK))
LDLIBS := -lbpf -ldw -lelf -lcapstone -lzstd -lz -ljansson -lsqlite3 -liberty -ldl -lpthread -lm

FOLDERS := base arch wait_kinds recording symbols privsep model analysis render collect
# The folders and their subfolders.
LIB_FOLDERS := $(FOLDERS) $(patsubst %/,%,$(wildcard $(addsuffix /*/,$(FOLDERS)) $(addsuffix /*/*/,$(FOLDERS))))
LIB_SRC := $(sort $(wildcard $(addsuffix /*.c,$(LIB_FOLDERS))))
CMD_SRC := $(sort $(wildcard cmd/*.c))
BPF_SRC := $(wildcard bpf/*.bpf.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(BUILD)/%.o)
SKELETONS := $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/bpf/%.skel.h)

all: $(BUILD)/dwell

$(if $(wildcard arch/$(ARCH)/arch.mk),,$(error dwell does not know the processor '$(ARCH)': arch/README.md))
include arch/$(ARCH)/arch.mk

$(BUILD)/dwell: $(CMD_OBJ) $(BUILD)/libdwell.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(HARDEN_PROGRAM) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Changes when a file comes, goes or moves: make does not miss objects that only were in the library.
$(BUILD)/lib_objects: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(LIB_OBJ)' | cmp -s - $@ || echo '$(LIB_OBJ)' >$@

$(BUILD)/libdwell.a: $(LIB_OBJ) $(BUILD)/lib_objects
	$(Q)rm -f $@
	$(Q)$(AR) qcsD $@ $(LIB_OBJ)

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARNINGS) $(SAME_PATHS) $(HARDEN_C) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The only file that knows the version; it is written when the version has changed.
$(BUILD)/base/version_text.h: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '#define DWELL_VERSION "$(VERSION)"' | cmp -s - $@ || \
		echo '#define DWELL_VERSION "$(VERSION)"' >$@

$(BUILD)/base/version.o: $(BUILD)/base/version_text.h
FORCE:

# The kernel side. The multiarch include path of the host has <asm/types.h>.
MULTIARCH := $(or $(shell $(CC) -print-multiarch 2>/dev/null),$(shell uname -m)-linux-gnu)

$(BUILD)/%.bpf.o: %.bpf.c $(wildcard bpf/*/*.h abi/*.h arch/*.h arch/*/*.h)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -ffreestanding -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror \
		$(SAME_PATHS) -D__TARGET_ARCH_$(BPF_ARCH) -I. -isystem /usr/include/$(MULTIARCH) -c -o $@ $<

$(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$(notdir $*))_bpf > $@.tmp && mv $@.tmp $@

$(filter $(BUILD)/collect/%,$(LIB_OBJ)): | $(SKELETONS)

# It has the report page's viewer, which `make viewer` builds.
$(BUILD)/render/html/viewer_page.o: viewer/dist/page.html

include runtime/runtime.mk
include compiler/compiler.mk
include viewer/viewer.mk
include tests/tests.mk
include tests/e2e.mk
include bench/bench.mk
include tests/fuzz/fuzz.mk
include tools/lint.mk
include tools/install.mk

-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d)

clean:
	rm -rf $(BUILD)

.PHONY: all clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

demo:
	$(Q)tools/install-deps build
	$(Q)$(MAKE) --no-print-directory $(BUILD)/dwell $(BUILD)/libdwell.so $(BUILD)/tests/programs/figure1
	$(Q)BUILD=$(BUILD) tools/demo

.PHONY: demo
