#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What is installed is hardened, whatever CFLAGS are, by gcc and by clang; and this test sees what is not.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
echo 1..8
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

# missing FILE FEATURE...: those of the features that FILE has not.
missing() {
	file=$1
	shift
	dynamic=$(readelf -dW "$file" 2>&1)
	segments=$(readelf -hlW "$file" 2>&1)
	symbols=$(nm --undefined-only "$file" 2>/dev/null; nm -D --undefined-only "$file" 2>/dev/null)
	for feature; do
		case $feature in
		relro) printf '%s' "$segments" | grep -q GNU_RELRO ;;
		bind-now) printf '%s' "$dynamic" | grep -qE '\((FLAGS|BIND_NOW)\).*BIND_NOW|FLAGS_1.*NOW' ;;
		no-exec-stack) printf '%s' "$segments" | grep -qE 'GNU_STACK.* RW ' ;;
		pie) printf '%s' "$segments" | grep -q 'Type: *DYN' && printf '%s' "$dynamic" | grep -q 'FLAGS_1.*PIE' ;;
		stack-protector) printf '%s' "$symbols" | grep -q __stack_chk_fail ;;
		fortify) printf '%s' "$symbols" | grep -q '__[a-z]*printf_chk' ;;
		esac || echo "$file: $feature"
	done
}
all='relro bind-now no-exec-stack pie stack-protector fortify'
linked='relro bind-now no-exec-stack'

# shellcheck disable=SC2086
result 'dwell has everything' "$(missing "$build/dwell" $all)"
# shellcheck disable=SC2086
result 'libdwell.so has what the linker gives' "$(missing "$build/libdwell.so" $linked)"
result 'the plugins of dwell-cc have everything' "$(for plugin in "$build"/compiler/*.so; do
	# shellcheck disable=SC2086
	[ ! -e "$plugin" ] || missing "$plugin" $linked stack-protector
done)"
result 'what is linked into programs calls neither' "$(
	nm --undefined-only "$build/libdwell.so" "$build/compiler/libdwell-calls.a" | grep '_chk')"

# Each is seen when it is missing.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '#include <stdio.h>' 'int main(int n, char **a) { char t[64]; sprintf(t, "%s", a[n - 1]); return puts(t); }' >"$dir/plain.c"
gcc -O2 -fno-stack-protector -U_FORTIFY_SOURCE -no-pie -fno-pie -z norelro -z lazy -z execstack \
	-o "$dir/plain" "$dir/plain.c" 2>/dev/null
# shellcheck disable=SC2086
result 'a program without is found out' "$(
	for feature in $all; do [ -n "$(missing "$dir/plain" $feature)" ] || echo "$feature"; done)"

# An object with calls of snprintf, and arrays on the stack.
object() {
	make -s BUILD="$dir/$1" "$dir/$1/symbols/symbol_files.o" "CC=$1" "$2" 2>&1 >/dev/null || return
	missing "$dir/$1/symbols/symbol_files.o" stack-protector $3
	rm -r "${dir:?}/$1"
}
result 'CFLAGS and CPPFLAGS of a packager do not drop it' "$(
	for compiler in gcc clang; do
		object $compiler CFLAGS=-O1 fortify
		object $compiler CPPFLAGS=-DPACKAGED fortify
		object $compiler 'CPPFLAGS=-D_FORTIFY_SOURCE=3' fortify
	done)"
result 'neither do CFLAGS that do not optimize or that sanitize' "$(
	for compiler in gcc clang; do
		object $compiler 'CFLAGS=-O0 -Werror'
		object $compiler 'CFLAGS=-O1 -fsanitize=address -Werror'
	done)"
result 'HARDENING= builds without' "$(
	make -n BUILD="$dir/none" HARDENING= V=1 2>&1 | grep -E -- 'FORTIFY|stack-protector-strong|-z,relro' | head -n 3)"
