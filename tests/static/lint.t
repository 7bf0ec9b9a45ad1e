#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The sources keep to the project's own rules.
cd "$(dirname "$0")/../.." || exit 1
echo 1..3
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

check make -s lint-format
if [ -z "${DWELL_TEST_QUICK:-}" ]; then
	# A third as deep as `make lint`, in half the time.
	check env TIDY_STATES=10000 make -s lint-tidy
	check make -s lint-cppcheck
	exit
fi
# Files that differ from the last commit but one; those of the tests are only formatted.
changed=$(git diff --name-only --diff-filter=d HEAD~1 -- '*.c' ':!tests' ':!bench' ':!bpf' | tr '\n' ' ')
check env TIDY_STATES=10000 make -s lint-tidy LINT_TIDY="$changed"
check make -s lint-cppcheck LINT_TIDY="$changed"
