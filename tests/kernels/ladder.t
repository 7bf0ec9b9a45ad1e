#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Boots other kernels in qemu and runs tests/kernels/guest.t there:
#
#   tests/kernels/ladder.t [VERSION...]      default: 6.1 6.12
#
# Kernels are Debian's packages, unpacked, not installed. They run under TCG, with
# this machine's root file system below an overlay, so that nothing here changes.
# KERNELS names the directory that keeps what was unpacked; GUEST another command to
# run there (without single quotes), to see for oneself.
set -eu
PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
build=$(cd "${BUILD:-$project/build}" && pwd)
keep=${KERNELS:-$build/kernels}
guest=$(printf %s "${GUEST:-perl tests/kernels/guest.t}" | sed 's/[\\&~]/\\&/g')
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache
	9pnet 9pnet_virtio 9p overlay virtio_blk crc32c_generic libcrc32c crc16 mbcache jbd2 ext4'

fail() {
	echo "Bail out! $*"
	exit 1
}

# The newest package of a series: 6.1 is linux-image-6.1.0-NN-amd64, 6.12 linux-image-6.12.N+deb12-amd64.
package_of() {
	apt-cache search --names-only "^linux-image-$(echo "$1." | sed 's/\./\\./g')[.0-9+deb-]*-amd64\$" |
		cut -d' ' -f1 | sort -V | tail -n 1
}

unpack() {
	[ -e "$keep/$1/boot" ] && return
	mkdir -p "$keep"
	(cd "$keep" && apt-get -qq download "$1" && rm -rf "$1.new" &&
		dpkg-deb -x "$1"_*.deb "$1.new" && rm "$1"_*.deb && mv "$1.new" "$1") ||
		fail "cannot get $1"
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
		*) cp "$file" "$tree/modules/$module.ko" ;;
		esac
		echo "$module" >>"$tree/modules/order"
	done
	sed "s|@PROJECT@|$project|; s|@BUILD@|$build|; s~@GUEST@~$guest~" "$here/init" >"$tree/init"
	chmod +x "$tree/init"
	(cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$keep/$1.initramfs"
	rm -rf "$tree"
}

# A disk, so that there is something to wait for.
make_disk() {
	truncate -s 256M "$keep/disk.new"
	mkfs.ext4 -q -F "$keep/disk.new"
	mv "$keep/disk.new" "$keep/disk"
}

# One thread emulates both CPUs: with one thread each, a CPU can go on running code that
# another one has changed (see README.md), and tracing changes the kernel's code. An oops
# ends the guest: a CPU that died with a lock held would leave it standing until the time limit.
# Without the timer check: beside other programs, its ten ticks can come too late, and a kernel without a timer panics.
boot() {
	timeout 600 qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 2 -m 2048 -nographic \
		-no-reboot -nic none -kernel "$(echo "$keep/$1/boot/vmlinuz-"*)" \
		-initrd "$keep/$1.initramfs" -append 'console=ttyS0 oops=panic panic=-1 no_timer_check quiet' \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-drive "file=$keep/disk,if=virtio,format=raw,cache=unsafe" </dev/null 2>&1 |
		tr -d '\r' | sed 's/\x1b\(c\|\[[?0-9;]*[a-zA-Z]\)//g'
}

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

"$project/tools/install-deps" kernels
[ $# -gt 0 ] || set -- 6.1 6.12
for version; do
	package=$(package_of "$version")
	[ -n "$package" ] || fail "there is no package of Linux $version"
	unpack "$package"
	make_initramfs "$package"
	make_disk
	finished=
	boot "$package" >"$keep/$package.log" || true
	report "Linux $version" "$keep/$package.log"
	number=$((number + 1))
	if [ -n "$finished" ]; then
		echo "ok $number - Linux $version: the guest came to its end"
	else
		failed=$((failed + 1))
		echo "not ok $number - Linux $version: the guest came to its end"
		tail -n 20 "$keep/$package.log" | sed 's/^/# /' >&2
	fi
done
echo "1..$number"
[ "$failed" -eq 0 ]
