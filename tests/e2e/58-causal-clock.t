#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# How much a thread runs in a target during a tenth of a second: not more than that. The rate of
# the sampling clock is drawn anew every 50 ms, between 0.8 and 1.2 ticks a period, so a
# tick counts as the time since the last one. On a busy machine the thread may run less.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use List::Util qw(max sum0);
use Test::More;

need_recording();

# What a half may have too much: two ticks, at its ends.
use constant ENDS_NS => 2 * 1.25 * 500_000;

my $target = 'shop::idle'; # one thread, which does nothing else
my $got = causal(['--target', $target, '--speedup', 100, '--experiment', '100ms', '--fixed-length'],
	program('shop'), '--seconds', 6);
is($got->{status}, 0, 'ran');
my @halves = map { @$_{'base', 'with'} } grep { $_->{type} eq 'experiment' } map { decode($_) } split /\n/, slurp('p');
cmp_ok(scalar @halves, '>', 20, 'halves of experiments');
my $most = max map { ($_->{hit_ns} - ENDS_NS) / $_->{duration_ns} } @halves;
cmp_ok($most, '<=', 1, 'in none does the thread run for longer than it lasts');
my $delayed = max map { ($_->{delay_ns} - ENDS_NS) / $_->{duration_ns} } @halves;
cmp_ok($delayed, '<=', 1, 'nor does it delay others for longer');

note(sprintf '%d halves: hits are %.3f of the time', scalar @halves,
	sum0(map { $_->{hit_ns} } @halves) / sum0(map { $_->{duration_ns} } @halves));

done_testing;
