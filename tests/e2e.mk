# SPDX-License-Identifier: BSD-2-Clause
#
# tests/e2e/NN-name.t are end-to-end tests (TAP), each a perl
# script; they share tests/lib/Dwell.pm and the known-answer programs.
# DWELL_TEST_FULL=1 makes them larger. E2E chooses some of them:
# make e2e E2E=tests/e2e/10-figure1.t

E2E ?= $(sort $(wildcard tests/e2e/*.t))

e2e: $(BUILD)/dwell programs
	$(Q)BUILD=$(abspath $(BUILD)) tests/run $(E2E)

.PHONY: e2e
