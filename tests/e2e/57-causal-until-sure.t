#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# --until-sure: experiments end when the best target is known. On a busy machine that may take
# longer than a run, so others are added to it, of which one has to come to an end by itself.
#
# Runs alone.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

my ($best, $made);
my $before = 0;
for my $run (1 .. 24) {
	my $got = ($run == 1 ? \&causal : \&causal_more)->(['--until-sure=6', '--experiment', '400ms', '--fixed-length', '--target', 'burn',
		'--speedup', '50,100'], program('undisturbed'), '--calm', '--seconds', 8);
	is($got->{status}, 0, 'the program runs to its end');
	($best) = @{$got->{report}{targets}};
	$made = $got->{report}{experiments} - $before;
	$before += $made;
	note("$made experiments", $best ? "; $best->{best_low} to $best->{best_high}" : ', nothing known');
	# 8 s hold at most 20.
	last if $made < 13 && $best && $best->{best_high} - $best->{best_low} <= 0.14;
}
cmp_ok($best->{best_high} - $best->{best_low}, '<=', 0.14, 'the best is known');
cmp_ok($made, '<', 13, 'and then no more experiments are made');

done_testing();
