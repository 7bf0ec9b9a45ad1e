#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# Progress points of every kind, and targets in C++, in what is loaded while the program
# runs, and by kind of waiting: the truth is each function's share of a round.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my @shop = (program('shop'), '--plugin', program('shelf.so'));
my $truth = decode(run(@shop, '--seconds', 4)->{out});
my $count = 'shop::Till<long>::count';

sub about {
	my ($got, $target, $point, $share, $name) = @_;
	my $effect = effect($got, $target, 1, $point);
	cmp_ok(abs(($effect // 9) - $share), '<', 0.15,
		sprintf '%s, at %s: %.2f predicted, %.2f of the time', $name, $point, $effect // 9, $share);
}

# DWELL_PROGRESS, COZ_PROGRESS, DWELL_BEGIN and DWELL_END, in one run.
my $got = causal(['--target', $count, '--target', 'shelve', '--class', 'sleep', '--speedup', 100,
	'--binary-scope', 'sh*'], @shop, '--seconds', 14);
is($got->{status}, 0, 'a program in C++, with a plugin');
for my $point ('round', 'coz-round', 'customer') {
	about($got, $count, $point, $truth->{count}, 'a method of a class template');
	about($got, 'shelve', $point, $truth->{shelve}, 'a function of a plugin');
	about($got, 'sleep', $point, $truth->{doze}, 'sleeping');
}

# What is no point in the source: a function of which samples are counted.
my @sampled = ('--progress-sampled', 'shelve');
$got = causal([@sampled, '--target', $count, '--speedup', 100], @shop, '--seconds', 8);
about($got, $count, 'shelve', $truth->{count}, 'samples as progress');
$got = causal([@sampled, '--target', 'shop::idle', '--speedup', 50], @shop, '--seconds', 10);
cmp_ok(abs(effect($got, 'shop::idle', 0.5, 'shelve') // 9), '<', 0.25,
	'what runs beside: pauses between two samples are not sampled');

# Whole runs, some with the speedup and some without.
$truth = decode(run(program('shop'), '--rounds', 700)->{out});
unlink 'p';
$got = causal_more(['--end-to-end', '--seed', $_, '--target', $count, '--speedup', 100],
	program('shop'), '--rounds', 700) for 1 .. 8;
about($got, $count, 'end-to-end', $truth->{count}, 'whole runs');

done_testing;
