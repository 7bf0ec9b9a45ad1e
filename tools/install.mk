# SPDX-License-Identifier: BSD-2-Clause

MAN := $(wildcard docs/man/*.1)
COMPLETIONS := $(DESTDIR)$(PREFIX)/share/bash-completion/completions

install: $(BUILD)/dwell
	install -D -m 755 $(BUILD)/dwell $(DESTDIR)$(PREFIX)/bin/dwell
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(MAN)
	install -d $(COMPLETIONS)
	$(BUILD)/dwell completion > $(COMPLETIONS)/dwell

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/dwell $(COMPLETIONS)/dwell
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN)))

.PHONY: install uninstall
