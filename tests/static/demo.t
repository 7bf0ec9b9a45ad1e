#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make demo builds with what tools/install-deps installs for building, and nothing more.
cd "$(dirname "$0")/../.." || exit 1
echo 1..2
fresh=$(mktemp -d)
commands=$(make -n demo BUILD="$fresh/build" V=1 2>&1)
rm -rf "$fresh"
if printf '%s\n' "$commands" | grep -q 'tests/programs/figure1'; then
	echo 'ok 1 - it builds the program that it profiles'
else
	echo 'not ok 1 - it builds the program that it profiles'
fi
more=$(printf '%s\n' "$commands" | grep -E 'g\+\+|c\+\+|\.cc\b|cmocka|gdb' | grep -v install-deps)
if [ -z "$more" ]; then
	echo 'ok 2 - it needs neither a C++ compiler nor what tests need'
else
	echo 'not ok 2 - it needs neither a C++ compiler nor what tests need'
	printf '%s\n' "$more" | sed 's/^/# /'
fi
