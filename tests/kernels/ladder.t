#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Boots other kernels in qemu and runs tests/kernels/guest.t there:
#
#   tests/kernels/ladder.t [VERSION...]      default: 7.2 6.12 6.1 5.10, the longest first
#
# Kernels are packages of several releases of Debian, unpacked, not installed: apt has lists and a cache
# of its own here. They run under TCG, with this machine's root file system below an overlay, so that
# nothing here changes; as many at a time as there are CPUs.
# KERNELS names the directory that keeps what was unpacked; GUEST another command to
# run there (without single quotes), to see for oneself.
set -eu
PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
build=$(cd "${BUILD:-$project/build}" && pwd)
keep=${KERNELS:-$build/kernels}
mirror=${MIRROR:-http://deb.debian.org}
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache
	9pnet 9pnet_virtio 9p overlay virtio_blk crc32c_generic libcrc32c crc16 mbcache jbd2 ext4'

fail() {
	echo "Bail out! $*"
	exit 1
}

# apt by sources of its own: what is installed here comes from nowhere else than before.
apt() {
	APT_CONFIG=$keep/apt/config "$@"
}

update_lists() {
	mkdir -p "$keep/apt/lists/partial" "$keep/apt/cache/archives/partial"
	cat >"$keep/apt/config" <<-END
		Dir::Etc::SourceList "$keep/apt/sources.list";
		Dir::Etc::SourceParts "/nonexistent";
		Dir::State::Lists "$keep/apt/lists";
		Dir::Cache "$keep/apt/cache";
		APT::Sandbox::User "root";
	END
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	for suite in bullseye bookworm bookworm-updates sid; do
		echo "deb [signed-by=$keyring] $mirror/debian $suite main"
	done >"$keep/apt/sources.list"
	for suite in bullseye-security bookworm-security; do
		echo "deb [signed-by=$keyring] $mirror/debian-security $suite main"
	done >>"$keep/apt/sources.list"
	apt apt-get -qq update || fail "cannot get Debian's lists of packages"
}

# Of packages by names that match $1, the newest.
newest() {
	apt apt-cache search --names-only "^$1\$" | cut -d' ' -f1 | sort -V | tail -n 1
}

# The packages of the newest kernel of a series, the one with the kernel first: 5.10 and 6.1 are
# linux-image-6.1.0-NN-amd64, 6.12 linux-image-6.12.N+deb12-amd64, newer ones linux-binary-7.2.N+debNN-amd64
# and linux-modules-7.2.N+debNN-amd64.
packages_of() {
	series=$(echo "$1." | sed 's/\./\\./g')
	package=$(newest "linux-image-$series[.0-9+deb-]*-amd64")
	binary=$(newest "linux-binary-$series[.0-9+deb-]*-amd64")
	[ -z "$binary" ] || package="$binary linux-modules-${binary#linux-binary-}"
	echo "$package"
}

# Into $keep/$1, the packages that follow.
unpack() {
	target=$keep/$1
	[ -e "$target/done" ] && return
	shift
	rm -rf "$target" "$target.new"
	mkdir -p "$target.new"
	(cd "$target.new" && apt apt-get -qq download "$@" && for package in *.deb; do
		dpkg-deb -x "$package" . && rm "$package" || exit 1
	done && touch done) || fail "cannot get $*"
	mv "$target.new" "$target"
}

# The first file system: busybox, the modules for the second one, and what to do.
make_initramfs() {
	tree=$(mktemp -d)
	mkdir -p "$tree/bin" "$tree/modules" "$tree/host" "$tree/over" "$tree/root" "$tree/proc"
	cp /bin/busybox "$tree/bin/busybox"
	ln -s busybox "$tree/bin/sh"
	for module in $modules; do
		file=$(find "$keep/$1" -name "$module.ko*" | head -n 1)
		[ -n "$file" ] || continue
		case "$file" in
		*.xz) xz -dc "$file" >"$tree/modules/$module.ko" ;;
		*.zst) zstd -qdc "$file" >"$tree/modules/$module.ko" ;;
		*) cp "$file" "$tree/modules/$module.ko" ;;
		esac
		echo "$module" >>"$tree/modules/order"
	done
	guest=$(printf %s "$2" | sed 's/[\\&~]/\\&/g')
	sed "s|@PROJECT@|$project|; s|@BUILD@|$build|; s~@GUEST@~$guest~" "$here/init" >"$tree/init"
	chmod +x "$tree/init"
	(cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$keep/$1.initramfs"
	rm -rf "$tree"
}

