# SPDX-License-Identifier: BSD-2-Clause
#
# make install      PREFIX=/usr/local, DESTDIR=; STRIP= installs with debug information
# make uninstall    what it installed
# make deb          Debian packages in $(BUILD)/deb: dwell, dwell-cc, dwell-doc; checked by lintian

# docs/man/NAME.1 has the text; the line @OPTIONS COMMAND@ becomes the table of options.
MAN := $(patsubst docs/man/%,$(BUILD)/man/%,$(wildcard docs/man/*.1))
STRIP ?= strip
INSTALL ?= install
INSTALL_BINARY = $(INSTALL) -D $(and $(STRIP),-s --strip-program=$(STRIP))
ROOT := $(DESTDIR)$(PREFIX)
PRIVATE := $(ROOT)/lib/dwell
BASH_COMPLETION := $(ROOT)/share/bash-completion/completions/dwell
# Debian's packages have them in /usr/share/zsh/vendor-completions.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
ZSH_COMPLETION := $(DESTDIR)$(ZSH_COMPLETIONS)/_dwell
FISH_COMPLETION := $(ROOT)/share/fish/vendor_completions.d/dwell.fish
# Not below lib/: it is the same for all architectures.
PKG_CONFIG_FILE := $(ROOT)/share/pkgconfig/dwell.pc
DWELL_CC_COMMANDS := $(filter $(BUILD)/dwell-%,$(DWELL_CC))

$(BUILD)/man/%.1: docs/man/%.1 $(BUILD)/dwell
	$(Q)mkdir -p $(@D)
	$(Q)awk '/^@OPTIONS /{ gsub(/^@OPTIONS |@$$/, ""); system("$(BUILD)/dwell completion --man \"" $$0 "\""); next } \
		{ gsub("@VERSION@", "$(VERSION)"); print }' $< > $@

man: $(MAN)

install: $(BUILD)/dwell $(RUNTIME) man $(and $(DWELL_CC),install-cc)
	$(INSTALL_BINARY) -m 755 $(BUILD)/dwell $(ROOT)/bin/dwell
	$(INSTALL_BINARY) -m 644 $(RUNTIME) $(PRIVATE)/libdwell.so
	$(INSTALL) -D -m 644 include/dwell.h $(ROOT)/include/dwell.h
	$(INSTALL) -D -m 644 -t $(ROOT)/share/man/man1 $(MAN)
	$(INSTALL) -d $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION) $(PKG_CONFIG_FILE))
	$(BUILD)/dwell completion bash > $(BASH_COMPLETION)
	$(BUILD)/dwell completion zsh > $(ZSH_COMPLETION)
	$(BUILD)/dwell completion fish > $(FISH_COMPLETION)
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' include/dwell.pc.in > $(PKG_CONFIG_FILE)

# Debug information of what is linked into programs is of the folder of the build.
install-cc: $(DWELL_CC)
	$(INSTALL) -D -m 755 -t $(ROOT)/bin $(DWELL_CC_COMMANDS)
	$(INSTALL_BINARY) -m 644 -t $(PRIVATE) $(filter %.so,$(DWELL_CC))
	$(INSTALL) -D -m 644 -t $(PRIVATE) $(filter %.a,$(DWELL_CC))
	$(and $(STRIP),$(STRIP) --strip-debug --enable-deterministic-archives $(addprefix $(PRIVATE)/,$(notdir $(filter %.a,$(DWELL_CC)))))

uninstall:
	rm -f $(ROOT)/bin/dwell $(ROOT)/include/dwell.h $(PKG_CONFIG_FILE)
	rm -f $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)
	rm -f $(addprefix $(ROOT)/bin/,dwell-cc dwell-c++)
	rm -rf $(PRIVATE)
	rm -f $(addprefix $(ROOT)/share/man/man1/,$(notdir $(MAN)))

deb:
	$(Q)tools/install-deps deb
	$(Q)tools/deb $(BUILD)/deb

.PHONY: install install-cc uninstall man deb
