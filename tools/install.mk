# SPDX-License-Identifier: BSD-2-Clause

# docs/man/NAME.1 has the text; the line @OPTIONS COMMAND@ becomes the table of options.
MAN := $(patsubst docs/man/%,$(BUILD)/man/%,$(wildcard docs/man/*.1))
COMPLETIONS := $(DESTDIR)$(PREFIX)/share/bash-completion/completions

$(BUILD)/man/%.1: docs/man/%.1 $(BUILD)/dwell
	$(Q)mkdir -p $(@D)
	$(Q)awk '/^@OPTIONS /{ gsub(/^@OPTIONS |@$$/, ""); system("$(BUILD)/dwell completion --man \"" $$0 "\""); next } \
		{ gsub("@VERSION@", "$(VERSION)"); print }' $< > $@

man: $(MAN)

install: $(BUILD)/dwell $(RUNTIME) $(DWELL_CC) man
	install -D -m 755 $(BUILD)/dwell $(DESTDIR)$(PREFIX)/bin/dwell
	install -D -m 755 $(RUNTIME) $(DESTDIR)$(PREFIX)/lib/dwell/libdwell.so
	$(if $(DWELL_CC),install -m 755 -t $(DESTDIR)$(PREFIX)/bin $(filter $(BUILD)/dwell-%,$(DWELL_CC)))
	$(if $(DWELL_CC),install -m 644 -t $(DESTDIR)$(PREFIX)/lib/dwell $(filter $(COMPILER)/%,$(DWELL_CC)))
	install -D -m 644 include/dwell.h $(DESTDIR)$(PREFIX)/include/dwell.h
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(MAN)
	install -d $(COMPLETIONS)
	$(BUILD)/dwell completion > $(COMPLETIONS)/dwell

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/dwell $(DESTDIR)$(PREFIX)/include/dwell.h $(COMPLETIONS)/dwell
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,dwell-cc dwell-c++)
	rm -rf $(DESTDIR)$(PREFIX)/lib/dwell
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN)))

.PHONY: install uninstall man