# A disk, so that there is something to wait for.
make_disk() {
	truncate -s 256M "$keep/$1.disk"
	mkfs.ext4 -q -F "$keep/$1.disk"
}

# One thread emulates both CPUs: with one thread each, a CPU can go on running code that
# another one has changed (see README.md), and tracing changes the kernel's code. An oops
# ends the guest: a CPU that died with a lock held would leave it standing until the time limit.
# That limit is of CPU time: beside other programs, a guest takes several times as long.
# Without the timer check: beside other programs, its ten ticks can come too late, and a kernel without a timer panics.
boot() {
	ulimit -t 600
	timeout 2400 qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 2 -m 2048 -nographic \
		-no-reboot -nic none -kernel "$(find "$keep/$1" -name 'vmlinuz*' -type f)" \
		-initrd "$keep/$1.initramfs" -append 'console=ttyS0 oops=panic panic=-1 no_timer_check quiet' \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-drive "file=$keep/$1.disk,if=virtio,format=raw,cache=unsafe" </dev/null 2>&1 |
		tr -d '\r' | sed 's/\x1b\(c\|\[[?0-9;]*[a-zA-Z]\)//g'
}

# Called for each guest, in parallel.
if [ "${1:-}" = --boot ]; then
	boot "$2" >"$keep/$2.log" || true
	exit
fi

# The guest's TAP, numbered on, with the kernel's version; anything else as comments. It
# is finished when its plan was kept.
number=0
failed=0
report() {
	before=$number
	while IFS= read -r line; do
		case "$line" in
		'ok '* | 'not ok '*)
			number=$((number + 1))
			status=${line%%[0-9]*}
			text=${line#"$status"}
			case "$status" in not*) failed=$((failed + 1)) ;; esac
			echo "$status$number - $1: ${text#* - }"
			;;
		'1..'*) [ "${line#1..}" -eq $((number - before)) ] && [ $number -gt "$before" ] && finished=yes ;;
		'Guest done.') [ -z "${GUEST:-}" ] || finished=yes ;;
		*) echo "# $line" ;;
		esac
	done <"$2"
}

# What runs in a guest with Linux $1: dwell, or a check that it says that it cannot.
command_for() {
	case "$1" in
	5.10) echo "perl tests/kernels/too_old.t" ;;
	*) echo "perl tests/kernels/guest.t" ;;
	esac
}

prepare() {
	packages=$(packages_of "$1")
	[ -n "$packages" ] || fail "there is no package of Linux $1"
	# shellcheck disable=SC2086
	unpack "$1" $packages
	make_initramfs "$1" "${GUEST:-$(command_for "$1")}"
	make_disk "$1"
}

"$project/tools/install-deps" kernels
[ $# -gt 0 ] || set -- 7.2 6.12 6.1 5.10
update_lists
for version; do
	prepare "$version"
done
export keep
for version; do
	echo "$version"
done | xargs -P "$(nproc)" -I VERSION "$0" --boot VERSION
for version; do
	finished=
	report "Linux $version" "$keep/$version.log"
	number=$((number + 1))
	if [ -n "$finished" ]; then
		echo "ok $number - Linux $version: the guest came to its end"
	else
		failed=$((failed + 1))
		echo "not ok $number - Linux $version: the guest came to its end"
		tail -n 20 "$keep/$version.log" | sed 's/^/# /' >&2
	fi
done
echo "1..$number"
[ "$failed" -eq 0 ]
