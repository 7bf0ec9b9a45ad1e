#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# The tree compiles for aarch64, with the headers of Debian's arm64 packages, but for what arch/README.md
# lists as missing: files that include that stop with an #error which names the README.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Path qw(make_path);
use FindBin;
use Test::More;

my $source = abs_path("$FindBin::Bin/../..");
my $chroots = abs_path($ENV{CHROOTS} // "$source/build/chroots") // '';
my $mirror = $ENV{DEBIAN_MIRROR} // 'http://deb.debian.org/debian';
my $release = 'bookworm';
my @packages = qw(libc6-dev linux-libc-dev libbpf-dev libdw-dev libelf-dev libcapstone-dev libzstd-dev zlib1g-dev
	libjansson-dev libsqlite3-dev libcurl4-openssl-dev libiberty-dev);
my $gcc = 'aarch64-linux-gnu-gcc';
my $root = "$chroots/arm64";

chdir $source or die "$!";
plan skip_all => "$gcc is missing" if system "command -v $gcc >/dev/null";

# Packages are unpacked, not installed: nothing of them runs here.
if (!-e "$root/made") {
	my $debs = "$chroots/arm64.debs";
	my $include = join ',', @packages;
	make_path($root);
	system("debootstrap --foreign --arch=arm64 --variant=minbase --include=$include $release $debs $mirror >$root.log 2>&1") == 0
		or BAIL_OUT("debootstrap: see $root.log");
	system('dpkg-deb', '-x', $_, $root) == 0 or BAIL_OUT("cannot unpack $_") for glob "$debs/var/cache/apt/archives/*.deb";
	open my $made, '>', "$root/made" or die "$!";
}

my $build = $ENV{BUILD} // 'build';
my @programs = glob 'bpf/*.bpf.c';
system('make', '-s', "BUILD=$build", "$build/base/version_text.h", map { "$build/$_" =~ s/bpf\.c$/skel.h/r } @programs) == 0
	or BAIL_OUT('the kernel side does not compile');
my @warnings = qw(-Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter);
my @includes = (qw(-D_GNU_SOURCE -I.), "-I$build", '-isystem', "$root/usr/include", '-isystem',
	"$root/usr/include/aarch64-linux-gnu");

# What the compiler has to say of @file: (the README's #errors, what else, if there are none).
sub compile {
	my (@command) = @_;
	open my $pipe, '-|', "LC_ALL=C @command 2>&1" or die "$!";
	my @lines = <$pipe>;
	close $pipe;
	my @stops = map { m{^(?:\./)?(arch/[\w.]+):\d+:\d+: error: (?:#error )?"arch/README\.md} ? $1 : () } @lines;
	return (\@stops, @stops ? [] : [grep { /(?:error|warning):/ } @lines]);
}

my (%stops, @other);
my @layers = qw(base arch wait_kinds recording symbols privsep model analysis render collect cmd runtime compiler/runtime);
my @files = grep { !/_skel/ } split /\n/, `git ls-files @{[map { "'$_/*.c'" } @layers]}`;
my ($n, $stopped) = (0, 0);
for my $file (@files) {
	my ($stop, $other) = compile($gcc, '-std=gnu11', @warnings, "--sysroot=$root", @includes, '-O1 -S -o /dev/null', $file);
	$stops{$_} = 1 for @$stop;
	push @other, @$other;
	$n++;
	$stopped++ if @$stop;
}
for my $file (@programs) {
	my ($stop, $other) = compile('clang -target bpf -mcpu=v3 -ffreestanding -O2 -g -Wall -Wextra -Wno-unused-parameter',
		'-D__TARGET_ARCH_arm64', @includes, '-c -o /dev/null', $file);
	$stops{$_} = 1 for @$stop;
	push @other, @$other;
}
is_deeply(\@other, [], 'what else does not compile') or diag(@other[0 .. ($#other > 20 ? 20 : $#other)]);
cmp_ok($n, '>', 300, 'files were compiled');
diag("$stopped of $n files stop at what is missing");

open my $readme, '<', 'arch/README.md' or die "$!";
my ($missing) = do { local $/; <$readme> =~ /^## Missing for aarch64\n(.*)/ms };
my @listed = map { "arch/$_" } sort $missing =~ /^\| `([\w.]+)`/mg;
# dwell-cc's plugins are compiled for the compilers' processor only.
is_deeply([sort keys %stops], [grep { $_ ne 'arch/shadow_asm.h' } @listed], 'arch/README.md lists what is missing');

done_testing;
