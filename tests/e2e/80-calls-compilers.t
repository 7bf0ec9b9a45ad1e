#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs built by dwell-cc work as before, and their shadow stacks are right at every place, whichever
# way a function is left: with both compilers, at every level, and with what else changes frames.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Dwell;
use Test::More;

my $root = dirname(dirname($FindBin::Bin));
my $bin = dirname($DWELL);
plan skip_all => 'dwell-cc is for x86-64' if qx(uname -m) ne "x86_64\n";

# Compiles @sources; returns the program, or undef.
sub build {
	my ($compiler, $name, @arguments) = @_;
	my $wrapper = "$bin/dwell-" . ($name =~ /^cxx/ ? 'c++' : 'cc');
	my $got = run({env => {DWELL_CC => $compiler}}, $wrapper, "-I$root", '-D_GNU_SOURCE', '-fdwell-min-size=0',
		'-Wall', '-Wextra', '-Wno-unused-parameter', '-o', $name, @arguments);
	is("$got->{status} $got->{out}$got->{err}", '0 ', "$name compiles without a warning") or return;
	return "./$name";
}

# Compiles and runs it; its own checks are TAP.
sub check {
	my ($compiler, $name, @arguments) = @_;
	my $program = build($compiler, $name, @arguments) or return;
	my $got = run($program);
	my @failed = grep { !/^ok/ } split /\n/, $got->{out};
	is("$got->{status} @failed", sprintf('0 1..%d', scalar grep { /^ok/ } split /\n/, $got->{out}),
		"$name: every stack is right");
}

for my $compiler (qw(gcc clang)) {
	ok(-e "$bin/compiler/dwell_$compiler.so", "the plugin for $compiler is built");
	for my $level (0 .. 3) {
		my $tail = $level > 1 ? 1 : 0;
		check($compiler, "c-$compiler-$level", "-O$level", "-DDWELL_TAIL=$tail", "$root/tests/calls/torture.c",
			'-rdynamic', '-lpthread');
		check($compiler, "cxx-$compiler-$level", '-std=c++20', "-O$level", "$root/tests/calls/torture.cc",
			'-rdynamic', '-lpthread');
	}
	my %ways = (
		lto => ['-flto'], protector => ['-fstack-protector-all', '-fcf-protection=full'], pointer => ['-fno-omit-frame-pointer'],
		'no-pie' => ['-fno-pie', '-no-pie'], asan => ['-fsanitize=address'],
		sections => ['-ffunction-sections', '-Wl,--gc-sections'],
	);
	for my $way (sort keys %ways) {
		check($compiler, "c-$compiler-$way", '-O2', '-DDWELL_TAIL=1', @{$ways{$way}}, "$root/tests/calls/torture.c",
			'-rdynamic', '-lpthread');
		check($compiler, "cxx-$compiler-$way", '-std=c++20', '-O2', @{$ways{$way}}, "$root/tests/calls/torture.cc",
			'-rdynamic', '-lpthread');
	}
}

# Options of the wrapper and bad input.
spew('one.c', 'int twice(int n) { return n * 2; } int thrice(int n) { return n * 3; } '
	. 'int main(int c, char **v) { return twice(c) + thrice(c) - 5; }');
sub instrumented {
	my ($program) = @_;
	my $text = run('objdump', '-d', $program)->{out};
	return join ' ', sort grep { $text =~ /<\Q$_\E>:\n(?:.+\n)*?.*<__dwell_shadow_enter>/ } qw(main twice thrice);
}
for my $compiler (qw(gcc clang)) {
	my %options = (
		'main thrice twice' => ['-fdwell-min-size=0'], 'twice' => ['-fdwell-min-size=0', '-fdwell-only=tw*'],
		'' => ['-fdwell-min-size=1000'],
	);
	for my $wanted (sort keys %options) {
		my $got = run({env => {DWELL_CC => $compiler}}, "$bin/dwell-cc", '-O0', '-o', 'one', @{$options{$wanted}}, 'one.c');
		is($got->{status}, 0, "$compiler @{$options{$wanted}}");
		is(instrumented('one'), $wanted, 'these functions push');
	}
}
my $got = run("$bin/dwell-cc", '-c', '-o', 'one.o', 'one.c');
is("$got->{status}$got->{err}", '0', 'compiling without linking');
# As configure scripts try what a compiler can do.
for my $compiler (qw(gcc clang)) {
	is(run({env => {DWELL_CC => $compiler}}, 'sh', '-c', "$bin/dwell-cc -x c - -o standard <one.c")->{status}, 0,
		"$compiler: a program from standard input, with -x");
	is(run('./standard')->{status}, 0, 'which runs');
}
$got = run({env => {DWELL_CC => 'nothing'}}, "$bin/dwell-cc", '-c', 'one.c');
is("$got->{status} $got->{err}", "1 dwell-cc: the compiler nothing was not found: install it, or name another one by DWELL_CC\n",
	'a compiler that is not there');
is(run("$bin/dwell-cc", '-o', 'one', 'one.o')->{status}, 0, 'linking alone');
is(run("$bin/dwell-cc", '-shared', '-fPIC', '-o', 'one.so', 'one.c')->{status}, 0, 'a shared library');
is(run("$bin/dwell-cc", '-static', '-o', 'one', 'one.c')->{status}, 0, 'a static program');
is(run('./one')->{status}, 0, 'which runs');
like(run("$bin/dwell-cc", '--version')->{out}, qr/gcc/, '--version is that of the compiler');
$got = run("$bin/dwell-cc", '-fdwell-min-size=few', '-c', 'one.c');
is($got->{status}, 1, 'a size that is no number');
like($got->{err}, qr/must be a number/, 'is refused');
$got = run("$bin/dwell-cc", '-fdwell-only=a*', '-fdwell-only=b*', '-c', 'one.c');
is($got->{status}, 1, 'a second pattern');
like($got->{err}, qr/was given before, as 'a\*'/, 'is not taken for the first');

done_testing;
