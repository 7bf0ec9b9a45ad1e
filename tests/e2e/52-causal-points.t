#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Progress points of every kind, and targets in C++ and Rust, in what is loaded while the program
# runs, and by kind of waiting. The truth is each function's share of a round, in the same
# run: the thread that goes round is never paused, for only itself runs a target.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my @shop = (program('shop'), '--plugin', program('shelf.so'));
my $count = 'shop::Till<long>::count';

sub about {
	my ($got, $target, $point, $share, $name) = @_;
	my $effect = effect($got, $target, 1, $point);
	cmp_ok(abs(($effect // 9) - $share), '<', 0.15,
		sprintf '%s, at %s: %.2f predicted, %.2f of the time', $name, $point, $effect // 9, $share);
}

# DWELL_PROGRESS, COZ_PROGRESS, DWELL_BEGIN and DWELL_END, in one run.
my $got = causal(['--target', $count, '--target', 'shelve', '--class', 'sleep', '--speedup', 100,
	'--binary-scope', 'sh*'], @shop, '--seconds', 20);
is($got->{status}, 0, 'a program in C++, with a plugin');
for my $point ('round', 'coz-round', 'customer') {
	about($got, $count, $point, $got->{truth}{count}, 'a method of a class template');
	about($got, 'shelve', $point, $got->{truth}{shelve}, 'a function of a plugin');
	about($got, 'sleep', $point, $got->{truth}{doze}, 'sleeping');
}

# What is no point in the source: a function of which samples are counted.
my @sampled = ('--progress-sampled', 'shelve');
$got = causal([@sampled, '--target', $count, '--speedup', 100], @shop, '--seconds', 8);
about($got, $count, 'shelve', $got->{truth}{count}, 'samples as progress');
$got = causal([@sampled, '--target', 'shop::idle', '--speedup', 50], @shop, '--seconds', 10);
cmp_ok(abs(effect($got, 'shop::idle', 0.5, 'shelve') // 9), '<', 0.25,
	'what runs beside: pauses between two samples are not sampled');

# Rust, with methods, those of traits and generic functions, on and off the CPU.
$got = causal(['--progress', 'printed', '--target', 'Type::set', '--target', 'press::Ink::dry', '--target',
	'print::<u32>', '--speedup', 100], program('press'), '--seconds', 20);
is($got->{status}, 0, 'a program in Rust');
about($got, 'Type::set', 'printed', $got->{truth}{set}, 'a method');
about($got, 'press::Ink::dry', 'printed', $got->{truth}{dry}, 'a method of a trait, which sleeps');
about($got, 'print::<u32>', 'printed', $got->{truth}{print}, 'a generic function');
$got = causal(['--progress', 'printed', '--target', 'Paper::dry', '--speedup', 50], program('press'), '--seconds', 8);
cmp_ok(abs(effect($got, 'Paper::dry', 0.5, 'printed') // 9), '<', 0.15, 'what runs beside does not matter');
for my $ambiguous (['--target', 'dry', '--progress', 'printed'], ['--progress', 'dry']) {
	$got = causal($ambiguous, 'sh', '-c', '"$0" --seconds 1 2>&1; echo after >&2', program('press'));
	isnt($got->{status}, 0, "@$ambiguous: a name of two methods");
	like($got->{err}, qr/'dry' means several: (?=.*Ink).*Paper.*\n.*Give more.*\nafter$/,
		'which are told while the command runs, once');
}

# Whole runs, some with the speedup and some without.
my $share = 0;
unlink 'p';
for my $seed (1 .. 8) {
	$got = causal_more(['--end-to-end', '--seed', $seed, '--target', $count, '--speedup', 100],
		program('shop'), '--rounds', 700);
	$share += $got->{truth}{count} / 8;
}
about($got, $count, 'end-to-end', $share, 'whole runs');

done_testing;
