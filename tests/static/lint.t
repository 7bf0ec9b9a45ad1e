#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The sources keep to the project's own rules.
cd "$(dirname "$0")/../.." || exit 1
echo 1..4
n=0
check() {
	n=$((n + 1))
	if out=$("$@" 2>&1); then
		echo "ok $n - $*"
	else
		echo "not ok $n - $*"
		printf '%s\n' "$out" | sed 's/^/# /' | head -n 60
	fi
}

# A warning is a failure, and so is one of the other compiler.
quietly() {
	out=$("$@" 2>&1) || {
		printf '%s\n' "$out"
		return 1
	}
	! printf '%s\n' "$out" | grep -B1 -A4 'warning:'
}

check make -s lint-format
check make -s lint-tidy
check make -s lint-cppcheck
# Warnings do not depend on optimization.
check quietly make -s CC=clang CFLAGS=-O0 BUILD=build/clang
