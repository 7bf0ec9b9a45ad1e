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
use List::Util qw(sum0);
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

# Threads that live for a period or less: what they run after their last sample is in none, so their
# first one has to stand for as much more. The truth is what the shell says of its children; a tenth
# for what they run before and between the halves.
use constant PERIOD_NS => 1e6;

$got = causal(['-c', PERIOD_NS / 1e3, '--class', 'cpu', '--speedup', 0, '--experiment', '100ms'],
	'sh', '-c', '"$0" threads --seconds 4 --ns-per-loop 4; times', program('causal'));
my @cpu_s = $got->{out} =~ /^.*s .*s\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s$/m;
is(scalar @cpu_s, 4, 'threads that live briefly') or diag($got->{out});
@halves = map { @$_{'base', 'with'} } grep { $_->{type} eq 'experiment' } map { decode($_) } split /\n/, slurp('p');
my ($hits, $ns) = map { my $field = $_; sum0(map { $_->{$field} } @halves) } qw(hit_ns duration_ns);
my $true = (60 * ($cpu_s[0] + $cpu_s[2]) + $cpu_s[1] + $cpu_s[3]) / $got->{truth}{seconds};
near($hits / $ns, $true, $true * (0.1 + 4.9 * sqrt(2 * PERIOD_NS / $ns)), 'all that they run is sampled');

done_testing;
