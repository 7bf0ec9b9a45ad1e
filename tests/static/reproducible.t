#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds in two folders are equal, bit by bit; the version is git's, and only one file knows it.
# Compares a few files of each kind; all with DWELL_TEST_FULL=1.
cd "$(dirname "$0")/../.." || exit 1
echo 1..5
n=0
result() {
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
	fi
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

few='build/bpf/symbols.skel.h build/base/error.o build/render/json.o build/base/version.o
	build/libdwell.so build/compiler/libdwell-calls.a'
[ -z "${DWELL_TEST_FULL:-}" ] || few=all
# The second one by other names of its folders, and with more jobs.
# shellcheck disable=SC2086
build_in() {
	mkdir -p "$1" &&
		tar -c --exclude=./build --exclude=./.git --exclude=node_modules . | tar -x -C "$1" &&
		CCACHE_DISABLE=1 make -s -C "$1" -j"$2" BUILD="$3" $(printf '%s ' $few | sed "s|build/|$3/|g") >/dev/null
}
failed=$(build_in "$dir/one" 1 build 2>&1) || failed="$failed cannot build"
failed=$failed$(build_in "$dir/another/folder" 2 "$dir/out" 2>&1) || failed="$failed cannot build"
result 'it builds in two folders' "$failed"
# Lists of dependencies have paths in them; they are not part of what is built.
result 'what was built is equal' "$(
	diff -rq --exclude='*.d' "$dir/one/build" "$dir/out" 2>&1
	[ -e "$dir/one/build/bpf/symbols.bpf.o" ] || echo 'nothing was built')"
result 'it has not the path of the folder' "$(grep -rlF --exclude='*.d' "$dir" "$dir/one/build" "$dir/out")"

version() { (cd "$dir/git" && tools/version); }
git_in() { git -C "$dir/git" -c user.name=T -c user.email=t@example.com -c commit.gpgsign=false "$@" >/dev/null; }
expect() { [ "$(version)" = "$1" ] || echo "$(version), not $1"; }
commit() { git_in commit --allow-empty -qm "$1" && git -C "$dir/git" rev-parse --short=8 HEAD; }
mkdir -p "$dir/git/tools" && cp VERSION "$dir/git" && cp tools/version "$dir/git/tools"
result 'the version is that of the commit, or of the file' "$(
	now=$(cat VERSION)
	expect "$now"
	git_in init -q && git_in add VERSION tools
	expect "$now+1.$(commit one)"
	git_in tag v9.8.7
	expect 9.8.7
	expect "9.8.7+1.$(commit two)"
	echo >>"$dir/git/VERSION"
	expect "9.8.7+1.$(git -C "$dir/git" rev-parse --short=8 HEAD)-dirty")"

# With another version, of what is built here.
make -s all >/dev/null 2>&1
result 'another version compiles one file' "$(
	compiled=$(make -n VERSION=9.8.7 all 2>/dev/null | grep -oE "'(CC|BPF|CXX|AS)' '[^']*'" | sort -u)
	[ "$compiled" = "'CC' 'base/version.c'" ] || printf '%s\n' "$compiled" | head)"
