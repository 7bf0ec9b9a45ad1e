#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# make install: what it installs can be used there, is stripped, and is gone after make uninstall.
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
echo 1..6
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
root=$dir/root
usr=$root/usr
install_with() { make -s "$@" BUILD="$build" PREFIX=/usr DESTDIR="$root" 2>&1 >/dev/null; }
has_symbols() { readelf -SW "$1" | grep -qE '\.symtab|\.debug_info'; }

result 'it installs' "$(install_with install; for file in bin/dwell include/dwell.h lib/dwell/libdwell.so \
	share/man/man1/dwell-record.1 share/bash-completion/completions/dwell share/zsh/site-functions/_dwell \
	share/fish/vendor_completions.d/dwell.fish share/pkgconfig/dwell.pc; do
	[ -s "$usr/$file" ] || echo "$file is missing"
done)"
result 'binaries are stripped, of the archive debug information' "$(
	for file in "$usr/bin/dwell" "$usr"/lib/dwell/*.so; do
		! has_symbols "$file" || echo "$file is not"
	done
	for archive in "$usr"/lib/dwell/*.a; do
		[ ! -e "$archive" ] || ! readelf -SW "$archive" | grep -F .debug_info
	done)"
result 'no path of the build is in it' "$(grep -rlF -e "$dir" -e "$PWD" "$usr")"

cat >"$dir/program.c" <<'END'
#include <dwell.h>
int main(void)
{
	DWELL_PROGRESS;
	return 0;
}
END
pc() { PKG_CONFIG_PATH=$usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config "$@"; }
# The include path is written out, as its -I/usr/include is one of the compiler's own.
result 'pkg-config compiles a program, and tells version and libdwell.so' "$(
	flags=$(PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pc --cflags --libs dwell 2>&1)
	# shellcheck disable=SC2086
	${CC:-gcc} -Wall -Wextra -Werror -o "$dir/program" "$dir/program.c" $flags 2>&1 && "$dir/program" ||
		echo "flags: $flags"
	[ "dwell $(pc --modversion dwell)" = "$("$usr/bin/dwell" --version)" ] || pc --modversion dwell
	[ -e "$root$(pc --variable=runtime dwell | sed "s|^$root||")" ] || pc --variable=runtime dwell)"
result 'STRIP= keeps the symbols' "$(
	install_with install STRIP=
	has_symbols "$usr/bin/dwell" || echo 'they are gone')"
result 'nothing is left after make uninstall' "$(install_with uninstall; find "$root" ! -type d)"
