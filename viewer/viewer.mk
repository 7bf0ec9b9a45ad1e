# SPDX-License-Identifier: BSD-2-Clause
#
# The report page. `make` needs only viewer/dist/page.html, which is part of the source; `make viewer`
# builds it again, with Node.js 18 or later and npm.

viewer/node_modules/.package-lock.json: viewer/package.json viewer/package-lock.json
	$(call say,NPM,viewer)
	$(Q)cd viewer && npm ci --no-audit --no-fund --loglevel=error
	$(Q)touch $@

viewer: viewer/node_modules/.package-lock.json
	$(call say,BUILD,viewer/dist/page.html)
	$(Q)cd viewer && node build.mjs dist/page.html

.PHONY: viewer
