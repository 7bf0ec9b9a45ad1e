#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The report page's sources: types, unit tests, and that viewer/dist/page.html is what they make.
cd "$(dirname "$0")/../.." || exit 1
dir=build/viewer
mkdir -p "$dir"
echo 1..4
n=0
check() {
	n=$((n + 1))
	what=$1
	shift
	if "$@" >"$dir/out" 2>&1; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/# /' "$dir/out" | grep -v '^#  *ok' | head -n 60
	fi
}

check 'modules are installed' make -s viewer/node_modules/.package-lock.json
check 'types are right' sh -c 'cd viewer && node node_modules/typescript/bin/tsc --noEmit'
check 'unit tests pass' node viewer/test/run.mjs "$PWD/$dir/tests"
check 'viewer/dist/page.html is what make viewer builds' sh -c "cd viewer && node build.mjs ../$dir/page.html && cmp ../$dir/page.html dist/page.html"
