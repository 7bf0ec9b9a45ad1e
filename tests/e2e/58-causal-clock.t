#!/usr/bin/perl
# SPDX-License-Identifier: BSD-2-Clause
#
# A thread cannot be in a target for longer than an experiment lasts. The rate of the sampling
# clock is drawn anew every 50 ms, between 0.8 and 1.2 ticks a period; if a tick counted as one
# period, half of all short experiments would have too many hits. A hypervisor that takes the CPU
# delays ticks, some of them into the next experiment: a run with many of those is repeated.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use CausalRun;
use Dwell;
use Test::More;

need_recording();

# What a half may have too much: two ticks, at its ends.
use constant ENDS_NS => 2 * 1.25 * 500_000;

my $target = 'shop::idle'; # one thread, which does nothing else
my ($got, @halves);

# The halves in which @field is longer than they are.
sub too_long {
	my ($field) = @_;
	return scalar grep { $_->{$field} - ENDS_NS > $_->{duration_ns} } @halves;
}

for my $run (1 .. 5) {
	$got = causal(['--target', $target, '--speedup', 100, '--experiment', '100ms', '--fixed-length'],
		program('shop'), '--seconds', 6);
	@halves = map { @$_{'base', 'with'} } grep { $_->{type} eq 'experiment' } map { decode($_) } split /\n/, slurp('p');
	last if too_long('hit_ns') < @halves / 20 && too_long('delay_ns') < @halves / 20;
}
is($got->{status}, 0, 'ran');
cmp_ok(scalar @halves, '>', 20, 'halves of experiments');
cmp_ok(too_long('hit_ns'), '<', @halves / 20, 'the thread does not run for longer than they last');
cmp_ok(too_long('delay_ns'), '<', @halves / 20, 'nor does it delay others for longer');

done_testing;
